// Readers-writer locks in the bytes of a pthread_rwlock_t. README.md, "Readers-writer lock".
#include "core/callbacks.hpp"
#include "personality/pthread/threads/sleeping_call.hpp"
#include "sync/lock_spin.hpp"

namespace comity::posix {

namespace {

COMITY_NEXT_SYMBOL next<int (*)(pthread_rwlock_t *)> next_rdlock{"pthread_rwlock_rdlock"};
COMITY_NEXT_SYMBOL next<int (*)(pthread_rwlock_t *)> next_wrlock{"pthread_rwlock_wrlock"};
COMITY_NEXT_SYMBOL next<int (*)(pthread_rwlock_t *)> next_tryrdlock{"pthread_rwlock_tryrdlock"};
COMITY_NEXT_SYMBOL next<int (*)(pthread_rwlock_t *)> next_trywrlock{"pthread_rwlock_trywrlock"};
COMITY_NEXT_SYMBOL next<int (*)(pthread_rwlock_t *)> next_unlock{"pthread_rwlock_unlock"};
COMITY_NEXT_SYMBOL next<int (*)(pthread_rwlock_t *)> next_destroy{"pthread_rwlock_destroy"};
COMITY_NEXT_SYMBOL next<int (*)(pthread_rwlock_t *, const timespec *)> next_timedrdlock{"pthread_rwlock_timedrdlock"};
COMITY_NEXT_SYMBOL next<int (*)(pthread_rwlock_t *, const timespec *)> next_timedwrlock{"pthread_rwlock_timedwrlock"};
COMITY_NEXT_SYMBOL next<int (*)(pthread_rwlock_t *, clockid_t, const timespec *)> next_clockrdlock{
    "pthread_rwlock_clockrdlock"};
COMITY_NEXT_SYMBOL next<int (*)(pthread_rwlock_t *, clockid_t, const timespec *)> next_clockwrlock{
    "pthread_rwlock_clockwrlock"};

class rwlock {
public:
    int try_read() noexcept {
        std::uint32_t s = word_.load(std::memory_order_relaxed);
        while (admits_reader(s)) {
            if ((s & readers) == readers) return EAGAIN;
            if (word_.compare_exchange_weak(s, s + 1, std::memory_order_acquire, // acquire[posix-rwlock]
                                            std::memory_order_relaxed))
                return 0;
        }
        return EBUSY;
    }
    int try_write() noexcept {
        std::uint32_t s = word_.load(std::memory_order_relaxed);
        while ((s & (writing | readers)) == 0) {
            if (!word_.compare_exchange_weak(s, s | writing, std::memory_order_acquire, // acquire[posix-rwlock]
                                             std::memory_order_relaxed))
                continue;
            writer_.store(self(), std::memory_order_relaxed);
            return 0;
        }
        return EBUSY;
    }
    int read_until(std::int64_t deadline) noexcept {
        return lock_until([this]() noexcept { return try_read(); },
                          [this]() noexcept { return admits_reader(word_.load(std::memory_order_relaxed)); },
                          readers_wait, deadline);
    }
    int write_until(std::int64_t deadline) noexcept {
        return lock_until(
            [this]() noexcept { return try_write(); },
            [this]() noexcept { return (word_.load(std::memory_order_relaxed) & (writing | readers)) == 0; },
            writers_wait, deadline);
    }
    void unlock() noexcept {
        std::uint32_t s = word_.load(std::memory_order_relaxed);
        if ((s & (writing | readers)) == 0) return; // it was not locked
        if (s & writing) writer_.store(pthread_t{}, std::memory_order_relaxed);
        std::uint32_t to = 0;
        do to = s & writing ? s & ~writing : s - 1;
        while (!word_.compare_exchange_weak(s, free_if_empty(to), std::memory_order_release, // release[posix-rwlock]
                                            std::memory_order_relaxed));
        // From here on the lock may be gone: only its address is used.
        if ((to & (writing | readers)) == 0 && (to & (readers_wait | writers_wait))) sync::wake_all_at(this);
    }
    bool is_served() const noexcept { return shared_ == 0; }

private:
    static constexpr std::uint32_t writing = 1U << 31, writers_wait = 1U << 30, readers_wait = 1U << 29,
                                   readers = readers_wait - 1;

