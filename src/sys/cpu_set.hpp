// Sets of the kernel's CPUs, and where kernel threads may run. Any thread, also in signal handlers unless said
// otherwise; nothing switches or allocates; errno is kept.
#pragma once

#include "sys/shared.hpp"

#include <cstddef>
#include <cstdint>

namespace comity::sys {

class cpu_set {
public:
    static constexpr int most = 8192; // CPUs beyond are not known

    // Whatever CPUs there are.
    static constexpr cpu_set every() noexcept {
        cpu_set set;
        for (std::uint64_t &w : set.words_) w = ~std::uint64_t{0};
        return set;
    }

    bool has(int cpu) const noexcept { return in_range(cpu) && (words_[word(cpu)] & bit(cpu)) != 0; }
    void add(int cpu) noexcept {
        if (in_range(cpu)) words_[word(cpu)] |= bit(cpu);
    }
    void remove(int cpu) noexcept {
        if (in_range(cpu)) words_[word(cpu)] &= ~bit(cpu);
    }
    // The first one that is not less than `from`; -1: there is none.
    COMITY_SHARED int next(int from = 0) const noexcept;
    COMITY_SHARED unsigned count() const noexcept;
    bool empty() const noexcept { return next() < 0; }
    void keep_only(const cpu_set &other) noexcept {
        for (std::size_t i = 0; i < words; ++i) words_[i] &= other.words_[i];
    }
    bool operator==(const cpu_set &) const noexcept = default;

    static constexpr std::size_t words = most / 64;
    std::uint64_t *data() noexcept { return words_; }
    const std::uint64_t *data() const noexcept { return words_; }

private:
    static bool in_range(int cpu) noexcept { return cpu >= 0 && cpu < most; }
    static std::size_t word(int cpu) noexcept { return static_cast<std::size_t>(cpu) / 64; }
    static std::uint64_t bit(int cpu) noexcept { return std::uint64_t{1} << (static_cast<unsigned>(cpu) % 64); }

    std::uint64_t words_[words] = {};
};

// "0-3,8,10-11" with blanks or line ends around it. False, and `set` is empty, for anything else.
bool parse_cpu_list(const char *text, cpu_set &set) noexcept;

// The affinity mask of a kernel thread of this process; 0 is the calling one. False: no such thread, or an error.
COMITY_SHARED bool get_thread_cpus(int thread_id, cpu_set &set) noexcept;
// Binds it. Returns 0 or an error number: EINVAL when none of the CPUs may be used, ESRCH.
COMITY_SHARED int set_thread_cpus(int thread_id, const cpu_set &set) noexcept;

// What the process may use: the mask of its first thread when this was called first, since later that thread may be
// bound. Not in a signal handler.
COMITY_SHARED const cpu_set &process_cpus() noexcept;

} // namespace comity::sys
