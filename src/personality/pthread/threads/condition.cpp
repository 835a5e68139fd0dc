// Condition variables in the bytes of a pthread_cond_t. README.md, "Condition".
#include "personality/pthread/condition.hpp"
#include "personality/pthread/c_library.hpp"
#include "personality/pthread/threads/mutex.hpp"
#include "personality/pthread/threads/sleeping_call.hpp"
#include "sys/message.hpp"

namespace comity::posix {

namespace {

// Before a wait. The usual thread, which does not mostly sleep in calls, pays two looks for the others.
bool stays_away() noexcept {
    const thread *t = current_thread;
    if (t && t->habit.sleeps != 0) [[unlikely]]
        return habit::before_wait();
    come_home();
    return false;
}

class waiting_room {
public:
    // The mutex is held, and again afterwards. May switch.
    int wait(pthread_mutex_t *m, std::int64_t deadline) {
        const bool away = stays_away();
        test_cancel();
        inside_.fetch_add(1, std::memory_order_relaxed);
        const std::uint32_t seen = signals_.load(std::memory_order_relaxed);
        mutex *own = mutex_in(m);
        if (own) own->count_waiting(1);
        if (const int error = pthread_mutex_unlock(m)) {
            if (own) own->count_waiting(-1);
            leave();
            return error;
        }
        const auto signalled = [this, seen]() noexcept {
            return signals_.load(std::memory_order_acquire) != seen; // acquire[posix-condition]
        };
        signalled_wait e;
        do e = wait_or_signal<true>(this, signalled, deadline, !core::is_paced_by_calls());
        while (e == signalled_wait::signalled); // a handler has run: as the C library's, it waits on
        leave();
        if (away) habit::after_wait();
        if (const int error = own ? own->lock_until(sys::no_deadline) : pthread_mutex_lock(m)) return error;
        if (own) own->count_waiting(-1);
        act_upon(e); // a cancelled thread runs its cleanup handlers with the mutex held
        return e == signalled_wait::late ? ETIMEDOUT : 0;
    }
    // Whoever waits has counted itself in while it held the mutex, under which the condition was made true.
    bool nobody_is_inside() const noexcept { return inside_.load(std::memory_order_relaxed) == 0; }
    // Where somebody is.
    void signal() noexcept {
        signals_.fetch_add(1, std::memory_order_release); // release[posix-condition]
        sync::wake_one_at(this);
    }
    void broadcast() noexcept {
        signals_.fetch_add(1, std::memory_order_release); // release[posix-condition]
        sync::wake_all_at(this);
    }
    // Those that were woken may still be on their way out.
    void wait_until_left() noexcept {
        const auto left = [this]() noexcept {
            return inside_.load(std::memory_order_acquire) == 0; // acquire[posix-condition-left]
        };
        (void)sync::wait_at(&inside_, left, sys::no_deadline);
    }

private:
    // The last use of the object but for its address.
    void leave() noexcept {
        if (inside_.fetch_sub(1, std::memory_order_release) == 1) // release[posix-condition-left]
            sync::wake_all_at(&inside_);
    }

    std::atomic<std::uint32_t> signals_; // so far; may wrap
    std::atomic<std::uint32_t> inside_;  // who waits, or is on the way out
};
static_assert(sizeof(waiting_room) <= sizeof(condition)); // what c_library has made sure of

// Null: the C library serves it, being shared between processes.
waiting_room *ours(pthread_cond_t *c) noexcept {
    return !is_aside() && c_library::is_private(c) ? &in<waiting_room>(c) : nullptr;
}

// The C library would look for its own mutex in the bytes of ours.
void refuse_mixed(pthread_mutex_t *m) noexcept {
    if (mutex_in(m))
        sys::fatal("pthread_cond_wait", "a condition variable that is shared between processes is waited for with a "
                                        "mutex that is not; run the program without Comity's threads");
}

// One that the C library serves. wait(&deadline) has it wait. The C library sees to it that the first thread is
// cancelled.
template <class Wait> int wait_for_shared(pthread_mutex_t *m, const timespec *deadline, Wait wait) {
    refuse_mixed(m);
    if (!current_thread) return wait_on([=] { return wait(deadline); }, call_ends::by_nothing);
    int error = 0;
    return is_asked_in(wait, deadline, error) ? 0 : error;
}

} // namespace
} // namespace comity::posix

using namespace comity::posix;

// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): glibc's names are reserved ones

COMITY_INTERPOSED int pthread_cond_wait(pthread_cond_t *c, pthread_mutex_t *m) {
    if (waiting_room *own = ours(c)) return own->wait(m, comity::sys::no_deadline);
    return wait_for_shared(m, nullptr, [=](const timespec *until) {
        return until ? c_library::timed_wait(c, m, until) : c_library::wait(c, m);
    });
}
COMITY_INTERPOSED int pthread_cond_clockwait(pthread_cond_t *c, pthread_mutex_t *m, clockid_t clock,
                                             const timespec *deadline) {
    waiting_room *own = ours(c);
    if (!own)
        return wait_for_shared(m, deadline,
                               [=](const timespec *until) { return c_library::clock_wait(c, m, clock, until); });
    if (!is_clock(clock) || !is_time(deadline)) return EINVAL;
    return own->wait(m, deadline_of(clock, *deadline));
}
COMITY_INTERPOSED int pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m, const timespec *deadline) {
    if (ours(c)) return pthread_cond_clockwait(c, m, c_library::clock_of(c), deadline);
    return wait_for_shared(m, deadline, [=](const timespec *until) { return c_library::timed_wait(c, m, until); });
}
COMITY_INTERPOSED int pthread_cond_signal(pthread_cond_t *c) noexcept {
    waiting_room *own = ours(c);
    if (!own) return c_library::signal(c);
    return own->nobody_is_inside() ? 0 : (own->signal(), 0);
}
COMITY_INTERPOSED int pthread_cond_broadcast(pthread_cond_t *c) noexcept {
    waiting_room *own = ours(c);
    if (!own) return c_library::broadcast(c);
    return own->nobody_is_inside() ? 0 : (own->broadcast(), 0);
}
COMITY_INTERPOSED int pthread_cond_destroy(pthread_cond_t *c) noexcept {
    waiting_room *own = ours(c);
    if (!own) return c_library::destroy(c);
    own->wait_until_left();
    return 0;
}

// NOLINTEND(readability-inconsistent-declaration-parameter-name)
