#include "loader_check.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include "elf_file.hpp"
#include "installation.hpp"

namespace comity::cli {
namespace {

bool is_same_file(const std::string &a, const std::string &b) {
    struct stat first {};
    struct stat second {};
    return ::stat(a.c_str(), &first) == 0 && ::stat(b.c_str(), &second) == 0 && first.st_dev == second.st_dev &&
           first.st_ino == second.st_ino;
}

bool is_ordinary(const program_info &program) {
    const char *library_path = std::getenv("LD_LIBRARY_PATH");
    if ((library_path && *library_path) || program.has_own_library_paths) return false;
    const auto self = read_elf_head(own_path());
    return self && is_same_file(self->interpreter, program.loader);
}

std::string read_all(int file) {
    std::string text;
    char chunk[4096];
    for (;;) {
        const ssize_t n = ::read(file, chunk, sizeof chunk);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return text;
        text.append(chunk, static_cast<std::size_t>(n));
    }
}

// What the loader says that it would load, and its complaints.
bool trace_loader(const std::string &path, const std::string &preload, std::string &said) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return false;
    std::vector<std::string> variables{"LD_TRACE_LOADED_OBJECTS=1", "LD_PRELOAD=" + preload};
    std::vector<char *> environment{variables[0].data(), variables[1].data()};
    for (char **at = environ; *at; ++at)
        if (std::strncmp(*at, "LD_PRELOAD=", 11) != 0) environment.push_back(*at);
    environment.push_back(nullptr);
    char *arguments[] = {const_cast<char *>(path.c_str()), nullptr};

    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
    pid_t child = 0;
    const int error = ::posix_spawn(&child, path.c_str(), &actions, nullptr, arguments, environment.data());
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
    if (error == 0) {
        said = read_all(ends[0]);
        while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
        }
    }
    ::close(ends[0]);
    return error == 0;
}

// The first line of `text` that holds `part`, without the blanks around it.
std::string line_with(const std::string &text, const char *part) {
    const std::size_t at = text.find(part);
    if (at == std::string::npos) return {};
    const std::size_t start = text.find_last_of('\n', at) + 1; // npos + 1 is 0
    const std::size_t first = text.find_first_not_of(" \t", start);
    return text.substr(first, text.find('\n', at) - first);
}

} // namespace

std::string check_loader(const program_info &program, const std::string &preload) {
    if (program.loader.empty() || is_ordinary(program)) return {};
    std::string said;
    if (!trace_loader(program.elf_path(), preload, said)) return {}; // the program will fail in the same way, by itself
    for (const char *complaint : {"cannot be preloaded", "not found", "error while loading"})
        if (const std::string line = line_with(said, complaint); !line.empty())
            return fmt::format("{}: does not load together with Comity ({})", program.elf_path(), line);
    return {};
}

} // namespace comity::cli
