#include "sys/program_file.hpp"

#include <cerrno>
#include <cstddef>
#include <cstring>

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sys/errno_kept.hpp"

namespace comity::sys {
namespace {

constexpr std::size_t longest_line = 256; // of a script's first one, as the kernel reads it
constexpr int most_interpreters = 5;

#if defined(__x86_64__)
constexpr unsigned own_machine = EM_X86_64;
#elif defined(__aarch64__)
constexpr unsigned own_machine = EM_AARCH64;
#endif

int open_file(const char *path) noexcept {
    return static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
}

// Whole or not at all.
bool read_at(int file, std::size_t at, void *to, std::size_t size) noexcept {
    return ::syscall(SYS_pread64, file, to, size, at) == static_cast<long>(size);
}

bool is_own_loader(const char *path) noexcept {
    const char *slash = std::strrchr(path, '/');
    return std::strncmp(slash ? slash + 1 : path, "ld-linux", 8) == 0;
}

bool is_loaded_by_own_kind(int file, const ElfW(Ehdr) & head) noexcept {
    if (head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_machine != own_machine) return false;
    for (unsigned i = 0; i < head.e_phnum; ++i) {
        ElfW(Phdr) part{};
        if (!read_at(file, head.e_phoff + std::size_t{i} * head.e_phentsize, &part, sizeof part)) return true;
        if (part.p_type != PT_INTERP) continue;
        char path[longest_line] = "";
        return part.p_filesz >= sizeof path || !read_at(file, part.p_offset, path, part.p_filesz) ||
               is_own_loader(path);
    }
    return true;
}

// The interpreter in a script's first line; null: it names none.
const char *interpreter_in(char (&line)[longest_line + 1]) noexcept {
    if (line[0] != '#' || line[1] != '!') return nullptr;
    char *at = line + 2;
    at += std::strspn(at, " \t");
    at[std::strcspn(at, " \t\n")] = '\0';
    return *at ? at : nullptr;
}

bool may_load(int file, int depth) noexcept {
    ElfW(Ehdr) head{};
    if (read_at(file, 0, &head, sizeof head) && std::memcmp(head.e_ident, ELFMAG, SELFMAG) == 0)
        return is_loaded_by_own_kind(file, head);
    char line[longest_line + 1] = "";
    if (depth == most_interpreters || ::syscall(SYS_pread64, file, line, longest_line, 0) <= 0) return true;
    const char *interpreter = interpreter_in(line);
    const int next = open_file(interpreter ? interpreter : "/bin/sh");
    if (next < 0) return true;
    const bool may = may_load(next, depth + 1);
    ::syscall(SYS_close, next);
    return may;
}

} // namespace

bool may_load_our_libraries(int file) noexcept {
    const errno_kept kept;
    return may_load(file, 0);
}

bool may_load_our_libraries(const char *path) noexcept {
    const errno_kept kept;
    const int file = open_file(path);
    if (file < 0) return true;
    const bool may = may_load(file, 0);
    ::syscall(SYS_close, file);
    return may;
}

bool can_be_loaded(const char *path) noexcept {
    const errno_kept kept;
    const int file = open_file(path);
    if (file < 0) return errno != ENOENT && errno != ENOTDIR && errno != ELOOP && errno != EACCES;
    ::syscall(SYS_close, file);
    return true;
}

} // namespace comity::sys
