// The mutex: whoever comes while it is free gets it; the others wait in order. Lives in 64 bytes of the program's own,
// of which the first word says whether it is recursive. All zero: free.
#pragma once

#include "comity/argobots/abt.h"
#include "personality/argobots/waiting.hpp"

#include <atomic>

namespace comity::abt {

class mutex {
public:
    void lock() noexcept; // may switch
    bool try_lock() noexcept;
    void spin_lock() noexcept; // never waits but by looking again; gives the hart to other streams now and then
    // False: it is not locked, or is recursive and somebody else's.
    bool unlock() noexcept;
    bool is_locked() const noexcept { return word_.load(std::memory_order_relaxed) != free_; }
    // Nobody uses it any more: returns when whoever unlocked it last has left.
    void drain() noexcept;
    bool recursive() const noexcept { return recursive_ != 0; }
    void make_recursive() noexcept { recursive_ = 1; }

private:
    static constexpr std::uint32_t free_ = 0, locked_ = 1, waited_for_ = 2;
    bool lock_again() noexcept;
    void lock_slow() noexcept;
    void took() noexcept;
    static const void *caller() noexcept;

    int recursive_ = 0;
    std::atomic<std::uint32_t> word_{free_}; // waited for: somebody may stand in the queue
    std::uint32_t depth_ = 0;                // recursive: by the owner
    std::atomic<const void *> owner_{nullptr};
    wait_queue queue_;
};
static_assert(sizeof(mutex) <= sizeof(ABT_mutex_memory));

inline mutex *of(ABT_mutex m) noexcept { return reinterpret_cast<mutex *>(m); }

} // namespace comity::abt
