// Synchronisation objects in C++ (comity/sync.h says where each may be called; those that wait may switch). The mutexes
// work with std::lock_guard, std::unique_lock and std::scoped_lock, the readers-writer lock with std::shared_lock as
// well. Waiting functions end with _for (a duration) or _until (a time of any clock; what the clock does later is not
// heeded). Values that are set: comity/sync/future.hpp.
#pragma once

#include "comity/core/cxx20.hpp" // first: nothing else would compile

#include "comity/core.hpp"
#include "comity/sync.h"
#include "comity/thread/cancelled.hpp"

#include <chrono>
#include <concepts>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <stop_token>
#include <system_error>
#include <type_traits>
#include <utility>

namespace comity {

namespace detail {
inline void check_number(int error, const char *what) {
    if (error != 0) throw std::invalid_argument(what);
}
} // namespace detail

class mutex {
public:
    constexpr mutex() noexcept = default;
    ~mutex() { comity_mutex_fini(&m_); }
    mutex(const mutex &) = delete;
    mutex &operator=(const mutex &) = delete;

    void lock() noexcept { comity_mutex_lock(&m_); } // may switch
    bool try_lock() noexcept { return comity_mutex_trylock(&m_); }
    template <class Rep, class Period> bool try_lock_for(std::chrono::duration<Rep, Period> t) noexcept {
        return comity_mutex_timedlock(&m_, deadline_in(t)) == 0;
    }
    template <class Clock, class Duration> bool try_lock_until(std::chrono::time_point<Clock, Duration> t) noexcept {
        return comity_mutex_timedlock(&m_, deadline_at(t)) == 0;
    }
    void unlock() noexcept { comity_mutex_unlock(&m_); }
    comity_mutex_t *native_handle() noexcept { return &m_; }

private:
    comity_mutex_t m_ = COMITY_MUTEX_INIT;
};

// All throw std::system_error: EAGAIN when it is locked too often, EPERM when the caller unlocks what is not his.
class recursive_mutex {
public:
    constexpr recursive_mutex() noexcept = default;
    ~recursive_mutex() { comity_recursive_mutex_fini(&m_); }
    recursive_mutex(const recursive_mutex &) = delete;
    recursive_mutex &operator=(const recursive_mutex &) = delete;

    void lock() { locked(comity_recursive_mutex_lock(&m_)); } // may switch
    bool try_lock() { return locked(comity_recursive_mutex_trylock(&m_)); }
    template <class Rep, class Period> bool try_lock_for(std::chrono::duration<Rep, Period> t) {
        return locked(comity_recursive_mutex_timedlock(&m_, deadline_in(t)));
    }
    template <class Clock, class Duration> bool try_lock_until(std::chrono::time_point<Clock, Duration> t) {
        return locked(comity_recursive_mutex_timedlock(&m_, deadline_at(t)));
    }
    void unlock() { locked(comity_recursive_mutex_unlock(&m_)); }

private:
    static bool locked(int error) {
        if (error == static_cast<int>(std::errc::resource_unavailable_try_again) ||
            error == static_cast<int>(std::errc::operation_not_permitted))
            throw std::system_error(error, std::generic_category(), "comity::recursive_mutex");
        return error == 0;
    }
    comity_recursive_mutex_t m_ = COMITY_RECURSIVE_MUTEX_INIT;
};

class rwlock {
public:
    constexpr rwlock() noexcept = default;
    ~rwlock() { comity_rwlock_fini(&l_); }
    rwlock(const rwlock &) = delete;
    rwlock &operator=(const rwlock &) = delete;

    void lock() noexcept { comity_rwlock_wrlock(&l_); } // may switch
    bool try_lock() noexcept { return comity_rwlock_trywrlock(&l_); }
    template <class Rep, class Period> bool try_lock_for(std::chrono::duration<Rep, Period> t) noexcept {
        return comity_rwlock_timedwrlock(&l_, deadline_in(t)) == 0;
    }
    template <class Clock, class Duration> bool try_lock_until(std::chrono::time_point<Clock, Duration> t) noexcept {
        return comity_rwlock_timedwrlock(&l_, deadline_at(t)) == 0;
    }
    void unlock() noexcept { comity_rwlock_wrunlock(&l_); }

    void lock_shared() noexcept { comity_rwlock_rdlock(&l_); } // may switch
    bool try_lock_shared() noexcept { return comity_rwlock_tryrdlock(&l_); }
    template <class Rep, class Period> bool try_lock_shared_for(std::chrono::duration<Rep, Period> t) noexcept {
        return comity_rwlock_timedrdlock(&l_, deadline_in(t)) == 0;
    }
    template <class Clock, class Duration>
    bool try_lock_shared_until(std::chrono::time_point<Clock, Duration> t) noexcept {
        return comity_rwlock_timedrdlock(&l_, deadline_at(t)) == 0;
    }
    void unlock_shared() noexcept { comity_rwlock_rdunlock(&l_); }

private:
    comity_rwlock_t l_ = COMITY_RWLOCK_INIT;
};

// Waits with a lock of any kind, std::unique_lock<comity::mutex> for one. All that wait may switch, and throw
// `cancelled` (comity/thread/cancelled.hpp), with the lock locked again.
class condition {
public:
    constexpr condition() noexcept = default;
    ~condition() { comity_condition_fini(&c_); }
    condition(const condition &) = delete;
    condition &operator=(const condition &) = delete;

