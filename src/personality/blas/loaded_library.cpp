#include "personality/blas/loaded_library.hpp"

#include "sys/loaded_objects.hpp"
#include "sys/memory.hpp"

#include <cstring>

namespace comity::blas {
namespace {

struct tables {
    const ElfW(Sym) *symbols = nullptr;
    const char *names = nullptr;
    const std::uint32_t *hash = nullptr; // DT_GNU_HASH
};

tables tables_of(const link_map *map) noexcept {
    tables t;
    for (const ElfW(Dyn) *d = map->l_ld; d && d->d_tag != DT_NULL; ++d) {
        // glibc relocates these entries in place; elsewhere they may be offsets.
        std::uintptr_t at = d->d_un.d_ptr;
        if (at < map->l_addr) at += map->l_addr;
        switch (d->d_tag) {
        case DT_SYMTAB:
            t.symbols = reinterpret_cast<const ElfW(Sym) *>(at);
            break;
        case DT_STRTAB:
            t.names = reinterpret_cast<const char *>(at);
            break;
        case DT_GNU_HASH:
            t.hash = reinterpret_cast<const std::uint32_t *>(at);
            break;
        default:
            break;
        }
    }
    return t;
}

std::uint32_t gnu_hash(const char *name) noexcept {
    std::uint32_t h = 5381;
    for (; *name; ++name) h = h * 33 + static_cast<unsigned char>(*name);
    return h;
}

} // namespace

loaded_library loaded_library::at(const void *address) noexcept {
    loaded_library found;
    const sys::loaded_object object = sys::loaded_object_around(address);
    found.map_ = static_cast<const link_map *>(object.map);
    found.begin_ = object.range.begin;
    found.end_ = object.range.end;
    return found;
}

const ElfW(Sym) * loaded_library::entry(const char *name) const noexcept {
    const tables t = tables_of(map_);
    if (!t.symbols || !t.names || !t.hash) return nullptr;
    const std::uint32_t buckets = t.hash[0], first = t.hash[1], blooms = t.hash[2];
    const auto *bucket =
        t.hash + 4 + blooms * (sizeof(ElfW(Addr)) / sizeof(std::uint32_t)); // the filter is skipped: this is rare
    const std::uint32_t *chain = bucket + buckets;
    const std::uint32_t wanted = gnu_hash(name);
    std::uint32_t i = buckets ? bucket[wanted % buckets] : 0;
    if (i < first) return nullptr;
    for (;; ++i) {
        const std::uint32_t h = chain[i - first];
        const ElfW(Sym) &s = t.symbols[i];
        if ((h | 1) == (wanted | 1) && s.st_shndx != SHN_UNDEF && std::strcmp(t.names + s.st_name, name) == 0)
            return &s;
        if (h & 1) return nullptr;
    }
}

void *loaded_library::symbol(const char *name) const noexcept {
    const ElfW(Sym) *s = entry(name);
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
    const ElfW(Sym) *s = entry(name);
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