    bool prefers_writers() const noexcept { return kind_ == PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP; }
    bool admits_reader(std::uint32_t s) const noexcept {
        return !(s & writing) && !(prefers_writers() && (s & writers_wait));
    }
    // Nobody is inside: those who wait are all woken, and say again that they wait.
    static std::uint32_t free_if_empty(std::uint32_t s) noexcept { return s & (writing | readers) ? s : 0; }

    template <class Try, class May>
    int lock_until(Try try_lock, May may_try, std::uint32_t wait_bit, std::int64_t deadline) noexcept {
        if (writer_.load(std::memory_order_relaxed) == self()) return EDEADLK;
        for (;;) {
            const int error = try_lock();
            if (error != EBUSY) return error;
            if (core::waits_in_place()) return lock_in_place(try_lock, deadline);
            sync::give_turn();
            if (sync::wait_list::spin_for(may_try, deadline)) continue;
            std::uint32_t s = word_.load(std::memory_order_relaxed);
            if (may_try()) continue;
            if (!word_.compare_exchange_strong(s, s | wait_bit, std::memory_order_relaxed, std::memory_order_relaxed))
                continue;
            // A lock that was left meanwhile has no such bit any more: who left it has woken everybody.
            const auto over = [this, may_try, wait_bit]() noexcept {
                return may_try() || !(word_.load(std::memory_order_relaxed) & wait_bit);
            };
            if (!wait_for(this, over, deadline)) {
                const int last = try_lock();
                if (last != EBUSY) return last;
                if (wait_bit == writers_wait) stop_waiting_as_writer();
                return ETIMEDOUT;
            }
        }
    }

    // In a scheduler's callback, say: as mutex::take_in_place.
    template <class Try> static int lock_in_place(Try try_lock, std::int64_t deadline) noexcept {
        for (core::wait_in_place w;; w.pause()) {
            if (const int error = try_lock(); error != EBUSY) return error;
            if (deadline != sys::no_deadline && sys::now_ns() >= deadline) return ETIMEDOUT;
        }
    }

    // Readers that stood back for it may come in; other writers say again that they wait.
    void stop_waiting_as_writer() noexcept {
        if (word_.fetch_and(~writers_wait, std::memory_order_relaxed) & writers_wait) sync::wake_all_at(this);
    }

    std::atomic<std::uint32_t> word_;
    [[maybe_unused]] std::uint32_t unused_;
    std::atomic<pthread_t> writer_; // by the writer, while it is inside
    [[maybe_unused]] std::uint32_t also_unused_[3];
    int shared_; // as the C library's initialisers set it, and the kind below
    [[maybe_unused]] std::uint32_t unused_too_[4];
    int kind_;
};

// Null: the C library serves it.
rwlock *ours(pthread_rwlock_t *l) noexcept {
    rwlock &own = in<rwlock>(l);
    return own.is_served() && !is_aside() ? &own : nullptr;
}

// One that the C library serves. None of these unwinds.
template <class Lock, class Try> int lock_shared(Lock lock, Try try_lock) noexcept {
    if (!receiver_here()) return lock();
    const int error = try_lock();
    return error == EBUSY ? wait_on(lock, call_ends::by_nothing) : error;
}
template <class Lock> int read_shared(pthread_rwlock_t *l, Lock lock) noexcept {
    return lock_shared(lock, [l] { return next_tryrdlock.get()(l); });
}
template <class Lock> int write_shared(pthread_rwlock_t *l, Lock lock) noexcept {
    return lock_shared(lock, [l] { return next_trywrlock.get()(l); });
}

} // namespace
} // namespace comity::posix

