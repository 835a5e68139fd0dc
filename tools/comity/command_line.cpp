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

// The help of an option of `comity run` that is also an environment variable.
std::string help_of(const char *variable) {
    for (const sys::option &row : sys::get_option_table())
        if (std::string(row.variable) == variable) return fmt::format("{} ({})", row.help, row.variable);
    return {};
}

void add_run(CLI::App &app, run_request &request) {
    CLI::App *run = app.add_subcommand("run", "Run a program so that its parallel libraries share the cores");
    run->formatter(make_help_format("comity run [OPTIONS] [--] PROGRAM [ARGUMENTS...]"));
    run->add_option("--harts", request.harts, help_of("COMITY_HARTS"))->type_name("N");
    run->add_flag("--no-nested", request.no_nested,
                  "Parallel regions inside parallel regions get one thread, as without Comity. (COMITY_NESTED=0)");
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

void add_doctor(CLI::App &app, doctor_request &request, std::vector<std::string> &rest) {
    CLI::App *doctor = app.add_subcommand("doctor", "Show what Comity detects here, and what it does with a program");
    doctor->formatter(make_help_format("comity doctor [--json] [PROGRAM | --pid PID]"));
    CLI::Option *pid =
        doctor->add_option("--pid", request.pid, "Examine the running process PID and the libraries it has loaded.")
            ->option_text("PID")
            ->check(CLI::Range(1L, 4'194'304L, "PID"));
    doctor->add_flag("--json", request.json, "Print JSON.");
    doctor
        ->add_option("PROGRAM", request.program,
                     "Examine PROGRAM and the libraries it is linked with; nothing of it is executed.")
        ->option_text(" ")
        ->excludes(pid);
    doctor->add_option("ARGUMENTS", rest, "The program's arguments are ignored.")->option_text(" ");
    doctor->footer("For each parallel library it says whether Comity serves it, adopts its threads,\n"
                   "leaves it alone, or does not serve it yet. Interpreters such as Python load\n"
                   "libraries while they run: use --pid for them.\n\n"
                   "Exit code: 0; 1 when Comity cannot work here or the program cannot be examined.\n\n"
                   "Examples:\n"
                   "  comity doctor\n"
                   "  comity doctor ./solver\n"
                   "  comity doctor --json --pid 4711\n");
}

// The words of `comity run` up to the program's name belong to comity, all others to the program: `--` ends ours, and
// so does the first word that is no option and no option's value.
std::size_t find_command(const std::vector<std::string> &words) {
    for (std::size_t i = 1; i < words.size(); ++i) {
        if (words[i] == "--") return i;
        if (words[i] == "--harts")
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

std::string first_line(std::string text) {
    text = text.substr(0, text.find('\n'));
    while (!text.empty() && text.back() == '.') text.pop_back();
    return text;
}

} // namespace

int run_command_line(const std::vector<std::string> &words) {
    CLI::App app("Comity makes the parallel libraries of a program share the cores: no\n"
                 "oversubscription, nothing to tune.",
                 "comity");
    run_request run;
    doctor_request doctor;
    std::vector<std::string> ignored;
    bool markdown = false;
    app.set_version_flag("--version", fmt::format("comity {}", comity_version()), "Print the version.");
    app.set_help_flag("-h,--help", "Print this help.");
    app.require_subcommand(1);
    app.formatter(make_help_format("comity COMMAND [OPTIONS]"));
    add_run(app, run);
    add_doctor(app, doctor, ignored);
    CLI::App *options = app.add_subcommand("options", "List the environment variables that Comity reads");
    options->formatter(make_help_format("comity options [--markdown]"));
    options->add_flag("--markdown", markdown, "Print them as the page docs/configuration.md.");
    for (CLI::App *each : app.get_subcommands({})) each->group("Commands");
    app.footer(
        "`comity COMMAND --help` says more about a command.\n\nThe usual start: comity run -- PROGRAM ARGUMENTS...\n");

    std::vector<std::string> ours = words;
    const std::string command = words.empty() || words[0][0] == '-' ? "" : words[0];
    if (command == "run") {
        const std::size_t end = find_command(words);
        ours.resize(end);
        const std::size_t program = end < words.size() && words[end] == "--" ? end + 1 : end;
        run.command.assign(words.begin() + static_cast<std::ptrdiff_t>(program), words.end());
    }
    try {
        std::reverse(ours.begin(), ours.end()); // CLI11 takes them from the back
        app.parse(ours);
    } catch (const CLI::Success &success) { // help and version
        return app.exit(success);
    } catch (const CLI::ParseError &error) {
        const bool known = command.empty() || command == "run" || command == "doctor" || command == "options";
        if (!known) return complain("", fmt::format("there is no command \"{}\"", command));
        if (words.empty()) {
            fmt::print(stderr, "{}", app.help());
            return exit_bad_usage;
        }
        return complain(command, first_line(error.what()));
    }
    if (app.got_subcommand("doctor")) return examine(doctor);
    if (app.got_subcommand("options")) return print_options(markdown);
    if (run.command.empty()) return complain("run", "which program? Its name is missing");
    return run_program(run);
}

} // namespace comity::cli
