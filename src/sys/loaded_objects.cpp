#include "sys/loaded_objects.hpp"

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

} // namespace comity::sys
