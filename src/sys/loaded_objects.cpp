#include "sys/loaded_objects.hpp"

#include <cstddef>
#include <cstring>
#include <dlfcn.h>
#include <link.h>

#include "sys/message.hpp"

namespace comity::sys {

namespace {

address_range range_of(const dl_phdr_info &object) noexcept {
    address_range all{UINTPTR_MAX, 0};
    for (unsigned i = 0; i < object.dlpi_phnum; ++i) {
        const auto &part = object.dlpi_phdr[i];
        if (part.p_type != PT_LOAD) continue;
        const std::uintptr_t begin = object.dlpi_addr + part.p_vaddr, end = begin + part.p_memsz;
        if (begin < all.begin) all.begin = begin;
        if (end > all.end) all.end = end;
    }
    return all;
}

// f(object) is called with the object that contains the address, if one does.
template <class F> void with_object_around(const void *address, F f) noexcept {
    struct search {
        std::uintptr_t address;
        F &f;
    };
    search s{reinterpret_cast<std::uintptr_t>(address), f};
    ::dl_iterate_phdr(
        [](dl_phdr_info *object, std::size_t, void *argument) {
            auto *s = static_cast<search *>(argument);
            if (!range_of(*object).contains(s->address)) return 0;
            s->f(*object);
            return 1;
        },
        &s);
}

// The notes of one segment, one after the other, each part filled up to a multiple of four bytes.
bool has_note_by(const char *owner, const std::byte *notes, std::size_t size) noexcept {
    const auto filled = [](std::size_t n) { return (n + 3) & ~std::size_t{3}; };
    const std::size_t length = std::strlen(owner) + 1;
    for (ElfW(Nhdr) head; size >= sizeof head;) {
        std::memcpy(&head, notes, sizeof head);
        const std::size_t all = sizeof head + filled(head.n_namesz) + filled(head.n_descsz);
        if (all > size) return false;
        if (head.n_namesz >= length && std::memcmp(notes + sizeof head, owner, length) == 0) return true;
        notes += all;
        size -= all;
    }
    return false;
}

} // namespace

address_range object_around(const void *address) noexcept {
    address_range found;
    with_object_around(address, [&found](const dl_phdr_info &object) { found = range_of(object); });
    return found;
}

bool has_note_by(const char *owner, const void *address) noexcept {
    bool found = false;
    with_object_around(address, [&](const dl_phdr_info &object) {
        for (unsigned i = 0; i < object.dlpi_phnum && !found; ++i) {
            const auto &part = object.dlpi_phdr[i];
            if (part.p_type == PT_NOTE)
                found = has_note_by(owner, reinterpret_cast<const std::byte *>(object.dlpi_addr + part.p_vaddr),
                                    part.p_memsz);
        }
    });
    return found;
}

const void *library_around(const void *address) noexcept {
    dl_find_object found{};
    if (!address || ::_dl_find_object(const_cast<void *>(address), &found) != 0) return nullptr;
    const link_map *object = found.dlfo_link_map;
    return object && object->l_name && *object->l_name ? object : nullptr; // the program's name is empty
}

const char *file_around(const void *address) noexcept {
    const auto *object = static_cast<const link_map *>(library_around(address));
    return object ? object->l_name : "the program";
}

bool some_object_needs(bool (*is_such)(const char *library)) noexcept {
    return ::dl_iterate_phdr(
               [](dl_phdr_info *object, std::size_t, void *argument) {
                   const auto is_such = reinterpret_cast<bool (*)(const char *)>(argument);
                   for (unsigned i = 0; i < object->dlpi_phnum; ++i) {
                       if (object->dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
                       const auto *entries =
                           reinterpret_cast<const ElfW(Dyn) *>(object->dlpi_addr + object->dlpi_phdr[i].p_vaddr);
                       std::uintptr_t names = 0;
                       for (const auto *e = entries; e->d_tag != DT_NULL; ++e)
                           if (e->d_tag == DT_STRTAB) names = e->d_un.d_ptr;
                       if (names < object->dlpi_addr)
                           names += object->dlpi_addr; // the kernel's own object is not relocated
                       for (const auto *e = entries; names && e->d_tag != DT_NULL; ++e)
                           if (e->d_tag == DT_NEEDED && is_such(reinterpret_cast<const char *>(names + e->d_un.d_val)))
                               return 1;
                   }
                   return 0;
               },
               reinterpret_cast<void *>(is_such)) != 0;
}

void describe_code(const void *address, char *buffer, std::size_t size) noexcept {
    Dl_info found{};
    void *object = nullptr;
    if (!::dladdr1(address, &found, &object, RTLD_DL_LINKMAP) || !found.dli_fname || !object) {
        format_text(buffer, size, "%p", address);
        return;
    }
    const char *slash = std::strrchr(found.dli_fname, '/');
    const char *file = slash ? slash + 1 : found.dli_fname;
    // As the file counts its addresses, which is what tools take: a program that is not position-independent has none
    // that is moved.
    const void *offset = static_cast<const char *>(address) - static_cast<link_map *>(object)->l_addr;
    if (found.dli_sname)
        format_text(buffer, size, "%s (%s+%p)", found.dli_sname, file, offset);
    else
        format_text(buffer, size, "%s+%p", file, offset);
}

} // namespace comity::sys
