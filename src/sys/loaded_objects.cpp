#include "sys/loaded_objects.hpp"

#include <dlfcn.h>
#include <link.h>

namespace comity::sys {

address_range object_around(const void *address) noexcept {
    struct search {
        std::uintptr_t address;
        address_range found;
    };
    search s{reinterpret_cast<std::uintptr_t>(address), {}};
    ::dl_iterate_phdr(
        [](dl_phdr_info *object, std::size_t, void *argument) {
            auto *s = static_cast<search *>(argument);
            address_range all{UINTPTR_MAX, 0};
            for (unsigned i = 0; i < object->dlpi_phnum; ++i) {
                const auto &part = object->dlpi_phdr[i];
                if (part.p_type != PT_LOAD) continue;
                const std::uintptr_t begin = object->dlpi_addr + part.p_vaddr, end = begin + part.p_memsz;
                if (begin < all.begin) all.begin = begin;
                if (end > all.end) all.end = end;
            }
            if (!all.contains(s->address)) return 0;
            s->found = all;
            return 1;
        },
        &s);
    return s.found;
}

const void *library_around(const void *address) noexcept {
    dl_find_object found{};
    if (!address || ::_dl_find_object(const_cast<void *>(address), &found) != 0) return nullptr;
    const link_map *object = found.dlfo_link_map;
    return object && object->l_name && *object->l_name ? object : nullptr; // the program's name is empty
}

} // namespace comity::sys
