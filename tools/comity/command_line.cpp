#include "command_line.hpp"

#include <algorithm>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "comity/version.h"
#include "commands.hpp"
#include "help.hpp"
#include "program.hpp"
#include "sys/options.hpp"

namespace comity::cli {
namespace {

constexpr int exit_bad_usage = 2; // of every command but run, whose codes are env(1)'s

struct bench_options {
    std::string suite = "threads";
    bool list = false, quick = false, progress = false, strict = false;
    std::vector<std::string> only;
    std::string contenders, repeats, patience, json;
};

// The help of an option of `comity run` that is also an environment variable.
std::string help_of(const char *variable) {
    for (const sys::option &row : sys::get_option_table())
        if (std::string(row.variable) == variable) return fmt::format("{} ({})", row.help, row.variable);
    return {};
}

void add_run(CLI::App &app, run_request &request) {
    CLI::App *run = app.add_subcommand("run", "Run a program so that its parallel libraries share the cores");
    run->formatter(make_help_format("comity run [OPTIONS] [--] PROGRAM [ARGUMENTS...]"));
    // Scripts put their own options before the user's: the last one counts.
    const auto add_value = [&](const char *name, std::optional<std::string> &value, const char *variable) {
        return run->add_option(name, value, help_of(variable))->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    };
    add_value("--harts", request.harts, "COMITY_HARTS")->type_name("N");
    add_value("--bind", request.bind, "COMITY_BIND")->type_name("WHAT");
    run->add_flag("--no-nested", request.no_nested,
                  "Parallel regions inside parallel regions get one thread, as without Comity. (COMITY_NESTED=0)");
    run->add_flag("--own-regions", request.own_regions, help_of("COMITY_OWN_REGIONS"));
    run->add_flag_callback(
           "--posix", [&request] { request.posix = true; },
           "The program's own threads (pthread_create, std::thread, Python's) run on the harts too, as "
           "user-level threads. Without this option and the next they do so in Python, R, Julia and Octave, "
           "beside a library that computes in parallel (OpenMP, BLAS, FFTW), and in what starts other "
           "programs, such as a shell. (COMITY_POSIX=on)")
        ->trigger_on_parse();
    run->add_flag_callback(
           "--no-posix", [&request] { request.posix = false; },
           "The program's own threads stay the kernel's. (COMITY_POSIX=off)")
        ->trigger_on_parse();
    run->add_flag("--stats", request.stats, help_of("COMITY_STATS"));
    run->add_flag("--verbose", request.verbose, help_of("COMITY_VERBOSE"));
    run->footer("The program is found as the shell finds it. Its exit code, signals and output are\n"
                "its own: Comity is loaded into it, and no process stands between. A program into\n"
                "which Comity cannot be loaded (static, set-user-id, another C library) runs\n"
                "without it, after one line that says so.\n\n"
                "Exit code: the program's; 125 for an error of comity itself, 126 when the program\n"
                "was found but cannot be run, 127 when it was not found.\n\n"
                "Examples:\n"
                "  comity run -- python3 train.py\n"
                "  comity run --harts 4 --stats -- ./solver input.dat\n");
}

void add_doctor(CLI::App &app, doctor_request &request) {
    CLI::App *doctor = app.add_subcommand("doctor", "Show what Comity detects here, and what it does with a program");
    doctor->formatter(make_help_format("comity doctor [--json] [PROGRAM | --pid PID]"));
    CLI::Option *pid =
        doctor->add_option("--pid", request.pid, "Examine the running process PID and the libraries it has loaded.")
            ->option_text("PID")
            ->check(CLI::Range(1L, 4'194'304L, "PID"));
    doctor->add_flag("--json", request.json, "Print JSON.");
    doctor
        ->add_option(
            "PROGRAM", request.program,
            "Examine PROGRAM and the libraries it is linked with; nothing of it is executed, and its arguments are "
            "ignored.")
        ->option_text(" ")
        ->excludes(pid);
    doctor->footer("For each parallel library it says whether Comity serves it, adopts its threads,\n"
                   "leaves it alone, or does not serve it yet. Interpreters such as Python load\n"
                   "libraries while they run: use --pid for them.\n\n"
                   "Exit code: 0; 1 when Comity cannot work here or the program cannot be examined.\n\n"
                   "Examples:\n"
                   "  comity doctor\n"
                   "  comity doctor ./solver\n"
                   "  comity doctor --json --pid 4711\n");
}

// The options are the harness' own: they are named here for the help and the errors, and handed on as they were typed.
void add_bench(CLI::App &app, bench_options &given) {
    CLI::App *bench = app.add_subcommand("bench", "Measure Comity against other libraries in the same run");
    bench->formatter(make_help_format("comity bench [OPTIONS] [SUITE]"));
    bench
        ->add_option(
            "SUITE", given.suite,
            "threads; posix (programs of POSIX threads); of OpenMP nested, omptasks, ompsync (constructs), npb (NAS "
            "kernels), fftw or figures (of the thesis); servers; from one core to all scaling-threads, scaling-openmp, "
            "scaling-posix; or all. Without it: threads.")
        ->check(CLI::IsMember({"threads", "posix", "nested", "omptasks", "ompsync", "npb", "fftw", "figures", "servers",
                               "scaling-threads", "scaling-openmp", "scaling-posix", "all"}))
        ->option_text(" ");
    bench->add_flag("--list", given.list, "List the rows with what Comity has promised of each, and stop.");
    bench->add_flag("--quick", given.quick, "Three short runs of each: minutes, not a quarter of an hour.");
    bench->add_option("--only", given.only, "Rows whose name contains TEXT; may be repeated.")
        ->option_text("TEXT")
        ->allow_extra_args(false); // what follows may be the suite
    bench->add_option("--contenders", given.contenders, "These contenders only.")->option_text("A,B");
    bench->add_option("--repeats", given.repeats, "Runs of each contender and row (5).")
        ->option_text("N")
        ->check(CLI::Range(1L, 1000L, "N"));
    bench
        ->add_option("--patience", given.patience,
                     "Seconds to wait for a quiet machine before each run (3); 0: neither wait nor repeat.")
        ->option_text("S")
        ->check(CLI::Range(0L, 3600L, "S"));
    bench->add_option("--json", given.json, "Write everything measured to FILE.")->option_text("FILE");
    bench->add_flag("--progress", given.progress,
                    "Say on standard error what is being run, also where that is no terminal.");
    bench->add_flag("--strict", given.strict, "Exit code 1 when a promise is missed.");
    bench->footer("Contenders alternate, so that whatever disturbs the machine disturbs them all; the\n"
                  "medians are compared. Peers that are not installed are left out, with a line that\n"
                  "says so. In a build folder a whole run rewrites docs/performance.md, its figures\n"
                  "and docs/results.\n\n"
                  "Exit code: 0; 1 when it could not be measured, or a promise was missed (--strict).\n\n"
                  "Examples:\n"
                  "  comity bench --list\n"
                  "  comity bench --quick --only fib --only uts\n"
                  "  comity bench nested --contenders comity,libgomp-default\n");
}

std::vector<std::string> harness_arguments(const bench_options &given) {
    std::vector<std::string> words{"--suite", given.suite};
    const auto add = [&](const char *option, const std::string &value) {
        if (!value.empty()) words.insert(words.end(), {option, value});
    };
    const auto add_flag = [&](const char *option, bool is_given) {
        if (is_given) words.emplace_back(option);
    };
    add_flag("--list", given.list);
    add_flag("--quick", given.quick);
    add_flag("--progress", given.progress);
    add_flag("--strict", given.strict);
    for (const std::string &text : given.only) add("--only", text);
    add("--contenders", given.contenders);
    add("--repeats", given.repeats);
    add("--patience", given.patience);
    add("--json", given.json);
    return words;
}

// The words of `comity run` and `comity doctor` up to the program's name belong to comity, all others to the program:
// `--` ends ours, and so does the first word that is no option and no option's value.
std::size_t find_command(const std::vector<std::string> &words) {
    for (std::size_t i = 1; i < words.size(); ++i) {
        if (words[i] == "--") return i;
        if (words[i] == "--harts" || words[i] == "--bind" || words[i] == "--pid")
            ++i;
        else if (words[i].empty() || words[i][0] != '-')
            return i;
    }
    return words.size();
}

// Errors of usage: what is wrong, and where help is.
int complain(const std::string &command, const std::string &what) {
    const std::string full = command.empty() ? "comity" : "comity " + command;
    fmt::print(stderr, "comity: {}{}{}; see `{} --help`\n", command, command.empty() ? "" : ": ", what, full);
    return command == "run" ? exit_usage : exit_bad_usage;
}

// " (did you mean X?)" where `typed` is nearly one of the words, else nothing.
std::string suggest(const std::string &typed, const std::vector<std::string> &words) {
    std::string nearest;
    unsigned least = sys::too_many_misspellings;
    for (const std::string &word : words)
        if (const unsigned count = sys::count_misspellings(typed, word); count < least) least = count, nearest = word;
    return nearest.empty() ? "" : fmt::format(" (did you mean {}?)", nearest);
}

// The same for the first option among the words that the command does not have.
std::string suggest_option(const CLI::App &command, const std::vector<std::string> &words) {
    std::vector<std::string> names;
    for (const CLI::Option *option : command.get_options())
        for (const std::string &name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string &word : words) {
        const std::string name = word.substr(0, word.find('='));
        if (name.rfind("--", 0) == 0 && std::find(names.begin(), names.end(), name) == names.end())
            return suggest(name, names);
    }
    return {};
}

// `comity help` and `comity help COMMAND` are the option of that name.
std::vector<std::string> without_help_command(std::vector<std::string> words) {
    if (words.empty() || words[0] != "help") return words;
    words.erase(words.begin());
    words.resize(std::min<std::size_t>(words.size(), 1));
    words.emplace_back("--help");
    return words;
}

std::string first_line(std::string text) {
    text = text.substr(0, text.find('\n'));
    while (!text.empty() && text.back() == '.') text.pop_back();
    return text;
}

// The parser's own words for a missing value name its kind only.
std::string text_of(const CLI::ParseError &error) {
    const std::string text = first_line(error.what());
    const std::size_t number = text.find(": 1 required ");
    return number == std::string::npos ? text : text.substr(0, number) + ": its value is missing";
}

} // namespace

int run_command_line(const std::vector<std::string> &typed) {
    const std::vector<std::string> words = without_help_command(typed);
    CLI::App app("Comity makes the parallel libraries of a program share the cores: no\n"
                 "oversubscription, nothing to tune.",
                 "comity");
    run_request run;
    doctor_request doctor;
    bench_options bench;
    bool markdown = false;
    app.set_version_flag("-v,--version", fmt::format("comity {}", comity_version()), "Print the version.");
    app.set_help_flag("-h,--help", "Print this help.");
    app.require_subcommand(1);
    app.formatter(make_help_format("comity COMMAND [OPTIONS]"));
    add_run(app, run);
    add_doctor(app, doctor);
    add_bench(app, bench);
    CLI::App *options = app.add_subcommand("options", "List the environment variables that Comity reads");
    options->formatter(make_help_format("comity options [--markdown]"));
    options->add_flag("--markdown", markdown, "Print them as the page docs/configuration.md.");
    for (CLI::App *each : app.get_subcommands({})) each->group("Commands");
    app.footer(
        "`comity help COMMAND` says more about a command.\n\nThe usual start: comity run -- PROGRAM ARGUMENTS...\n");

    std::vector<std::string> ours = words;
    const std::string command = words.empty() || words[0][0] == '-' ? "" : words[0];
    if (command == "run" || command == "doctor") {
        const std::size_t end = find_command(words), program = end < words.size() && words[end] == "--" ? end + 1 : end;
        // The program's arguments are its own, which doctor does not look at; its name is an argument of doctor's.
        ours.resize(command == "run" ? end : std::min(program + 1, words.size()));
        run.command.assign(words.begin() + static_cast<std::ptrdiff_t>(program), words.end());
    }
    std::vector<std::string> commands;
    for (const CLI::App *each : app.get_subcommands({})) commands.push_back(each->get_name());
    if (!command.empty() && std::find(commands.begin(), commands.end(), command) == commands.end())
        return complain("", fmt::format("there is no command \"{}\"{}", command, suggest(command, commands)));
    try {
        app.parse(std::vector<std::string>(ours.rbegin(), ours.rend())); // CLI11 takes them from the back
    } catch (const CLI::Success &success) {                              // help and version
        return app.exit(success);
    } catch (const CLI::ParseError &error) {
        if (words.empty()) {
            fmt::print(stderr, "{}", app.help());
            return exit_bad_usage;
        }
        const CLI::App &of = command.empty() ? app : *app.get_subcommand(command);
        return complain(command, text_of(error) + suggest_option(of, ours));
    }
    if (app.got_subcommand("doctor")) return examine(doctor);
    if (app.got_subcommand("bench")) return run_bench({harness_arguments(bench), !bench.list});
    if (app.got_subcommand("options")) return print_options(markdown);
    return run_program(run);
}

} // namespace comity::cli
