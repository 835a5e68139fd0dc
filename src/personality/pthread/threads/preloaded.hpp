// Comity's own objects in LD_PRELOAD, for programs that are executed where these cannot be loaded: after a chroot they
// may not be there, and another C library or machine has no use for them. The dynamic linker there would say a line for
// each, or refuse to start the program.
#pragma once

#include <cstddef>

namespace comity::posix {

// Looks at an environment and at the program that is to have it, of which one of `path` and `file` tells (null, -1).
// In the child of a fork or a vfork, too.
class preloads_for {
public:
    preloads_for(const char *path, int file, char *const environment[]) noexcept;

    bool are_changed() const noexcept { return is_changed_; }
    // Room for what write makes: the environment with a variable that has none of what cannot be loaded, or without it.
    std::size_t pointers() const noexcept { return variables_ + 1; }
    std::size_t bytes() const noexcept { return bytes_; }
    void write(char **environment, char *text) const noexcept;
    // The variable alone; null: nothing is left of it.
    const char *value(char *text) const noexcept;

private:
    bool is_kept(const char *entry, std::size_t length) const noexcept;

    char *const *environment_;
    const char *variable_ = nullptr; // NAME=VALUE
    std::size_t variables_ = 0, bytes_ = 0;
    bool loads_ours_ = true, is_changed_ = false;
};

// The file that a name without a folder means, as execvp finds it; `name` itself if it has one, or nothing is found.
const char *in_path(const char *name, char *room, std::size_t size) noexcept;

} // namespace comity::posix
