// A mutex in the bytes of a pthread_mutex_t. Protocol "Mutex": README.md.
#pragma once

#include "personality/pthread/threads/thread.hpp"

namespace comity::posix {

class mutex {
public:
    // Nothing here is a cancellation point; but a request to cancel the caller at once ends it in a wait, if that may
    // be. May switch: lock_until.
    enum class at_request : bool { waits_on, ends };
    int lock_until(std::int64_t deadline, at_request how = at_request::waits_on);
    // These two make no call where the mutex has no owner to be known, and nobody else wants it.
    int lock(at_request how) { return !has_owner() && take() ? 0 : lock_until(sys::no_deadline, how); }
    int unlock() noexcept {
        if (has_owner()) return unlock_by_owner();
        leave();
        return 0;
    }
    int try_lock() noexcept;
    // Locked, or somebody waits for a condition with it.
    bool is_in_use() const noexcept {
        return word_.load(std::memory_order_relaxed) != free || waiting_.load(std::memory_order_relaxed) != 0;
    }
    // Somebody begins or has ended a wait for a condition with it.
    void count_waiting(int by) noexcept {
        waiting_.fetch_add(static_cast<std::uint32_t>(by), std::memory_order_relaxed);
    }
    bool is_robust() const noexcept { return kind_ & robust; }
    bool has_owner() const noexcept { return type() == PTHREAD_MUTEX_RECURSIVE || type() == PTHREAD_MUTEX_ERRORCHECK; }
    bool inherits_priority() const noexcept { return kind_ & inherits; }
    // As it is initialised: one that the C library serves does not inherit priority, since the kernel's locks that do
    // know their owners by kernel threads, and threads of ours change theirs.
    void end_inheritance() noexcept {
        if (!is_served()) kind_ &= ~inherits;
    }
    // By us. Kinds that the C library serves: robust ones, those with a priority ceiling, and those shared between
    // processes.
    bool is_served() const noexcept { return (kind_ & ~(types | elision | inherits)) == 0 && !is_aside(); }
    // Served, and without an owner to be known. By one test: as most are.
    bool is_plain() const noexcept {
        return ((kind_ | side.load(std::memory_order_relaxed)) & ~(elision | inherits)) == 0;
    }
    bool lock_if_plain() noexcept { return is_plain() && take(); }
    bool unlock_if_plain() noexcept { return is_plain() && (leave(), true); }

private:
    static constexpr std::uint32_t free = 0, held = 1, contended = 2; // contended: somebody may wait
    static constexpr int types = 3;
    static constexpr int robust = 16;
    static constexpr int inherits = 32;       // PTHREAD_PRIO_INHERIT: all threads of Comity's have the same priority
    static constexpr int elision = 256 | 512; // wanted or not: glibc says "not" for an explicit PTHREAD_MUTEX_NORMAL

    int type() const noexcept { return kind_ & types; }
    bool take() noexcept {
        std::uint32_t expected = free;
        return word_.compare_exchange_strong(expected, held, std::memory_order_acquire, // acquire[posix-mutex]
                                             std::memory_order_relaxed);
    }
    // The last access to the mutex, which may be gone once it is free; a wake only takes its address.
    void leave() noexcept {
        if (word_.exchange(free, std::memory_order_release) == contended) wake(); // release[posix-mutex]
    }
    bool lock_slowly(std::int64_t deadline, at_request how);
    bool take_in_place(std::int64_t deadline) noexcept;
    bool wait(std::int64_t deadline, at_request how);
    void wake() noexcept;
    bool spin() noexcept;
    int lock_again() noexcept;
    int unlock_by_owner() noexcept;

    std::atomic<std::uint32_t> word_;    // free → held → free; contended
    std::uint32_t count_;                // of a recursive one: how many times more than once it is locked; the owner's
    std::atomic<pthread_t> owner_;       // of one with an owner, who writes it
    int kind_;                           // as the C library's initialisers set it: the type, and what else is wanted
    std::atomic<std::uint32_t> waiting_; // who waits for a condition with it
};

// The caller uses mutexes of which others, the kernel or other processes, know the owner by the id of his kernel
// thread.
void note_known_owner() noexcept;

// Null: the C library serves it.
inline mutex *mutex_in(pthread_mutex_t *m) noexcept {
    mutex &own = in<mutex>(m);
    if (own.is_served()) [[likely]]
        return &own;
    if (own.is_robust() || own.has_owner()) [[unlikely]]
        note_known_owner();
    return nullptr;
}

} // namespace comity::posix
