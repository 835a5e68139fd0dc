// The program that the user names: where it is, what kind of file, and whether Comity can be loaded into it.
#pragma once

#include <string>
#include <vector>

namespace comity::cli {

// How `comity run` ends when it cannot run the program; the numbers are those of env(1) and timeout(1).
enum exit_code : int { exit_usage = 125, exit_cannot_run = 126, exit_not_found = 127 };

// An error with its exit code. The text says what is wrong and, where there is a cure, what to do.
struct program_error {
    int code = 0;
    std::string text;
    explicit operator bool() const { return code != 0; }
};

// Finds a program as execvp(3) does: as it stands when it holds a slash, else in PATH. `path` is where it is.
program_error find_program(const std::string &name, std::string &path);

struct program_info {
    std::string path;
    std::vector<std::string> interpreters; // of a #! script: the chain of interpreters, the last of which is ELF
    std::string obstacle;                  // why Comity cannot be loaded into it: "is statically linked"; or empty
    std::string unreadable;                // where the rest is unknown: the file that may be executed but not read
    std::string loader;                    // PT_INTERP of the ELF file at the end of the chain
    bool has_own_library_paths = false;    // RPATH or RUNPATH in that file

    const std::string &elf_path() const { return interpreters.empty() ? path : interpreters.back(); }
};

// Looks into a found program, following #! lines. An error is one that the kernel would report too, but worse.
program_error inspect_program(const std::string &path, program_info &info);

// The words of a #! line: the interpreter and, in one piece, what follows. Empty for other files.
std::vector<std::string> read_shebang(const std::string &path);

// Does the process that `path` becomes run with a trusted environment, so that preloading is switched off?
// (set-user-id, set-group-id, file capabilities)
bool is_privileged(const std::string &path);

} // namespace comity::cli
