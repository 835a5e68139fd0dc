// Stacks by size classes, out of slabs: one system call gets the address space of many, and a stack that was given back
// serves the next who asks. Any thread, not in a signal handler; nothing switches; errno is kept. Policy: README.md,
// "Stacks".
#pragma once

#include "sys/memory.hpp"

#include <cstddef>
#include <cstdint>

namespace comity::sys {

// Stacks of at most this size are *small*: two share a page, they have no guard but a word at the bottom (the canary)
// that an overflow changes.
inline constexpr std::size_t small_stack_size = 2048;

// Stacks of at least `size` bytes each (not 0), at most n; returns how many there are in out[0..]: fewer only when the
// memory is exhausted, or the size is absurd. Contents are undefined. Sizes are rounded up: to small_stack_size, then
// to a page times a power of two; beyond 64 MiB (with pages of 4 KiB) to pages, and these are mapped one by one.
unsigned take_stacks(std::size_t size, stack_memory *out, unsigned n) noexcept;

// Takes back what take_stacks gave; they must not be in use. Each becomes empty. Needs under 1 KiB of stack itself.
void give_back_stacks(stack_memory *stacks, unsigned n) noexcept;

// Where a context should begin on the stack, 64-byte aligned: not at the same place of a page as on the next one, since
// the caches' sets are chosen by that. At least the size that was asked for lies below.
std::byte *coloured_top(const stack_memory &stack) noexcept;

// Has a small stack not overflowed so far? True for all others.
bool canary_intact(const stack_memory &stack) noexcept;

// What take_stacks would round a size up to, for caches; 0: not pooled, or absurd.
std::size_t pooled_stack_size(std::size_t size) noexcept;

// Gives all address space back in which no stack is in use. Was there any? Costs much; done when a mapping fails.
bool unmap_free_stacks() noexcept;

// Gives the memory of many free stacks back now instead of after a while: the program has done with its threads.
void cool_free_stacks() noexcept;
// Gives back what nobody has needed since the last call: the memory of so many free stacks, and the address space of
// those that lie together, but for some of each size. To be called now and then. True: free stacks still have memory.
bool free_unneeded_stacks() noexcept;
// For tests: how long many free stacks keep their memory, instead of a second.
void set_stack_patience(std::int64_t ns) noexcept;

// In fork handlers. Stacks that another thread was just taking or giving back are lost to the child.
void stack_pool_before_fork() noexcept;
void stack_pool_after_fork() noexcept; // in both processes

// For tests: what the class of a size holds.
struct stack_pool_state {
    std::size_t slabs = 0, in_use = 0;
    std::size_t warm = 0; // free, still with the memory that was touched
    std::size_t cold = 0; // free, their memory given back to the kernel
};
stack_pool_state get_stack_pool_state(std::size_t size) noexcept;

} // namespace comity::sys