    template <class Lock> void wait(Lock &lock) { wait_by(lock, COMITY_NO_DEADLINE); }
    template <class Lock, class Predicate> void wait(Lock &lock, Predicate until) {
        while (!until()) wait(lock);
    }
    template <class Lock, class Clock, class Duration>
    std::cv_status wait_until(Lock &lock, std::chrono::time_point<Clock, Duration> t) {
        return wait_by(lock, deadline_at(t)) ? std::cv_status::no_timeout : std::cv_status::timeout;
    }
    template <class Lock, class Rep, class Period>
    std::cv_status wait_for(Lock &lock, std::chrono::duration<Rep, Period> t) {
        return wait_by(lock, deadline_in(t)) ? std::cv_status::no_timeout : std::cv_status::timeout;
    }
    // False: the time is over, and until() is false.
    template <class Lock, class Clock, class Duration, class Predicate>
    bool wait_until(Lock &lock, std::chrono::time_point<Clock, Duration> t, Predicate until) {
        return wait_by(lock, deadline_at(t), until);
    }
    template <class Lock, class Rep, class Period, class Predicate>
    bool wait_for(Lock &lock, std::chrono::duration<Rep, Period> t, Predicate until) {
        return wait_by(lock, deadline_in(t), until);
    }
    // The same, and until a stop is requested. False: until() is false.
    template <class Lock, class Predicate> bool wait(Lock &lock, std::stop_token stop, Predicate until) {
        return wait_stoppable(lock, std::move(stop), COMITY_NO_DEADLINE, until);
    }
    template <class Lock, class Clock, class Duration, class Predicate>
    bool wait_until(Lock &lock, std::stop_token stop, std::chrono::time_point<Clock, Duration> t, Predicate until) {
        return wait_stoppable(lock, std::move(stop), deadline_at(t), until);
    }
    template <class Lock, class Rep, class Period, class Predicate>
    bool wait_for(Lock &lock, std::stop_token stop, std::chrono::duration<Rep, Period> t, Predicate until) {
        return wait_stoppable(lock, std::move(stop), deadline_in(t), until);
    }

    void notify_one() noexcept { comity_condition_signal(&c_); }
    void notify_all() noexcept { comity_condition_broadcast(&c_); }
    comity_condition_t *native_handle() noexcept { return &c_; }

private:
    template <class Lock> bool wait_by(Lock &lock, std::int64_t deadline) {
        if constexpr (std::is_same_v<Lock, std::unique_lock<mutex>>)
            return cancelled::check(comity_condition_timedwait(&c_, lock.mutex()->native_handle(), deadline)) == 0;
        else
            return wait_from(comity_condition_prepare(&c_), lock, deadline);
    }
    template <class Lock> bool wait_from(std::uint32_t prepared, Lock &lock, std::int64_t deadline) {
        lock.unlock();
        const int error = comity_condition_wait_prepared(&c_, prepared, deadline);
        lock.lock();
        return cancelled::check(error) == 0;
    }
    template <class Lock, class Predicate> bool wait_by(Lock &lock, std::int64_t deadline, Predicate &until) {
        while (!until())
            if (!wait_by(lock, deadline)) return until();
        return true;
    }
    template <class Lock, class Predicate>
    bool wait_stoppable(Lock &lock, std::stop_token stop, std::int64_t deadline, Predicate &until) {
        if (stop.stop_requested()) return until();
        const std::stop_callback wakes(stop, [this] { notify_all(); });
        while (!until()) {
            // First prepare, then look: a stop that is requested after the look signals after prepare.
            const std::uint32_t prepared = comity_condition_prepare(&c_);
            if (stop.stop_requested()) return false;
            if (!wait_from(prepared, lock, deadline)) return until();
        }
        return true;
    }

    comity_condition_t c_ = COMITY_CONDITION_INIT;
};

class semaphore {
public:
    static constexpr unsigned max() noexcept { return COMITY_SEMAPHORE_MAX; }

    // Throws std::invalid_argument when the value is too large.
    explicit semaphore(unsigned value) {
        detail::check_number(comity_semaphore_init(&s_, value), "comity::semaphore: the value is too large");
    }
    ~semaphore() { comity_semaphore_fini(&s_); }
    semaphore(const semaphore &) = delete;
    semaphore &operator=(const semaphore &) = delete;

