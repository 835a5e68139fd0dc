// comity doctor: what is detected here, and what Comity would do with a program.
#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "commands.hpp"
#include "elf_file.hpp"
#include "installation.hpp"
#include "libraries.hpp"
#include "program.hpp"
#include "report.hpp"

namespace comity::cli {
namespace {

std::string file_name(const std::string &path) { return path.substr(path.rfind('/') + 1); }

// `#!/usr/bin/env [-S] python3 ...`: the program that env will find.
std::string program_behind_env(const std::vector<std::string> &shebang) {
    if (shebang.size() < 2 || file_name(shebang[0]) != "env") return {};
    std::string words = shebang[1];
    if (words.rfind("-S", 0) == 0) words = words.substr(std::min(words.size(), words.find_first_not_of(" \t", 2)));
    const std::string name = words.substr(0, words.find_first_of(" \t"));
    std::string path;
    if (name.empty() || name[0] == '-' || find_program(name, path)) return {};
    return path;
}

// Interpreters load libraries while they run, so their files tell little.
void note_interpreter(const std::string &path, program_report &report) {
    for (const char *name : {"python", "pypy", "Rscript", "R", "julia", "octave", "perl", "ruby", "node", "java"})
        if (file_name(path).rfind(name, 0) == 0 && (name != std::string("R") || file_name(path) == "R")) {
            report.notes.push_back(fmt::format("{} loads libraries while it runs; to see them, start the program "
                                               "(under `comity run` or not) and look at "
                                               "it with `comity doctor --pid PID`",
                                               file_name(path)));
            return;
        }
    for (const char *starter : {"sh", "dash", "bash", "zsh", "ksh", "env", "make", "gmake", "ninja", "xargs", "find",
                                "parallel", "nice", "nohup", "time", "timeout", "taskset", "strace", "ltrace"})
        if (file_name(path) == starter)
            report.notes.push_back(fmt::format("{} starts other programs; Comity goes on to each, and decides for each "
                                               "by what it is: ask `comity doctor` of those",
                                               starter));
}

bool is_served(const runtime &r) { return r.what == verdict::served; }

program_report examine_program(const std::string &name) {
    program_report report;
    report.name = name;
    if (const auto error = find_program(name, report.path)) {
        report.problem = error.text;
        return report;
    }
    program_info info;
    if (const auto error = inspect_program(report.path, info)) {
        report.problem = error.text;
        return report;
    }
    if (!info.unreadable.empty()) {
        report.problem =
            fmt::format("{0}: may be executed but not read, so it is unknown which libraries it uses; `chmod "
                        "+r {0}` lets comity doctor look (comity run needs no more than it has)",
                        info.unreadable);
        return report;
    }
    report.interpreters = info.interpreters;
    report.obstacle = info.obstacle;
    std::string elf = info.elf_path();
    if (const std::string behind = program_behind_env(read_shebang(report.path)); !behind.empty()) {
        report.interpreters.push_back(behind);
        program_info inner;
        if (!inspect_program(behind, inner)) elf = inner.elf_path();
    }
    const auto libraries = find_libraries(elf);
    for (const library &lib : libraries)
        if (lib.path.empty()) report.missing_libraries.push_back(lib.name);
    const bool served = serves_threads(elf, libraries);
    report.runtimes = find_runtimes(libraries, served);
    note_interpreter(elf, report);
    if (!report.obstacle.empty()) return report;
    const bool is_known = report.notes.empty(); // what it loads while it runs is not
    report.notes.push_back(whose_threads(elf, served));
    if (is_known && !served && std::ranges::none_of(report.runtimes, is_served))
        report.notes.emplace_back(
            "none of its libraries is served: `comity run` changes nothing, unless the program loads others or starts "
            "programs");
    return report;
}

program_report examine_running(long pid) {
    program_report report;
    report.name = std::to_string(pid);
    report.pid = pid;
    const process_report process = examine_process(pid);
    report.problem = process.error;
    report.path = process.program;
    report.threads = process.threads;
    report.affinity = process.affinity;
    report.is_under_comity = has_library(process.libraries, "libcomity.so");
    const bool has_threads = has_library(process.libraries, "libcomity_threads.so"),
               are_kernels = has_library(process.libraries, "libcomity_pthread.so");
    const bool is_asked_for = has_threads && (!process.is_run || process.posix == "on" || process.posix == "1");
    const bool serves = !has_own_stacks(report.path) &&
                        (is_asked_for || (!are_kernels && serves_threads(report.path, process.libraries)));
    report.runtimes = find_runtimes(process.libraries, serves);
    return report;
}

} // namespace

int examine(const doctor_request &request) {
    const machine_report machine = examine_machine();
    std::optional<program_report> program;
    if (request.pid)
        program = examine_running(request.pid);
    else if (!request.program.empty())
        program = examine_program(request.program);
    if (request.json)
        print_json(machine, program);
    else
        print_text(machine, program);
    return machine.problems.empty() && (!program || program->problem.empty()) ? 0 : 1;
}

} // namespace comity::cli
