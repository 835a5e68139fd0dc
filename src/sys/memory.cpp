#include "sys/memory.hpp"

#include <atomic>
#include <cerrno>

#include <sys/mman.h>
#include <unistd.h>

#include "sys/message.hpp"
#include "sys/text_file.hpp"

#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102 // Linux 6.13
#endif

namespace comity::sys {
namespace {

// Does the kernel know light guards? Every thread may write; all would write the same.
enum class light_guards : std::uint8_t { unknown, here, missing };
std::atomic<light_guards> light{light_guards::unknown};

// Stacks that hold guards of the kind `mapping`. Each splits its mapping in two, and a process at vm.max_map_count can
// not even open a file: guards take at most half of the limit.
std::atomic<std::int64_t> mapping_guards{0};
std::atomic<bool> warned_of_missing_guards{false};

class errno_kept {
public:
    errno_kept() noexcept : kept_(errno) {}
    ~errno_kept() { errno = kept_; }

private:
    int kept_;
};

std::size_t round_to_pages(std::size_t size) noexcept {
    const std::size_t page = page_size();
    return size > SIZE_MAX - page ? 0 : (size + page - 1) / page * page;
}

std::int64_t most_mapping_guards() noexcept {
    static const std::int64_t most = [] {
        std::int64_t limit = 65530; // the kernel's default
        read_number_file("/proc/sys/vm/max_map_count", limit);
        return limit / 4;
    }();
    return most;
}

bool install_light_guard(void *at, std::size_t size) noexcept {
    if (light.load(std::memory_order_relaxed) == light_guards::missing) return false;
    if (::madvise(at, size, MADV_GUARD_INSTALL) == 0) {
        light.store(light_guards::here, std::memory_order_relaxed);
        return true;
    }
    // EINVAL, or a sandbox's EPERM or ENOSYS, will not change; out of memory may.
    if (errno != ENOMEM && errno != EAGAIN && errno != EINTR)
        light.store(light_guards::missing, std::memory_order_relaxed);
    return false;
}

bool install_mapping_guard(void *at, std::size_t size) noexcept {
    if (mapping_guards.fetch_add(1, std::memory_order_relaxed) < most_mapping_guards() &&
        ::mprotect(at, size, PROT_NONE) == 0)
        return true;
    mapping_guards.fetch_sub(1, std::memory_order_relaxed);
    return false;
}

guard_kind install_guard(void *at, std::size_t size) noexcept {
    if (install_light_guard(at, size)) return guard_kind::light;
    if (install_mapping_guard(at, size)) return guard_kind::mapping;
    if (!warned_of_missing_guards.exchange(true, std::memory_order_relaxed))
        warn("stacks from here on have no guard page: the process is near the kernel's limit of mappings "
             "(vm.max_map_count); raise it with `sysctl vm.max_map_count=...` or use Linux 6.13 or later");
    return guard_kind::none;
}

} // namespace

std::size_t page_size() noexcept {
    static const auto size = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    return size;
}

void *map_pages(std::size_t size) noexcept {
    const errno_kept kept;
    size = round_to_pages(size);
    if (size == 0) return nullptr;
    void *at = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return at == MAP_FAILED ? nullptr : at;
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
    constexpr std::size_t large = std::size_t{1} << 20;
    const errno_kept kept;
    std::size_t usable = round_to_pages(size);
    const std::size_t guard = page_size() * (size >= large ? 16 : 1);
    // Stacks come to lie side by side. An odd number of pages from one to the next spreads their hot tops over all sets
    // of the address translation's caches; an even one, over a half or a sixteenth of them.
    if ((usable + guard) / page_size() % 2 == 0) usable += page_size();
    if (size == 0 || usable < size || usable > PTRDIFF_MAX - guard) return {};
    constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK;
    void *at = ::mmap(nullptr, guard + usable, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (at == MAP_FAILED) return {};
    // One touched word must not make a huge page resident. Before Linux 6.7 MAP_STACK does not see to it.
    if (size >= large) ::madvise(at, guard + usable, MADV_NOHUGEPAGE);
    stack_memory stack;
    stack.guard = static_cast<std::byte *>(at);
    stack.bottom = stack.guard + guard;
    stack.top = stack.bottom + usable;
    stack.kind = install_guard(at, guard);
    return stack;
}

void unmap_stack(stack_memory &stack) noexcept {
    if (!stack) return;
    const errno_kept kept;
    if (stack.kind == guard_kind::mapping) mapping_guards.fetch_sub(1, std::memory_order_relaxed);
    ::munmap(stack.guard, static_cast<std::size_t>(stack.top - stack.guard));
    stack = {};
}

guard_kind available_guard() noexcept {
    stack_memory probe = map_stack(page_size());
    const guard_kind kind = probe.kind;
    unmap_stack(probe);
    return kind;
}

} // namespace comity::sys
