#include "sys/loaded_objects.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string_view>

#include <dlfcn.h>
#include <link.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include "sys/errno_kept.hpp"
#include "sys/message.hpp"
#include "sys/spinlock.hpp"

namespace comity::sys {

namespace {

spinlock visiting;

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
    visit_headers(
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

// Is there an entry of this kind (DT_NEEDED, DT_SONAME) whose name is such a one?
template <class Is_such>
bool some_name(const ElfW(Dyn) * entries, std::uintptr_t base, decltype(ElfW(Dyn)::d_tag) kind, Is_such is_such) {
    std::uintptr_t names = 0;
    for (const auto *e = entries; e->d_tag != DT_NULL; ++e)
        if (e->d_tag == DT_STRTAB) names = e->d_un.d_ptr;
    if (names && names < base) names += base; // the kernel's own object is not relocated
    for (const auto *e = entries; names && e->d_tag != DT_NULL; ++e)
        if (e->d_tag == kind && is_such(reinterpret_cast<const char *>(names + e->d_un.d_val))) return true;
    return false;
}

std::string_view file_name(std::string_view path) noexcept { return path.substr(path.rfind('/') + 1); }

bool is_called(const link_map *m, std::string_view name) noexcept {
    return file_name(name) == file_name(m->l_name) ||
           some_name(m->l_ld, m->l_addr, DT_SONAME, [name](const char *own) { return name == own; });
}

// The first of the list with this name: what serves those that need it. One with the same name that is loaded later, by
// its path, is somebody's own.
bool is_first_called(const link_map *first, const link_map *m, std::string_view name) noexcept {
    if (!is_called(m, name)) return false;
    for (; first != m; first = first->l_next)
        if (is_called(first, name)) return false;
    return true;
}

// `list`: as LD_PRELOAD.
bool is_in(std::string_view list, const link_map *first, const link_map *m) noexcept {
    constexpr std::string_view between = " :";
    for (std::size_t from = 0; (from = list.find_first_not_of(between, from)) < list.size();) {
        const std::size_t to = std::min(list.find_first_of(between, from), list.size());
        if (is_first_called(first, m, list.substr(from, to - from))) return true;
        from = to;
    }
    return false;
}

// The kernel's own object, which nobody names, too.
bool is_needed_before(const link_map *first, const link_map *m) noexcept {
    const auto is_it = [first, m](const char *needed) { return is_first_called(first, m, needed); };
    if (std::string_view(m->l_name).starts_with("linux-vdso")) return true;
    for (const link_map *by = first; by != m; by = by->l_next)
        if (some_name(by->l_ld, by->l_addr, DT_NEEDED, is_it)) return true;
    return false;
}

} // namespace

void lock_objects() noexcept { visiting.lock(); }
void unlock_objects() noexcept { visiting.unlock(); }

int visit_headers(int (*visit)(dl_phdr_info *, std::size_t, void *), void *argument) noexcept {
    lock_objects();
    const int result = ::dl_iterate_phdr(visit, argument);
    unlock_objects();
    return result;
}

address_range object_around(const void *address) noexcept {
    address_range found;
    with_object_around(address, [&found](const dl_phdr_info &object) { found = range_of(object); });
    return found;
}

address_range kernels_object() noexcept {
    return object_around(reinterpret_cast<const void *>(::getauxval(AT_SYSINFO_EHDR)));
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

namespace {

struct symbol_tables {
    const ElfW(Sym) *symbols = nullptr;
    const char *names = nullptr;
    const std::uint32_t *hash = nullptr;  // DT_GNU_HASH
    const ElfW(Half) *versions = nullptr; // DT_VERSYM
};

// glibc relocates these entries in place; elsewhere they may be offsets.
std::uintptr_t address_in(const link_map &m, std::uintptr_t entry) noexcept {
    return entry < m.l_addr ? entry + m.l_addr : entry;
}

symbol_tables tables_of(const link_map &m) noexcept {
    symbol_tables t;
    for (const auto *d = m.l_ld; d->d_tag != DT_NULL; ++d) {
        const std::uintptr_t at = address_in(m, d->d_un.d_ptr);
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
        case DT_VERSYM:
            t.versions = reinterpret_cast<const ElfW(Half) *>(at);
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

const ElfW(Sym) * definition_in(const void *map, const char *name) noexcept {
    constexpr ElfW(Half) hidden = 0x8000; // not the default version
    const symbol_tables t = tables_of(*static_cast<const link_map *>(map));
    if (!t.symbols || !t.names || !t.hash) return nullptr;
    const std::uint32_t buckets = t.hash[0], first = t.hash[1], blooms = t.hash[2];
    const std::uint32_t *bucket =
        t.hash + 4 + blooms * (sizeof(ElfW(Addr)) / sizeof(std::uint32_t)); // the filter is skipped: this is rare
    const std::uint32_t *chain = bucket + buckets;
    const std::uint32_t wanted = gnu_hash(name);
    std::uint32_t i = buckets ? bucket[wanted % buckets] : 0;
    if (i < first) return nullptr;
    for (;; ++i) {
        const std::uint32_t h = chain[i - first];
        const ElfW(Sym) &s = t.symbols[i];
        if ((h | 1) == (wanted | 1) && s.st_shndx != SHN_UNDEF && !(t.versions && t.versions[i] & hidden) &&
            std::strcmp(t.names + s.st_name, name) == 0)
            return &s;
        if (h & 1) return nullptr;
    }
}

void *next_definition(const char *name, const void *after) noexcept {
    const auto *m = static_cast<const link_map *>(loaded_object_around(after).map);
    for (m = m ? m->l_next : nullptr; m; m = m->l_next) {
        const ElfW(Sym) *s = definition_in(m, name);
        if (!s) continue;
        auto *at = reinterpret_cast<void *>(m->l_addr + s->st_value);
        const bool chooses = (s->st_info & 0xf) == STT_GNU_IFUNC; // ELF64_ST_TYPE
        return chooses ? reinterpret_cast<void *(*)()>(at)() : at;
    }
    return nullptr;
}

namespace {

// Those of an object that is mapped from its file's beginning, with the headers in the first page; none: it is not.
struct program_headers {
    const ElfW(Phdr) *first = nullptr;
    ElfW(Half) number = 0;
};

program_headers headers_at(std::uintptr_t begin) noexcept {
    constexpr std::size_t page = 4096;
    unsigned char is_there = 0;
    if (begin == 0 || begin % page != 0 || ::mincore(reinterpret_cast<void *>(begin), page, &is_there) != 0) return {};
    const auto *header = reinterpret_cast<const ElfW(Ehdr) *>(begin);
    if (std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
        header->e_phoff + header->e_phnum * sizeof(ElfW(Phdr)) > page)
        return {};
    return {reinterpret_cast<const ElfW(Phdr) *>(begin + header->e_phoff), header->e_phnum};
}

} // namespace

std::uint32_t segment_flags(const void *address) noexcept {
    const errno_kept kept;
    const loaded_object object = loaded_object_around(address);
    if (!object.map) return 0;
    const auto at = reinterpret_cast<std::uintptr_t>(address) - static_cast<const link_map *>(object.map)->l_addr;
    const program_headers headers = headers_at(object.range.begin);
    for (unsigned i = 0; i < headers.number; ++i)
        if (const auto &part = headers.first[i]; part.p_type == PT_LOAD && at - part.p_vaddr < part.p_memsz)
            return part.p_flags;
    return 0;
}

const void *unwind_table_around(const void *address) noexcept {
#ifdef DLFO_STRUCT_HAS_EH_DBASE
    dl_find_object found{};
    return ::_dl_find_object(const_cast<void *>(address), &found) == 0 ? found.dlfo_eh_frame : nullptr;
#else
    const loaded_object object = loaded_object_in_list(address);
    const program_headers headers = headers_at(object.range.begin);
    for (unsigned i = 0; object.map && i < headers.number; ++i)
        if (const auto &part = headers.first[i]; part.p_type == PT_GNU_EH_FRAME)
            return reinterpret_cast<const void *>(static_cast<const link_map *>(object.map)->l_addr + part.p_vaddr);
    return nullptr;
#endif
}

// The headers of an object are at its beginning, but the program's may be anywhere.
loaded_object loaded_object_in_list(const void *address) noexcept {
    const errno_kept kept;
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    for (const link_map *m = ::_r_debug.r_map; m; m = m->l_next) {
        dl_phdr_info object{};
        object.dlpi_addr = m->l_addr;
        if (m == ::_r_debug.r_map) {
            object.dlpi_phdr = reinterpret_cast<const ElfW(Phdr) *>(::getauxval(AT_PHDR));
            object.dlpi_phnum = static_cast<ElfW(Half)>(::getauxval(AT_PHNUM));
        } else if (m->l_addr <= at) {
            const program_headers headers = headers_at(m->l_addr);
            object.dlpi_phdr = headers.first;
            object.dlpi_phnum = headers.number;
        }
        if (const address_range range = range_of(object); range.contains(at)) return {m, range};
    }
    return {};
}

loaded_object loaded_object_around(const void *address) noexcept {
    if (!address) return {};
#ifdef DLFO_STRUCT_HAS_EH_DBASE
    dl_find_object found{};
    if (::_dl_find_object(const_cast<void *>(address), &found) != 0) return {};
    return {
        found.dlfo_link_map,
        {reinterpret_cast<std::uintptr_t>(found.dlfo_map_start), reinterpret_cast<std::uintptr_t>(found.dlfo_map_end)}};
#else
    return loaded_object_in_list(address);
#endif
}

const void *library_around(const void *address) noexcept {
    const auto *object = static_cast<const link_map *>(loaded_object_around(address).map);
    return object && object->l_name && *object->l_name ? object : nullptr; // the program's name is empty
}

const char *file_around(const void *address) noexcept {
    const auto *object = static_cast<const link_map *>(library_around(address));
    return object ? object->l_name : "the program";
}

bool is_called(const void *library, bool (*is_such)(const char *name)) noexcept {
    const auto *m = static_cast<const link_map *>(library);
    return is_such(file_name(m->l_name).data()) || some_name(m->l_ld, m->l_addr, DT_SONAME, is_such);
}

bool needs(const void *library, bool (*is_such)(const char *name)) noexcept {
    const auto *m = static_cast<const link_map *>(library);
    return some_name(m->l_ld, m->l_addr, DT_NEEDED, is_such);
}

// By its relocations: the tables of symbols do not say how long they are where nothing is exported.
bool imports(const void *object, bool (*is_such)(const char *name)) noexcept {
    const auto &m = *static_cast<const link_map *>(object);
    const symbol_tables t = tables_of(m);
    if (!t.symbols || !t.names) return false;
    const auto entry = [&m](decltype(ElfW(Dyn)::d_tag) tag) -> std::uintptr_t {
        for (const auto *d = m.l_ld; d->d_tag != DT_NULL; ++d)
            if (d->d_tag == tag) return d->d_un.d_val;
        return 0;
    };
    const auto table_at = [&](decltype(ElfW(Dyn)::d_tag) tag) {
        const std::uintptr_t at = entry(tag);
        return reinterpret_cast<const ElfW(Rela) *>(at != 0 ? address_in(m, at) : 0);
    };
    const struct {
        const ElfW(Rela) * first;
        std::size_t bytes, without_symbols;
    } calls{table_at(DT_JMPREL), entry(DT_PLTRELSZ), 0},
        others{table_at(DT_RELA), entry(DT_RELASZ), entry(DT_RELACOUNT)};
    for (const auto &r : {calls, others})
        for (std::size_t i = r.without_symbols; r.first && i < r.bytes / sizeof *r.first; ++i) {
            const ElfW(Sym) &s = t.symbols[r.first[i].r_info >> 32]; // ELF64_R_SYM
            if (s.st_shndx == SHN_UNDEF && s.st_name != 0 && is_such(t.names + s.st_name)) return true;
        }
    return false;
}

const void *program_object() noexcept { return _r_debug.r_map; }

bool visit_objects(bool (*visit)(const void *object, void *argument), void *argument) noexcept {
    struct visit_all {
        bool (*visit)(const void *, void *);
        void *argument;
    } all{visit, argument};
    return visit_headers( // for its lock
               [](dl_phdr_info *, std::size_t, void *argument) {
                   const auto &all = *static_cast<const visit_all *>(argument);
                   for (const link_map *m = _r_debug.r_map; m; m = m->l_next)
                       if (all.visit(m, all.argument)) return 2;
                   return 1;
               },
               &all) == 2;
}

bool some_object_needs(bool (*is_such)(const char *library)) noexcept {
    return visit_objects(
        [](const void *object, void *argument) {
            return needs(object, reinterpret_cast<bool (*)(const char *)>(argument));
        },
        reinterpret_cast<void *>(is_such));
}

const void *last_loaded_if_all_came_with_program(const char *preloaded) noexcept {
    struct search {
        const char *preloaded;
        const link_map *last;
    } s{preloaded, nullptr};
    visit_headers( // for its lock
        [](dl_phdr_info *, std::size_t, void *argument) {
            auto &s = *static_cast<search *>(argument);
            const link_map *const program = _r_debug.r_map;
            for (const link_map *m = program; m; s.last = m, m = m->l_next)
                if (m != program && !is_in(s.preloaded, program, m) && !is_needed_before(program, m)) {
                    s.last = nullptr;
                    break;
                }
            return 1;
        },
        &s);
    return s.last;
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
