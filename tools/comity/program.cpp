#include "program.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <fmt/format.h>

#include "elf_file.hpp"
#include "installation.hpp"

namespace comity::cli {
namespace {

constexpr int most_interpreters = 5; // the kernel's limit of scripts that interpret scripts

// Can this file be executed? 0, or an errno that says why not.
int check_executable(const std::string &path) {
    struct stat file {};
    if (::stat(path.c_str(), &file) != 0) return errno;
    if (S_ISDIR(file.st_mode)) return EISDIR;
    return access_error(path, X_OK);
}

program_error explain(const std::string &name, const std::string &path, int error) {
    switch (error) {
    case 0:
        return {};
    case ENOENT:
    case ENOTDIR:
        return {exit_not_found, fmt::format("{}: no such file; is the path right?", name)};
    case EISDIR:
        return {exit_cannot_run, fmt::format("{}: is a folder, not a program", name)};
    case EACCES: {
        if (access_error(path, F_OK) != 0)
            return {exit_cannot_run, fmt::format("{}: a folder on the way to it may not be entered", name)};
        return {exit_cannot_run,
                fmt::format("{0}: is not executable; `chmod +x {1}` makes it so, or name its interpreter", name, path)};
    }
    default:
        return {exit_cannot_run, fmt::format("{}: {}", name, std::strerror(error))};
    }
}

std::vector<std::string> split_path_list(const std::string &list) {
    std::vector<std::string> folders;
    for (std::size_t at = 0;;) {
        const std::size_t end = list.find(':', at);
        folders.push_back(list.substr(at, end - at));
        if (end == std::string::npos) return folders;
        at = end + 1;
    }
}

std::string first_bytes(const std::string &path, std::size_t count) {
    std::string bytes(count, '\0');
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    const ssize_t n = file >= 0 ? ::pread(file, bytes.data(), count, 0) : -1;
    if (file >= 0) ::close(file);
    bytes.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
    return bytes;
}

// What keeps Comity out of an ELF program, in words that follow its name.
std::string find_obstacle(const std::string &path, const elf_head &head) {
    if (!head.damage.empty()) return head.damage;
    if (!head.is_native)
        return fmt::format("is built for {} ({} bits), and Comity for {}", machine_name(head.machine), head.bits,
                           machine_name(native_machine()));
    if (head.interpreter.empty()) return "is statically linked";
    const std::string loader = head.interpreter.substr(head.interpreter.rfind('/') + 1);
    if (loader.rfind("ld-linux", 0) != 0) return fmt::format("uses another C library than glibc (loader {})", loader);
    for (const std::string &library : head.needed)
        for (const char *sanitizer :
             {"libasan.", "libtsan.", "liblsan.", "libhwasan.", "libclang_rt.asan", "libclang_rt.tsan"})
            if (library.rfind(sanitizer, 0) == 0)
                return "is built with a sanitizer, whose library must be the first one loaded";
    // clang links them in.
    const auto &exported = elf_symbols_of(path).exported;
    for (const char *sanitizer : {"__asan_init", "__tsan_init", "__msan_init", "__hwasan_init"})
        if (exported.contains(sanitizer)) return "is built with a sanitizer, which cannot follow Comity's switches";
    if (is_privileged(path)) return "runs with the rights of another user or with capabilities (set-user-id)";
    return {};
}

program_error inspect_elf(const std::string &path, const elf_head &head, program_info &info) {
    if (head.lacks_header) return {exit_cannot_run, fmt::format("{}: {}", path, head.damage)};
    info.obstacle = find_obstacle(path, head);
    info.loader = head.interpreter;
    info.has_own_library_paths = !head.rpath.empty() || !head.runpath.empty();
    if (!head.interpreter.empty() && access_error(head.interpreter, F_OK) != 0)
        return {exit_cannot_run,
                fmt::format("{}: needs the loader {}, which is not here; was it built for another system?", path,
                            head.interpreter)};
    return {};
}

} // namespace

program_error find_program(const std::string &name, std::string &path) {
    if (name.empty()) return {exit_not_found, "the program's name is empty"};
    if (name.find('/') != std::string::npos) {
        path = name;
        return explain(name, path, check_executable(path));
    }
    const char *list = std::getenv("PATH");
    std::string seen; // a file of that name that is no program
    int why = 0;
    for (const std::string &folder : split_path_list(list ? list : "/bin:/usr/bin")) {
        path = fmt::format("{}/{}", folder.empty() ? "." : folder, name);
        const int error = check_executable(path);
        if (error == 0) return {};
        if (seen.empty() && error == EACCES && access_error(path, F_OK) == 0) seen = path, why = error;
    }
    if (!seen.empty()) return explain(seen, seen, why);
    const bool here = access_error(name, F_OK) == 0;
    return {exit_not_found, here ? fmt::format("{0}: not found in PATH; did you mean ./{0}?", name)
                                 : fmt::format("{}: not found in PATH; is it installed, and its name right?", name)};
}

std::vector<std::string> read_shebang(const std::string &path) {
    std::string line = first_bytes(path, 256);
    if (line.rfind("#!", 0) != 0) return {};
    line = line.substr(2, line.find('\n') == std::string::npos ? std::string::npos : line.find('\n') - 2);
    constexpr const char *blanks = " \t";
    const std::size_t start = line.find_first_not_of(blanks);
    if (start == std::string::npos) return {};
    const std::size_t end = line.find_first_of(blanks, start);
    std::vector<std::string> words{line.substr(start, end - start)};
    const std::size_t rest = end == std::string::npos ? end : line.find_first_not_of(blanks, end);
    if (rest != std::string::npos) words.push_back(line.substr(rest, line.find_last_not_of(blanks) + 1 - rest));
    return words;
}

bool is_privileged(const std::string &path) {
    struct stat file {};
    if (::stat(path.c_str(), &file) != 0) return false;
    if ((file.st_mode & S_ISUID) && file.st_uid != ::geteuid()) return true;
    if ((file.st_mode & S_ISGID) && (file.st_mode & S_IXGRP) && file.st_gid != ::getegid()) return true;
    return ::geteuid() != 0 && ::getxattr(path.c_str(), "security.capability", nullptr, 0) > 0;
}

program_error inspect_program(const std::string &path, program_info &info) {
    info = {};
    info.path = path;
    std::string at = path;
    for (int depth = 0; depth <= most_interpreters; ++depth) {
        if (access_error(at, R_OK) != 0) { // may be executed but not looked into
            info.unreadable = at;
            return {};
        }
        if (const auto head = read_elf_head(at)) return inspect_elf(at, *head, info);
        const auto words = read_shebang(at);
        if (words.empty()) {
            const std::string start = first_bytes(at, 256);
            if (start.find('\0') != std::string::npos)
                return {exit_cannot_run, fmt::format("{}: is neither a program nor a script", at)};
            // No #! line, or one that may not be read: the shell's business, as with execvp.
            info.interpreters.emplace_back("/bin/sh");
            at = "/bin/sh";
            continue;
        }
        if (const int error = check_executable(words[0])) {
            std::string hint = words[0].find('\r') != std::string::npos ? "its first line ends in a carriage return"
                                                                        : std::strerror(error);
            return {exit_cannot_run, fmt::format("{}: is a script for {}, which cannot be run: {}", at,
                                                 words[0].substr(0, words[0].find('\r')), hint)};
        }
        info.interpreters.push_back(words[0]);
        at = words[0];
    }
    return {exit_cannot_run,
            fmt::format("{}: its interpreters are scripts themselves, more than {} deep", path, most_interpreters)};
}

} // namespace comity::cli
