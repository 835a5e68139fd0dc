#include "sys/stack_area.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>

#include <sys/mman.h>

#include "sys/message.hpp"
#include "sys/process.hpp"
#include "sys/text_file.hpp"

#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102 // Linux 6.13
#endif

namespace comity::sys {
namespace {

// Does the kernel know light guards? Every thread may write; all would write the same.
enum class light_guards : std::uint8_t { unknown, here, missing };
std::atomic<light_guards> light{light_guards::unknown};

// Guards of the kind `mapping`. Each splits its mapping in two, and a process at vm.max_map_count can not even open a
// file: guards of single stacks take at most half of the limit, those of groups an eighth more.
std::atomic<std::int64_t> mapping_guards{0};
std::atomic<std::int64_t> most_for_tests{-1};
std::atomic<bool> warned_of_missing{false};

std::int64_t most_mapping_guards(bool for_group) noexcept {
    const std::int64_t limit = made_once([] {
        std::int64_t read = 65530; // the kernel's default
        read_number_file("/proc/sys/vm/max_map_count", read);
        return read;
    });
    const std::int64_t set = most_for_tests.load(std::memory_order_relaxed);
    const std::int64_t most = set >= 0 ? set : limit / 4;
    return for_group ? most + most / 4 : most;
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

bool install_mapping_guard(void *at, std::size_t size, bool for_group) noexcept {
    if (mapping_guards.fetch_add(1, std::memory_order_relaxed) < most_mapping_guards(for_group) &&
        ::mprotect(at, size, PROT_NONE) == 0)
        return true;
    mapping_guards.fetch_sub(1, std::memory_order_relaxed);
    return false;
}

std::atomic<std::int64_t> failures{0}, before_failures{0}; // for tests

bool is_to_fail() noexcept {
    if (before_failures.fetch_sub(1, std::memory_order_relaxed) > 0) return false;
    return failures.fetch_sub(1, std::memory_order_relaxed) > 0;
}

} // namespace

std::byte *map_stack_area(std::size_t size) noexcept {
    if (failures.load(std::memory_order_relaxed) > 0 && is_to_fail()) return nullptr;
    constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK;
    void *at = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (at == MAP_FAILED) return nullptr;
    // One touched word must not make a huge page resident. Before Linux 6.7 MAP_STACK does not see to it.
    ::madvise(at, size, MADV_NOHUGEPAGE);
    return static_cast<std::byte *>(at);
}

void unmap_stack_area(std::byte *at, std::size_t size) noexcept { ::munmap(at, size); }

std::size_t guard_size(std::size_t size) noexcept {
    constexpr std::size_t most = 16;
    return page_size() * std::clamp(size / 4 / page_size(), std::size_t{1}, most);
}

guard_kind install_guard(void *at, std::size_t size, bool for_group) noexcept {
    if (install_light_guard(at, size)) return guard_kind::light;
    if (install_mapping_guard(at, size, for_group)) return guard_kind::mapping;
    return guard_kind::none;
}

void forget_mapping_guards(std::int64_t count) noexcept { mapping_guards.fetch_sub(count, std::memory_order_relaxed); }

void warn_of_missing_guards(const char *what) noexcept {
    if (!warned_of_missing.load(std::memory_order_relaxed) &&
        !warned_of_missing.exchange(true, std::memory_order_relaxed))
        warn("stacks from here on have %s: the process is near the kernel's limit of mappings "
             "(vm.max_map_count); raise it with `sysctl vm.max_map_count=...` or use Linux 6.13 or later",
             what);
}

void set_guard_limits(bool use_light, std::int64_t mappings) noexcept {
    light.store(use_light ? light_guards::unknown : light_guards::missing, std::memory_order_relaxed);
    most_for_tests.store(mappings, std::memory_order_relaxed);
    warned_of_missing.store(false, std::memory_order_relaxed);
}

void fail_stack_areas(std::int64_t first, std::int64_t count) noexcept {
    before_failures.store(first, std::memory_order_relaxed);
    failures.store(count, std::memory_order_relaxed);
}

} // namespace comity::sys
