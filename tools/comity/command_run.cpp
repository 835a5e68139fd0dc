// comity run: puts the drop-ins into the environment of the program and becomes the program. Signals, exit code and
// output are then the program's own, because there is no process in between.
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <unistd.h>

#include <fmt/format.h>

#include "commands.hpp"
#include "elf_file.hpp"
#include "installation.hpp"
#include "loader_check.hpp"
#include "program.hpp"
#include "requirements.hpp"
#include "runtimes.hpp"
#include "sys/message.hpp"
#include "sys/options.hpp"

namespace comity::cli {
namespace {

int fail(int code, const std::string &text) {
    sys::warn("run: %s", text.c_str());
    return code;
}

const sys::option &find_option(const char *variable) {
    for (const sys::option &row : sys::get_option_table())
        if (std::strcmp(row.variable, variable) == 0) return row;
    std::abort(); // the name is one of ours
}

// An option's value that the variable may not have is an error here.
program_error check_value(const char *option, const char *variable, const std::string &text, const char *advice) {
    const sys::option &row = find_option(variable);
    std::uint64_t number = 0;
    if (sys::parse_option(row, text.c_str(), number)) return {};
    char allowed[128];
    sys::describe_allowed(row, allowed, sizeof allowed);
    return {exit_usage, fmt::format("{} \"{}\": not {}; {}", option, text, allowed, advice)};
}

program_error check_values(const run_request &request) {
    program_error error;
    if (request.harts)
        error = check_value("--harts", "COMITY_HARTS", *request.harts,
                            "leave it out to use every core that the process may use");
    if (error.code == 0 && request.bind)
        error = check_value("--bind", "COMITY_BIND", *request.bind, "leave it out to bind nothing");
    return error;
}

program_error check_installation(const installation &here) {
    if (here.folder.empty())
        return {exit_usage,
                fmt::format("the drop-ins are missing; looked in {}; install Comity again, or build all of it",
                            fmt::join(here.looked_in, ", "))};
    if (!here.missing.empty())
        return {exit_usage,
                fmt::format("{} {} missing in {}; install Comity again, or build all of it",
                            fmt::join(here.missing, " and "), here.missing.size() == 1 ? "is" : "are", here.folder)};
    if (here.folder.find_first_of(" \t\n:") != std::string::npos)
        return {exit_usage, fmt::format("{}: a folder with a blank or a colon in its name cannot be preloaded from; "
                                        "install Comity elsewhere",
                                        here.folder)};
    return {};
}

// The drop-ins first, then what the user preloads; a drop-in that stands there already is not repeated.
std::string preload_list(const installation &here, bool posix) {
    std::string list;
    for (const std::string &name : preloaded_names(posix)) list += (list.empty() ? "" : ":") + here.folder + "/" + name;
    const char *before = std::getenv("LD_PRELOAD");
    for (std::string rest = before ? before : ""; !rest.empty();) {
        const std::size_t end = rest.find_first_of(": ");
        const std::string entry = rest.substr(0, end);
        rest = end == std::string::npos ? "" : rest.substr(end + 1);
        if (!entry.empty() && entry.rfind(here.folder + "/", 0) != 0) list += ":" + entry;
    }
    return list;
}

void set(const char *variable, const std::string &value) { ::setenv(variable, value.c_str(), 1); }

void set_environment(const installation &here, bool posix) {
    set("LD_PRELOAD", preload_list(here, posix));
    set("COMITY_RUN", "1");
    if (std::getenv("COMITY_STATS")) set("COMITY_RUN_PROCESS", std::to_string(::getpid()));
}

// An option goes before its variable, so a bad value of that does not matter.
void set_options(const run_request &request) {
    if (request.harts) set("COMITY_HARTS", *request.harts);
    if (request.bind) set("COMITY_BIND", *request.bind);
    if (request.stats) set("COMITY_STATS", "1");
    if (request.verbose) set("COMITY_VERBOSE", "1");
    if (request.no_nested) set("COMITY_NESTED", "0");
    if (request.own_regions) set("COMITY_OWN_REGIONS", "1");
    if (request.posix) set("COMITY_POSIX", *request.posix ? "on" : "off");
}

// Becomes the program; a file that the kernel does not know is the shell's, as with execvp. Returns an exit code.
int execute(const std::string &path, const std::vector<std::string> &command) {
    std::vector<char *> arguments{nullptr};
    for (const std::string &word : command) arguments.push_back(const_cast<char *>(word.c_str()));
    arguments.push_back(nullptr);
    ::execv(path.c_str(), arguments.data() + 1);
    if (errno == ENOEXEC && read_shebang(path).empty() && !read_elf_head(path)) {
        char shell[] = "/bin/sh";
        arguments[0] = shell;
        arguments[1] = const_cast<char *>(path.c_str());
        ::execv(shell, arguments.data());
    }
    const int error = errno;
    return fail(error == ENOENT ? exit_not_found : exit_cannot_run,
                fmt::format("{}: cannot be executed: {}", path, std::strerror(error)));
}

int run_without(const std::string &obstacle, const std::string &path, const std::vector<std::string> &command) {
    sys::warn("run: %s; running it without Comity", obstacle.c_str());
    return execute(path, command);
}

} // namespace

int run_program(const run_request &request) {
    if (const auto error = check_values(request)) return fail(error.code, error.text);
    if (request.command.empty()) return fail(exit_usage, "which program? Its name is missing; see `comity run --help`");
    set_options(request);
    clean_environment();
    std::string path;
    if (const auto error = find_program(request.command.front(), path)) return fail(error.code, error.text);
    // First, since what follows takes some stack.
    std::string obstacle = find_memory_obstacle();
    if (!obstacle.empty()) return run_without(obstacle, path, request.command);
    const installation here = find_installation();
    if (const auto error = check_installation(here)) return fail(error.code, error.text);
    program_info program;
    if (const auto error = inspect_program(path, program)) return fail(error.code, error.text);

    obstacle = find_system_obstacle();
    const sys::posix_choice choice = sys::get_options().posix;
    bool posix =
        choice == sys::posix_choice::automatic ? serves_threads(program.elf_path()) : choice == sys::posix_choice::on;
    if (const std::string few = posix ? find_thread_obstacle(sys::number_of_harts()) : ""; !few.empty()) {
        if (choice == sys::posix_choice::automatic)
            posix = false; // then threads stay the kernel's
        else if (obstacle.empty())
            obstacle = few;
    }
    if (obstacle.empty() && !program.obstacle.empty())
        obstacle = fmt::format("{}: {}", program.elf_path(), program.obstacle);
    if (obstacle.empty()) obstacle = check_loader(program, preload_list(here, posix));
    if (!obstacle.empty()) return run_without(obstacle, path, request.command);
    set_environment(here, posix);
    if (request.verbose) {
        sys::warn("run: preloading %s", ::getenv("LD_PRELOAD"));
        sys::warn("run: %s", whose_threads(posix));
    }
    return execute(path, request.command);
}

} // namespace comity::cli