    // May switch. Those that wait throw `cancelled`.
    void acquire() { cancelled::check(comity_semaphore_wait(&s_)); }
    bool try_acquire() noexcept { return comity_semaphore_trywait(&s_); }
    template <class Rep, class Period> bool try_acquire_for(std::chrono::duration<Rep, Period> t) {
        return cancelled::check(comity_semaphore_timedwait(&s_, deadline_in(t))) == 0;
    }
    template <class Clock, class Duration> bool try_acquire_until(std::chrono::time_point<Clock, Duration> t) {
        return cancelled::check(comity_semaphore_timedwait(&s_, deadline_at(t))) == 0;
    }
    // Throws std::overflow_error; then nothing has changed.
    void release(unsigned n = 1) {
        if (comity_semaphore_post_many(&s_, n) != 0) throw std::overflow_error("comity::semaphore");
    }

private:
    comity_semaphore_t s_;
};

class barrier {
public:
    using arrival_token = unsigned;
    static constexpr unsigned max() noexcept { return COMITY_BARRIER_MAX; }

    // Throws std::invalid_argument when the number is 0 or too large.
    explicit barrier(unsigned number) { detail::check_number(comity_barrier_init(&b_, number), bad_number); }
    ~barrier() { comity_barrier_fini(&b_); }
    barrier(const barrier &) = delete;
    barrier &operator=(const barrier &) = delete;

    // True in the one who opened it. May switch.
    bool wait() noexcept { return comity_barrier_wait(&b_); }
    void arrive_and_wait() noexcept { wait(); } // may switch
    [[nodiscard]] arrival_token arrive() noexcept { return comity_barrier_arrive(&b_); }
    void wait(arrival_token phase) noexcept { comity_barrier_wait_phase(&b_, phase, COMITY_NO_DEADLINE); } // may switch
    void arrive_and_drop() noexcept { comity_barrier_drop(&b_); }
    // Throws std::invalid_argument as the constructor does.
    void resize(unsigned number) { detail::check_number(comity_barrier_resize(&b_, number), bad_number); }

private:
    static constexpr const char *bad_number = "comity::barrier: the number must be at least 1 and at most max()";
    comity_barrier_t b_;
};

class latch {
public:
    explicit latch(unsigned count) noexcept { comity_latch_init(&l_, count); }
    ~latch() { comity_latch_fini(&l_); }
    latch(const latch &) = delete;
    latch &operator=(const latch &) = delete;

    // Throws std::invalid_argument when n is more than is left; then nothing has changed.
    void count_down(unsigned n = 1) {
        detail::check_number(comity_latch_count_down(&l_, n), "comity::latch: counted down below zero");
    }
    bool try_wait() const noexcept { return comity_latch_is_open(&l_); }
    // May switch. Those that wait throw `cancelled`.
    void wait() { cancelled::check(comity_latch_wait(&l_)); }
    void arrive_and_wait(unsigned n = 1) { // may switch
        count_down(n);
        wait();
    }
    template <class Rep, class Period> bool wait_for(std::chrono::duration<Rep, Period> t) {
        return cancelled::check(comity_latch_timedwait(&l_, deadline_in(t))) == 0;
    }
    template <class Clock, class Duration> bool wait_until(std::chrono::time_point<Clock, Duration> t) {
        return cancelled::check(comity_latch_timedwait(&l_, deadline_at(t))) == 0;
    }

private:
    comity_latch_t l_;
};

class event {
public:
    constexpr event() noexcept = default;
    ~event() { comity_event_fini(&e_); }
    event(const event &) = delete;
    event &operator=(const event &) = delete;

    void set() noexcept { comity_event_set(&e_); }
    void reset() noexcept { comity_event_reset(&e_); }
    bool is_set() const { return comity_event_is_set(&e_); }
    void wait() { cancelled::check(comity_event_wait(&e_)); } // may switch; those that wait throw `cancelled`
    template <class Rep, class Period> bool wait_for(std::chrono::duration<Rep, Period> t) {
        return cancelled::check(comity_event_timedwait(&e_, deadline_in(t))) == 0;
    }
    template <class Clock, class Duration> bool wait_until(std::chrono::time_point<Clock, Duration> t) {
        return cancelled::check(comity_event_timedwait(&e_, deadline_at(t))) == 0;
    }
    comity_event_t *native_handle() noexcept { return &e_; }

private:
    comity_event_t e_ = COMITY_EVENT_INIT;
};

class once_flag {
public:
    constexpr once_flag() noexcept = default;
    once_flag(const once_flag &) = delete;
    once_flag &operator=(const once_flag &) = delete;
    comity_once_t *native_handle() noexcept { return &o_; }

private:
    comity_once_t o_ = COMITY_ONCE_INIT;
};

// Calls it unless a call with this flag has returned. If it throws, so does this, and the next one tries. May switch.
template <class Function, class... Arguments>
requires(std::invocable<Function, Arguments...>) void call_once(once_flag &flag, Function &&f, Arguments &&...a) {
    if (!comity_once_begin(flag.native_handle())) return;
    try {
        std::invoke(std::forward<Function>(f), std::forward<Arguments>(a)...);
    } catch (...) {
        comity_once_end(flag.native_handle(), 0);
        throw;
    }
    comity_once_end(flag.native_handle(), 1);
}

} // namespace comity
