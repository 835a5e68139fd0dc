#include "sys/memory.hpp"

#include <algorithm>
#include <cerrno>

#include <malloc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sys/errno_kept.hpp"
#include "sys/stack_area.hpp"
#include "sys/stack_pool.hpp"

namespace comity::sys {
namespace {

std::size_t round_to_pages(std::size_t size) noexcept {
    const std::size_t page = page_size();
    return size > SIZE_MAX - page ? 0 : (size + page - 1) / page * page;
}

} // namespace

std::size_t physical_memory() noexcept {
    const long pages = sysconf(_SC_PHYS_PAGES);
    return pages > 0 ? static_cast<std::size_t>(pages) * page_size() : 0;
}

std::size_t address_space_limit() noexcept {
    std::size_t least = SIZE_MAX;
    for (const auto which : {RLIMIT_AS, RLIMIT_DATA})
        if (rlimit limit{}; ::getrlimit(which, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
            least = std::min<std::size_t>(least, limit.rlim_cur);
    return least;
}

void spare_address_space() noexcept {
    constexpr std::size_t of_an_arena = std::size_t{64} << 20, part = 8;
    const std::size_t limit = address_space_limit();
    if (limit == SIZE_MAX) return;
    const std::size_t arenas = std::clamp<std::size_t>(limit / part / of_an_arena, 1, 1024);
    (void)::mallopt(M_ARENA_MAX, static_cast<int>(arenas));
}

std::size_t page_size() noexcept { return static_cast<std::size_t>(::getpagesize()); }

void *map_pages(std::size_t size) noexcept {
    const errno_kept kept;
    size = round_to_pages(size);
    if (size == 0) return nullptr;
    void *at = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return at == MAP_FAILED ? nullptr : at;
}

bool write_read_only(std::uintptr_t *word, std::uintptr_t value, bool executes) noexcept {
    const errno_kept kept;
    const int usual = PROT_READ | (executes ? PROT_EXEC : 0);
    auto *page = reinterpret_cast<void *>(reinterpret_cast<std::uintptr_t>(word) & ~(page_size() - 1));
    if (::mprotect(page, page_size(), usual | PROT_WRITE) != 0) return false;
    __atomic_store_n(word, value, __ATOMIC_RELAXED); // others read it meanwhile
    ::mprotect(page, page_size(), usual);
    return true;
}

bool can_map(std::size_t size) noexcept {
    void *at = map_pages(size);
    unmap_pages(at, size);
    return at;
}

void unmap_pages(void *address, std::size_t size) noexcept {
    const errno_kept kept;
    if (address) ::munmap(address, round_to_pages(size));
}

void discard_pages(void *address, std::size_t size) noexcept {
    const errno_kept kept;
    ::madvise(address, size, MADV_DONTNEED);
}

stack_memory map_stack(std::size_t size) noexcept {
    const errno_kept kept;
    std::size_t usable = round_to_pages(size);
    const std::size_t guard = guard_size(size);
    // Stacks come to lie side by side. An odd number of pages from one to the next spreads their hot tops over all sets
    // of the address translation's caches; an even one, over a half or a sixteenth of them.
    if ((usable + guard) / page_size() % 2 == 0) usable += page_size();
    if (size == 0 || usable < size || usable > PTRDIFF_MAX - guard) return {};
    std::byte *at = map_stack_area(guard + usable);
    if (!at) return {};
    stack_memory stack;
    stack.guard_size = static_cast<std::uint32_t>(guard);
    stack.bottom = at + guard;
    stack.top = stack.bottom + usable;
    stack.kind = install_guard(at, guard, false);
    if (stack.kind == guard_kind::none) warn_of_missing_guards("no guard page");
    return stack;
}

void unmap_stack(stack_memory &stack) noexcept {
    if (!stack) return;
    if (stack.slab) return give_back_stacks(&stack, 1);
    const errno_kept kept;
    if (stack.kind == guard_kind::mapping) forget_mapping_guards(1);
    unmap_stack_area(stack.guard(), stack.size() + stack.guard_size);
    stack = {};
}

bool is_readable(const void *address) noexcept {
    const errno_kept kept;
    constexpr int no_change = -1; // the kernel reads a mask there, and only then finds that it knows of no such change
    const auto *word = reinterpret_cast<const void *>(reinterpret_cast<std::uintptr_t>(address) & ~std::uintptr_t{7});
    // Of null it reads nothing, and says that all is well.
    return ::syscall(SYS_rt_sigprocmask, no_change, word, nullptr, sizeof(std::uint64_t)) != 0 && errno == EINVAL;
}

guard_kind available_guard() noexcept {
    stack_memory probe = map_stack(page_size());
    const guard_kind kind = probe.kind;
    unmap_stack(probe);
    return kind;
}

} // namespace comity::sys
