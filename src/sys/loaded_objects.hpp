// The program and the libraries of this process, as the dynamic linker has loaded them. Any thread, not in a signal
// handler; never switches.
#pragma once

#include "sys/shared.hpp"

#include <cstddef>
#include <cstdint>

#include <link.h>

namespace comity::sys {

struct address_range {
    std::uintptr_t begin = 0, end = 0;
    bool contains(std::uintptr_t address) const noexcept { return address >= begin && address < end; }
};

// Held around each look at the dynamic linker's list that takes that one's own lock, which glibc does not free in the
// child of a fork; and over a fork, so that no child finds it held by Comity for ever. Not held twice.
void lock_objects() noexcept;
void unlock_objects() noexcept;
// dl_iterate_phdr, with it held.
int visit_headers(int (*visit)(dl_phdr_info *, std::size_t, void *), void *argument) noexcept;

// What the object that contains this address takes of the address space; empty: none does. Takes the dynamic linker's
// lock for a moment.
COMITY_SHARED address_range object_around(const void *address) noexcept;
// The one that the kernel puts into each process (vdso); empty: there is none.
COMITY_SHARED address_range kernels_object() noexcept;

// Does the object that contains this address carry a note by this owner (Go's compiler leaves one by "Go")? Takes the
// dynamic linker's lock for a moment.
COMITY_SHARED bool has_note_by(const char *owner, const void *address) noexcept;

// What the dynamic linker has loaded there, and what that takes of the address space. Its map is a link_map; null:
// nothing. Takes no lock; before glibc 2.35, where the dynamic linker cannot be asked without one, its list is looked
// through, and another thread must not unload anything meanwhile.
struct loaded_object {
    const void *map = nullptr;
    address_range range;
};
COMITY_SHARED loaded_object loaded_object_around(const void *address) noexcept;
// The same by the list alone.
loaded_object loaded_object_in_list(const void *address) noexcept;

// The header of the object's unwind tables (PT_GNU_EH_FRAME); null: there is none, or it cannot be seen. As
// loaded_object_around.
const void *unwind_table_around(const void *address) noexcept;

// How the library's segment that the address is in may be used (PF_W and so on); 0: it is in none, or that cannot be
// seen. As loaded_object_around.
COMITY_SHARED std::uint32_t segment_flags(const void *address) noexcept;

// A symbol that the object with this link_map itself defines, in its default version; null: it does not. Takes no lock.
COMITY_SHARED const ElfW(Sym) * definition_in(const void *map, const char *name) noexcept;

// What dlsym(RTLD_NEXT, name) would find for code in the object that contains `after`, which the program was started
// with: the next definition in the dynamic linker's list. Calls nothing of the C library's that a drop-in replaces; a
// resolver (STT_GNU_IFUNC) without arguments, as glibc's own need none. Null: there is none.
COMITY_SHARED void *next_definition(const char *name, const void *after) noexcept;

// A name for the shared library that contains this address, until it is unloaded; null: the program does, or nothing
// that the dynamic linker has loaded. Takes no lock.
COMITY_SHARED const void *library_around(const void *address) noexcept;

// The file of the shared library that contains this address; "the program" where none does. Until it is unloaded.
COMITY_SHARED const char *file_around(const void *address) noexcept;

// Is a library (library_around) called so, by its file or its DT_SONAME? Does it name such a one among those that it is
// linked with (DT_NEEDED)? Take no lock.
COMITY_SHARED bool is_called(const void *library, bool (*is_such)(const char *name)) noexcept;
COMITY_SHARED bool needs(const void *library, bool (*is_such)(const char *name)) noexcept;

// Does an object (as a library above, or the program) import such a symbol, by its name? Takes no lock.
COMITY_SHARED bool imports(const void *object, bool (*is_such)(const char *name)) noexcept;

// The program's own.
COMITY_SHARED const void *program_object() noexcept;

// Calls visit(object) for the program, then for each loaded library, until that returns true. Has the dynamic linker's
// lock meanwhile.
COMITY_SHARED bool visit_objects(bool (*visit)(const void *object, void *argument), void *argument) noexcept;

// Does a loaded object name such a library among those that it is linked with (DT_NEEDED)? Takes the dynamic linker's
// lock.
COMITY_SHARED bool some_object_needs(bool (*is_such)(const char *library)) noexcept;

// The last object that the dynamic linker has loaded (a link_map), if all were loaded with the program: each is
// `preloaded` (the value of LD_PRELOAD) or needed by one before it. So none of them will be unloaded. Else null, also
// where that cannot be seen. Takes the dynamic linker's lock; loads nothing, and runs no constructor of what has not
// been initialised yet, as dlopen would even with RTLD_NOLOAD.
const void *last_loaded_if_all_came_with_program(const char *preloaded) noexcept;

// Where an instruction is, for people: "function (file+0x1a2b)", without the function where the file does not export
// it; `addr2line -e file 0x1a2b` says more. Terminated and cut like format_text. Takes the dynamic linker's lock.
COMITY_SHARED void describe_code(const void *address, char *buffer, std::size_t size) noexcept;

} // namespace comity::sys
