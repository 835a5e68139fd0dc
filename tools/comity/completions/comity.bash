# bash completion for comity
_comity() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} i
    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        COMPREPLY=($(compgen -W 'run doctor bench options help --help --version' -- "$word"))
        return
    fi
    case ${COMP_WORDS[1]} in
    run)
        # The first word that is no option of ours begins the program's own command line.
        for ((i = 2; i < COMP_CWORD; i++)); do
            case ${COMP_WORDS[i]} in
            --harts | --bind) ((i++)) ;;
            --) ((i++)) && break ;;
            -*) ;;
            *) break ;;
            esac
        done
        if ((i < COMP_CWORD)) && declare -F _command_offset >/dev/null; then
            _command_offset "$i"
        elif [[ $before == --harts ]]; then
            COMPREPLY=($(compgen -W "$(seq "$(nproc)")" -- "$word"))
        elif [[ $before == --bind ]]; then
            COMPREPLY=($(compgen -W 'none cores numa' -- "$word"))
        elif [[ $word == -* ]]; then
            COMPREPLY=($(compgen -W '--harts --bind --no-nested --own-regions --posix --no-posix --stats --verbose --help --' -- "$word"))
        else
            COMPREPLY=($(compgen -c -- "$word") $(compgen -f -- "$word"))
        fi
        ;;
    doctor)
        if [[ $before == --pid ]]; then
            COMPREPLY=($(compgen -W "$(ps -eo pid= 2>/dev/null)" -- "$word"))
        elif [[ $word == -* ]]; then
            COMPREPLY=($(compgen -W '--pid --json --help' -- "$word"))
        else
            COMPREPLY=($(compgen -c -- "$word") $(compgen -f -- "$word"))
        fi
        ;;
    bench)
        case $before in
        --json) COMPREPLY=($(compgen -f -- "$word")) ;;
        --only | --contenders | --repeats | --patience) ;;
        *)
            COMPREPLY=($(compgen -W 'threads posix nested omptasks ompsync npb fftw figures servers scaling-threads scaling-openmp scaling-posix all --list --quick --only --contenders --repeats --patience --json --progress --strict --help' \
                -- "$word"))
            ;;
        esac
        ;;
    help) ((COMP_CWORD > 2)) || COMPREPLY=($(compgen -W 'run doctor bench options' -- "$word")) ;;
    options) COMPREPLY=($(compgen -W '--markdown --help' -- "$word")) ;;
    esac
}
complete -F _comity comity
