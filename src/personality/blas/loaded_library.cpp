#include "personality/blas/loaded_library.hpp"

#include "sys/loaded_objects.hpp"
#include "sys/memory.hpp"

#include <cstring>

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

// PF_W and so on; 0: the address is in none.
std::uint32_t loaded_library::flags_of_segment(std::uintptr_t address) const noexcept {
    const auto *header = reinterpret_cast<const ElfW(Ehdr) *>(begin_);
    constexpr std::size_t surely_mapped = 4096;
    if (std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
        header->e_phoff + header->e_phnum * sizeof(ElfW(Phdr)) > surely_mapped)
        return 0;
    const auto *segment = reinterpret_cast<const ElfW(Phdr) *>(begin_ + header->e_phoff);
    for (unsigned i = 0; i < header->e_phnum; ++i)
        if (segment[i].p_type == PT_LOAD && address - map_->l_addr - segment[i].p_vaddr < segment[i].p_memsz)
            return segment[i].p_flags;
    return 0;
}

void *loaded_library::redirect(const char *name, const void *function) const noexcept {
    const ElfW(Sym) *s = sys::definition_in(map_, name);
    if (!s) return nullptr;
    void *before = reinterpret_cast<void *>(map_->l_addr + s->st_value);
    const std::uintptr_t value = reinterpret_cast<std::uintptr_t>(function) - map_->l_addr;
    auto *at = reinterpret_cast<std::uintptr_t *>(const_cast<ElfW(Addr) *>(&s->st_value));
    const std::uint32_t flags = flags_of_segment(reinterpret_cast<std::uintptr_t>(at));
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
