#include "personality/pthread/threads/preloaded.hpp"

#include "sys/loaded_objects.hpp"
#include "sys/program_file.hpp"

#include <climits>
#include <cstdlib>
#include <cstring>

#include <unistd.h>

namespace comity::posix {

namespace {

constexpr char name[] = "LD_PRELOAD=";
constexpr const char *separators = ": ";

// Of this object, to the last slash and with it; found when it is loaded, since later the dynamic linker's list may not
// be looked at (the child of a vfork).
char own_folder[PATH_MAX];
std::size_t own_folder_length = 0;
[[gnu::constructor]] void find_own_folder() noexcept {
    const char *file = sys::file_around(reinterpret_cast<const void *>(&in_path));
    const char *slash = file ? std::strrchr(file, '/') : nullptr;
    const std::size_t length = slash ? static_cast<std::size_t>(slash - file) + 1 : 0;
    if (length >= sizeof own_folder) return;
    std::memcpy(own_folder, file, length);
    own_folder_length = length;
}

// visit(entry, length) for each object that the variable names.
template <class Visit> void visit_entries(const char *variable, Visit visit) noexcept {
    for (const char *at = variable + sizeof name - 1; *at;) {
        const std::size_t length = std::strcspn(at, separators);
        if (length != 0) visit(at, length);
        at += length;
        at += std::strspn(at, separators);
    }
}

} // namespace

bool preloads_for::is_kept(const char *entry, std::size_t length) const noexcept {
    if (own_folder_length == 0 || std::strncmp(entry, own_folder, own_folder_length) != 0) return true;
    char path[PATH_MAX];
    if (length >= sizeof path) return true;
    std::memcpy(path, entry, length);
    path[length] = '\0';
    return loads_ours_ && sys::can_be_loaded(path);
}

preloads_for::preloads_for(const char *path, int file, char *const environment[]) noexcept : environment_(environment) {
    for (; environment && environment[variables_]; ++variables_)
        if (std::strncmp(environment[variables_], name, sizeof name - 1) == 0) variable_ = environment[variables_];
    if (!variable_) return;
    bytes_ = std::strlen(variable_) + 1;
    loads_ours_ = path ? sys::may_load_our_libraries(path) : sys::may_load_our_libraries(file);
    visit_entries(variable_,
                  [this](const char *entry, std::size_t n) { is_changed_ = is_changed_ || !is_kept(entry, n); });
}

const char *preloads_for::value(char *text) const noexcept {
    std::memcpy(text, name, sizeof name - 1);
    char *to = text + sizeof name - 1;
    const char *const begin = to;
    visit_entries(variable_, [&](const char *entry, std::size_t length) {
        if (!is_kept(entry, length)) return;
        if (to != begin) *to++ = ':';
        std::memcpy(to, entry, length);
        to += length;
    });
    *to = '\0';
    return to == begin ? nullptr : begin;
}

void preloads_for::write(char **environment, char *text) const noexcept {
    const bool is_left = value(text);
    for (std::size_t i = 0; i < variables_; ++i)
        if (environment_[i] != variable_)
            *environment++ = environment_[i];
        else if (is_left)
            *environment++ = text;
    *environment = nullptr;
}

const char *in_path(const char *file, char *room, std::size_t size) noexcept {
    if (!file || std::strchr(file, '/')) return file;
    const char *at = ::getenv("PATH");
    if (!at) at = "/bin:/usr/bin";
    for (;; ++at) {
        const std::size_t length = std::strcspn(at, ":");
        if (length + std::strlen(file) + 2 <= size) {
            std::memcpy(room, at, length);
            room[length] = '/';
            std::strcpy(room + (length ? length + 1 : 0), file);
            if (::access(room, X_OK) == 0) return room;
        }
        at += length;
        if (!*at) return file;
    }
}

} // namespace comity::posix
