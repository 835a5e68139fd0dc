// What stacks are made of, for memory.cpp and stack_pool.cpp: address space, and guards. errno may change.
#pragma once

#include "sys/memory.hpp"

namespace comity::sys {

// Address space for stacks: takes no memory before it is touched, and then no more than a page at a time. nullptr when
// the kernel gives none.
std::byte *map_stack_area(std::size_t size) noexcept;
void unmap_stack_area(std::byte *at, std::size_t size) noexcept;

// Whole pages of guard below a stack of `size` bytes: a quarter of it, and 16 pages at most, for large frames jump over
// a small guard.
std::size_t guard_size(std::size_t size) noexcept;

// Makes [at, at + size), whole pages, fault when it is touched. guard_kind::none when the kernel's limit of mappings is
// near. `for_group`: many stacks share this guard; part of the limit is kept for such guards.
guard_kind install_guard(void *at, std::size_t size, bool for_group) noexcept;
// So many guards of the kind guard_kind::mapping were unmapped.
void forget_mapping_guards(std::int64_t count) noexcept;

// Says once that stacks have no guard of their own any more; `what` is what they have instead.
void warn_of_missing_guards(const char *what) noexcept;

// For tests: is MADV_GUARD_INSTALL to be tried, and how many guards may be mappings (negative: as the kernel's limit
// allows)? Also forgets what was found out and said before. While no other thread uses the functions above.
void set_guard_limits(bool light, std::int64_t mappings) noexcept;
// For tests: of the next calls of map_stack_area those from the `first` on (0: the next one) fail, `count` of them.
void fail_stack_areas(std::int64_t first, std::int64_t count) noexcept;

} // namespace comity::sys
