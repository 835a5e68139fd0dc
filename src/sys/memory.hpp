// Memory from the kernel: pages, and stacks with guard pages. Any thread, not in a signal handler (which may have
// interrupted one of these); nothing switches; errno is kept.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sys/shared.hpp"

namespace comity::sys {

std::size_t page_size() noexcept;
// Of the machine, in bytes.
std::size_t physical_memory() noexcept;

// What the process may map in all (`ulimit -v`), or of it to write to (`ulimit -d`), in bytes; SIZE_MAX: there is no
// limit.
COMITY_SHARED std::size_t address_space_limit() noexcept;
// Where there is a limit: an eighth of it at most goes to the C library's arenas, of which each kernel thread that
// allocates takes 64 MiB of addresses, harts and those that lend their storage included.
void spare_address_space() noexcept;

// `size` bytes, rounded up to pages, of zeroed memory that takes no physical memory before it is touched; nullptr when
// the kernel gives none.
COMITY_SHARED void *map_pages(std::size_t size) noexcept;
// Would the kernel give as much now?
bool can_map(std::size_t size) noexcept;
// Gives back [address, address + size) as map_pages made it, or whole pages of it.
void unmap_pages(void *address, std::size_t size) noexcept;
// Drops the contents of whole pages: they read as zero afterwards, and their physical memory is free. For caches.
void discard_pages(void *address, std::size_t size) noexcept;

// Writes a word of a page that a library was mapped to, and that may only be read, and executed if `executes`, as it
// may be again afterwards. False: the kernel does not let it be written.
COMITY_SHARED bool write_read_only(std::uintptr_t *word, std::uintptr_t value, bool executes) noexcept;

// How an overflow of a stack is caught.
enum class guard_kind : std::uint8_t {
    none,    // not at all: the kernel's limit of mappings (vm.max_map_count) is near
    light,   // MADV_GUARD_INSTALL (Linux 6.13): costs no mapping, so that a million guarded stacks fit
    mapping, // PROT_NONE pages, two mappings a stack
    group,   // by the guard below a group of stacks, after it has run through those that lie lower
    canary,  // late, by a word at the bottom that it changes: small stacks, which share their pages
};

// The kernel says that the aligned word of 8 bytes at `address` can be read. False also where a sandbox refuses the
// question. Callable in a signal handler.
COMITY_SHARED bool is_readable(const void *address) noexcept;

// A stack grows down from `top` and may use [bottom, top). [guard(), bottom) faults when it is touched.
struct stack_memory {
    std::byte *bottom = nullptr;
    std::byte *top = nullptr;
    std::uint32_t guard_size = 0; // bytes
    std::uint16_t slab = 0;       // where it comes from: stack_pool.hpp; 0: a mapping of its own
    guard_kind kind = guard_kind::none;

    explicit operator bool() const noexcept { return top != nullptr; }
    std::byte *guard() const noexcept { return bottom - guard_size; }
    std::size_t size() const noexcept { return static_cast<std::size_t>(top - bottom); }
    // For the handler of SIGSEGV: does the address lie in the guard? Callable there.
    bool overflowed_at(const void *address) const noexcept { return address >= guard() && address < bottom; }
};

// A stack in a mapping of its own, of at least `size` bytes (rounded up to pages; not 0), page aligned, untouched. An
// empty stack_memory when there is no memory. When guards would exhaust the kernel's mappings the stack comes without
// one, and the first such stack prints a warning. The guard has a quarter of the stack's size, at least one page and at
// most 16: frames that are larger jump over it.
COMITY_SHARED stack_memory map_stack(std::size_t size) noexcept;
// Of either kind, from here or from the pool (stack_pool.hpp). The stack must not be in use. It becomes empty.
COMITY_SHARED void unmap_stack(stack_memory &stack) noexcept;

// The kind of guard that map_stack makes here at present, for `comity doctor`.
guard_kind available_guard() noexcept;

} // namespace comity::sys