using namespace comity::posix;

// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): glibc's names are reserved ones

COMITY_INTERPOSED int pthread_rwlock_rdlock(pthread_rwlock_t *l) noexcept {
    rwlock *own = ours(l);
    return own ? own->read_until(comity::sys::no_deadline) : read_shared(l, [l] { return next_rdlock.get()(l); });
}
COMITY_INTERPOSED int pthread_rwlock_wrlock(pthread_rwlock_t *l) noexcept {
    rwlock *own = ours(l);
    return own ? own->write_until(comity::sys::no_deadline) : write_shared(l, [l] { return next_wrlock.get()(l); });
}
COMITY_INTERPOSED int pthread_rwlock_tryrdlock(pthread_rwlock_t *l) noexcept {
    rwlock *own = ours(l);
    return after_look(own ? own->try_read() : next_tryrdlock.get()(l));
}
COMITY_INTERPOSED int pthread_rwlock_trywrlock(pthread_rwlock_t *l) noexcept {
    rwlock *own = ours(l);
    return after_look(own ? own->try_write() : next_trywrlock.get()(l));
}
COMITY_INTERPOSED int pthread_rwlock_clockrdlock(pthread_rwlock_t *l, clockid_t clock, const timespec *t) noexcept {
    if (!is_clock(clock) || !is_time(t)) return EINVAL;
    if (rwlock *own = ours(l)) return own->read_until(deadline_of(clock, *t));
    return read_shared(l, [=] { return next_clockrdlock.get()(l, clock, t); });
}
COMITY_INTERPOSED int pthread_rwlock_clockwrlock(pthread_rwlock_t *l, clockid_t clock, const timespec *t) noexcept {
    if (!is_clock(clock) || !is_time(t)) return EINVAL;
    if (rwlock *own = ours(l)) return own->write_until(deadline_of(clock, *t));
    return write_shared(l, [=] { return next_clockwrlock.get()(l, clock, t); });
}
COMITY_INTERPOSED int pthread_rwlock_timedrdlock(pthread_rwlock_t *l, const timespec *t) noexcept {
    if (ours(l)) return pthread_rwlock_clockrdlock(l, CLOCK_REALTIME, t);
    return is_time(t) ? read_shared(l, [=] { return next_timedrdlock.get()(l, t); }) : EINVAL;
}
COMITY_INTERPOSED int pthread_rwlock_timedwrlock(pthread_rwlock_t *l, const timespec *t) noexcept {
    if (ours(l)) return pthread_rwlock_clockwrlock(l, CLOCK_REALTIME, t);
    return is_time(t) ? write_shared(l, [=] { return next_timedwrlock.get()(l, t); }) : EINVAL;
}
COMITY_INTERPOSED int pthread_rwlock_unlock(pthread_rwlock_t *l) noexcept {
    rwlock *own = ours(l);
    if (!own) return next_unlock.get()(l);
    own->unlock();
    return 0;
}
COMITY_INTERPOSED int pthread_rwlock_destroy(pthread_rwlock_t *l) noexcept {
    return ours(l) ? 0 : next_destroy.get()(l); // also of one that is held, as in the C library
}

COMITY_ALSO_NAMED(__pthread_rwlock_rdlock, pthread_rwlock_rdlock);
COMITY_ALSO_NAMED(__pthread_rwlock_wrlock, pthread_rwlock_wrlock);
COMITY_ALSO_NAMED(__pthread_rwlock_tryrdlock, pthread_rwlock_tryrdlock);
COMITY_ALSO_NAMED(__pthread_rwlock_trywrlock, pthread_rwlock_trywrlock);
COMITY_ALSO_NAMED(__pthread_rwlock_unlock, pthread_rwlock_unlock);
COMITY_ALSO_NAMED(__pthread_rwlock_destroy, pthread_rwlock_destroy);

// NOLINTEND(readability-inconsistent-declaration-parameter-name)
