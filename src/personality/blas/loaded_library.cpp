#include "personality/blas/loaded_library.hpp"

#include <cstring>

#include <dlfcn.h>

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
    dl_find_object object{};
    if (_dl_find_object(const_cast<void *>(address), &object) == 0) {
        found.map_ = object.dlfo_link_map;
        found.begin_ = reinterpret_cast<std::uintptr_t>(object.dlfo_map_start);
        found.end_ = reinterpret_cast<std::uintptr_t>(object.dlfo_map_end);
    }
    return found;
}

void *loaded_library::symbol(const char *name) const noexcept {
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
            return reinterpret_cast<void *>(map_->l_addr + s.st_value);
        if (h & 1) return nullptr;
    }
}

void *loaded_library::any_symbol(const char *const *names) const noexcept {
    for (; *names; ++names)
        if (void *found = symbol(*names)) return found;
    return nullptr;
}

} // namespace comity::blas
