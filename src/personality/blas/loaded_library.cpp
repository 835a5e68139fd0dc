#include "personality/blas/loaded_library.hpp"

#include "sys/loaded_objects.hpp"
#include "sys/memory.hpp"

namespace comity::blas {

loaded_library loaded_library::at(const void *address) noexcept {
    loaded_library found;
    const sys::loaded_object object = sys::loaded_object_around(address);
    found.map_ = static_cast<const link_map *>(object.map);
    found.begin_ = object.range.begin;
    found.end_ = object.range.end;
    return found;
}

void *loaded_library::symbol(const char *name) const noexcept {
    const ElfW(Sym) *s = sys::definition_in(map_, name);
    return s ? reinterpret_cast<void *>(map_->l_addr + s->st_value) : nullptr;
}

void *loaded_library::redirect(const char *name, const void *function) const noexcept {
    const ElfW(Sym) *s = sys::definition_in(map_, name);
    if (!s) return nullptr;
    void *before = reinterpret_cast<void *>(map_->l_addr + s->st_value);
    const std::uintptr_t value = reinterpret_cast<std::uintptr_t>(function) - map_->l_addr;
    auto *at = reinterpret_cast<std::uintptr_t *>(const_cast<ElfW(Addr) *>(&s->st_value));
    const std::uint32_t flags = sys::segment_flags(at);
    if (flags == 0) return nullptr;
    if (flags & PF_W)
        __atomic_store_n(at, value, __ATOMIC_RELAXED);
    else if (!sys::write_read_only(at, value, flags & PF_X))
        return nullptr;
    return before;
}

void *loaded_library::any_symbol(const char *const *names) const noexcept {
    for (; *names; ++names)
        if (void *found = symbol(*names)) return found;
    return nullptr;
}

} // namespace comity::blas
