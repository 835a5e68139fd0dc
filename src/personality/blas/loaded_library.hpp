// The libraries of this process, found without the dynamic linker's lock: pthread_create asks for its caller's library
// while any thread may hold that lock and wait for the new thread. Any thread, also before constructors have run;
// nothing here allocates or switches.
#pragma once

#include <cstdint>

#include <link.h>

namespace comity::blas {

class loaded_library {
public:
    // The library whose mapping contains the address; its validity is false when there is none.
    static loaded_library at(const void *address) noexcept;

    explicit operator bool() const noexcept { return map_ != nullptr; }
    // The address of a symbol that the library itself defines; nullptr when it does not.
    void *symbol(const char *name) const noexcept;
    // The first one of a list of names, closed by nullptr.
    void *any_symbol(const char *const *names) const noexcept;
    // Whoever looks the symbol up from now on, by dlsym or as the dynamic linker binds a call, finds `function`: in the
    // library's own table, of which the process has a copy. Returns the address that it had; nullptr: nothing happened.
    void *redirect(const char *name, const void *function) const noexcept;
    // As the dynamic linker has it; "" for the program itself.
    const char *path() const noexcept { return map_->l_name ? map_->l_name : ""; }
    bool contains(const void *address) const noexcept {
        const auto a = reinterpret_cast<std::uintptr_t>(address);
        return a >= begin_ && a < end_;
    }

    std::uintptr_t begin() const noexcept { return begin_; }
    std::uintptr_t end() const noexcept { return end_; }

private:
    const link_map *map_ = nullptr;
    std::uintptr_t begin_ = 0, end_ = 0;
};

} // namespace comity::blas
