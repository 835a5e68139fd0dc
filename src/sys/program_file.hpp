// What will load a program that is about to be executed, told from its file. By raw system calls and without memory of
// the heap, so that it may be asked in the child of a fork or a vfork, too.
#pragma once

#include "sys/shared.hpp"

namespace comity::sys {

// Could its dynamic linker load this process' own libraries? Not if the program is built for another machine or with
// another C library than glibc; of a script its interpreter is asked. What cannot be read, or is linked statically,
// counts as one that could.
COMITY_SHARED bool may_load_our_libraries(const char *path) noexcept;
COMITY_SHARED bool may_load_our_libraries(int file) noexcept;

// Can the dynamic linker open this file, as far as its folders and rights tell? What a sandbox refuses counts as yes.
COMITY_SHARED bool can_be_loaded(const char *path) noexcept;

} // namespace comity::sys
