# fish completion for comity
set --local commands run doctor options
complete -c comity -n "not __fish_seen_subcommand_from $commands" -f
complete -c comity -n "not __fish_seen_subcommand_from $commands" -a run -d 'Run a program so that its parallel libraries share the cores'
complete -c comity -n "not __fish_seen_subcommand_from $commands" -a doctor -d 'Show what Comity detects'
complete -c comity -n "not __fish_seen_subcommand_from $commands" -a options -d 'List the environment variables'
complete -c comity -n "not __fish_seen_subcommand_from $commands" -l version -d 'Print the version'
complete -c comity -s h -l help -d 'Print the help'
complete -c comity -n '__fish_seen_subcommand_from run' -l harts -x -d 'How many computations run at the same time'
complete -c comity -n '__fish_seen_subcommand_from run' -l no-nested -d 'Inner parallel regions get one thread'
complete -c comity -n '__fish_seen_subcommand_from run' -l stats -d 'Print a summary when the program ends'
complete -c comity -n '__fish_seen_subcommand_from run' -l verbose -d 'Say what was detected and what is served'
complete -c comity -n '__fish_seen_subcommand_from run' -xa '(__fish_complete_subcommand --fcs-skip=2)'
complete -c comity -n '__fish_seen_subcommand_from doctor' -l pid -xa '(__fish_complete_pids)' -d 'Examine a running process'
complete -c comity -n '__fish_seen_subcommand_from doctor' -l json -d 'Print JSON'
complete -c comity -n '__fish_seen_subcommand_from doctor' -xa '(__fish_complete_command)'
complete -c comity -n '__fish_seen_subcommand_from options' -l markdown -d 'As docs/configuration.md'
