// Mutexes of the types normal, recursive and error-checking, in the bytes of a pthread_mutex_t. README.md, "Mutex".
#include "personality/pthread/threads/mutex.hpp"
#include "personality/pthread/threads/faults.hpp"
#include "personality/pthread/threads/sleeping_call.hpp"
#include "sync/lock_spin.hpp"

#include "core/callbacks.hpp"
#include "core/tls/block.hpp"

namespace comity::posix {

namespace {

COMITY_NEXT_SYMBOL next<int (*)(pthread_mutex_t *, const pthread_mutexattr_t *)> next_init{"pthread_mutex_init"};
COMITY_NEXT_SYMBOL next<int (*)(pthread_mutex_t *)> next_lock{"pthread_mutex_lock"};
COMITY_NEXT_SYMBOL next<int (*)(pthread_mutex_t *)> next_trylock{"pthread_mutex_trylock"};
COMITY_NEXT_SYMBOL next<int (*)(pthread_mutex_t *)> next_unlock{"pthread_mutex_unlock"};
COMITY_NEXT_SYMBOL next<int (*)(pthread_mutex_t *)> next_destroy{"pthread_mutex_destroy"};
COMITY_NEXT_SYMBOL next<int (*)(pthread_mutex_t *, const timespec *)> next_timedlock{"pthread_mutex_timedlock"};
COMITY_NEXT_SYMBOL next<int (*)(pthread_mutex_t *, clockid_t, const timespec *)> next_clocklock{
    "pthread_mutex_clocklock"};

// One that the C library serves. Where the kernel owns it, for a priority that is inherited, the wait stays on its
// kernel thread. Apart from its callers, which mostly need no frame.
template <class Lock> [[gnu::noinline]] int lock_shared(pthread_mutex_t *m, Lock lock) {
    if (!receiver_here()) return lock();
    const int error = next_trylock.get()(m);
    return error == EBUSY ? wait_on(lock, call_ends::by_asynchronous_requests, !in<mutex>(m).inherits_priority())
                          : error;
}

[[gnu::noinline]] int unlock_shared(pthread_mutex_t *m) noexcept { return next_unlock.get()(m); }

} // namespace

void give_turn_after_look() noexcept {
    // Not in the kernel's handlers, as of faults on who has no receiver: while their signals are blocked, and on their
    // stacks, nobody else may run. Ours open what they have closed.
    const auto has_our_handlers = []() noexcept {
        if (in_vforked_child()) return false;
        return receiver_here() || (first_thread_handle() != 0 && !is_in_fault_handler());
    };
    sync::give_turn_after_look(has_our_handlers);
}

// Robust ones are told of by the kernel when that thread ends, and others with an owner compare the ids: threads of two
// processes must not have the same one. Without a kernel thread the mutex works, but for that.
void note_known_owner() noexcept {
    thread *t = current_thread;
    if (!t || t->is_known_owner) return;
    t->is_known_owner = true;
    (void)core::keep_kernel_thread(core::current_context()->tls);
}

// Has it been taken by the caller before? Then the result says what that means; else -1.
int mutex::lock_again() noexcept {
    if (owner_.load(std::memory_order_relaxed) != self()) return -1;
    if (type() == PTHREAD_MUTEX_ERRORCHECK) return EDEADLK;
    if (count_ == UINT32_MAX) return EAGAIN;
    ++count_;
    return 0;
}

// Where nothing may switch: Comity itself has called the C library, which allocates by the program's functions, or the
// caller is in a scheduler's callback. The lock is held for a short time.
bool mutex::take_in_place(std::int64_t deadline) noexcept {
    for (core::wait_in_place w; !take(); w.pause())
        if (deadline != sys::no_deadline && sys::now_ns() >= deadline) return false;
    return true;
}

bool mutex::wait(std::int64_t deadline, at_request how) {
    std::uint32_t seen = word_.load(std::memory_order_relaxed);
    const thread *t = how == at_request::ends ? current_thread : nullptr;
    const bool ends = t && t->cancel_type == PTHREAD_CANCEL_ASYNCHRONOUS;
    auto may_try = [this, t, ends]() noexcept {
        return word_.load(std::memory_order_relaxed) != contended || (ends && is_to_be_cancelled(t->signals));
    };
    for (;;) {
        // Whoever has waited cannot know whether others do, so it takes the mutex as contended.
        seen = word_.exchange(contended, std::memory_order_acquire); // acquire[posix-mutex]
        if (seen == free) return true;
        if (!wait_for(this, may_try, deadline)) return false;
        if (ends && is_to_be_cancelled(t->signals)) {
            wake(); // it may have been woken to take the mutex
            cancel_at_once();
        }
        (void)spin(); // who has just been woken would find that the one who woke him has it again
    }
}

void mutex::wake() noexcept { sync::wake_one_at(this); }

int mutex::lock_until(std::int64_t deadline, at_request how) {
    if (!has_owner()) return take() || lock_slowly(deadline, how) ? 0 : ETIMEDOUT;
    if (const int again = lock_again(); again >= 0) return again;
    if (!take() && !lock_slowly(deadline, how)) return ETIMEDOUT;
    owner_.store(self(), std::memory_order_relaxed);
    return 0;
}

bool mutex::lock_slowly(std::int64_t deadline, at_request how) {
    if (core::waits_in_place()) return take_in_place(deadline);
    sync::give_turn();
    return (spin() && take()) || wait(deadline, how);
}

// The holder may be about to leave. Is it free?
bool mutex::spin() noexcept {
    sync::lock_spin spin(30);
    do
        if (word_.load(std::memory_order_relaxed) == free) return true;
    while (spin.again());
    return false;
}

int mutex::try_lock() noexcept {
    if (take()) {
        if (has_owner()) owner_.store(self(), std::memory_order_relaxed);
        return 0;
    }
    if (type() != PTHREAD_MUTEX_RECURSIVE) return EBUSY;
    const int again = lock_again();
    return again < 0 ? EBUSY : again;
}

int mutex::unlock_by_owner() noexcept {
    if (owner_.load(std::memory_order_relaxed) != self()) return EPERM;
    if (count_ != 0) {
        --count_;
        return 0;
    }
    owner_.store(pthread_t{}, std::memory_order_relaxed);
    leave();
    return 0;
}

} // namespace comity::posix

using comity::posix::in;
using comity::posix::mutex;
using comity::posix::mutex_in;

// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): glibc's names are reserved ones

COMITY_INTERPOSED int pthread_mutex_init(pthread_mutex_t *m, const pthread_mutexattr_t *a) noexcept {
    const int error = comity::posix::next_init.get()(m, a);
    if (error == 0) comity::posix::in<mutex>(m).end_inheritance();
    return error;
}
// By names of ours: those of the headers do not throw, and this may unwind.
COMITY_INTERPOSED int lock_mutex(pthread_mutex_t *m) __asm__("pthread_mutex_lock");
COMITY_INTERPOSED int clocklock_mutex(pthread_mutex_t *m, clockid_t clock,
                                      const timespec *deadline) __asm__("pthread_mutex_clocklock");
COMITY_INTERPOSED int timedlock_mutex(pthread_mutex_t *m, const timespec *deadline) __asm__("pthread_mutex_timedlock");

int lock_mutex(pthread_mutex_t *m) {
    if (in<mutex>(m).lock_if_plain()) [[likely]]
        return 0;
    mutex *own = mutex_in(m);
    if (!own) return comity::posix::lock_shared(m, [m] { return comity::posix::next_lock.get()(m); });
    return own->lock(mutex::at_request::ends);
}
COMITY_INTERPOSED int pthread_mutex_trylock(pthread_mutex_t *m) noexcept {
    mutex *own = mutex_in(m);
    return comity::posix::after_look(own ? own->try_lock() : comity::posix::next_trylock.get()(m));
}
COMITY_INTERPOSED int pthread_mutex_unlock(pthread_mutex_t *m) noexcept {
    if (in<mutex>(m).unlock_if_plain()) [[likely]]
        return 0;
    mutex *own = mutex_in(m);
    return own ? own->unlock() : comity::posix::unlock_shared(m);
}
int clocklock_mutex(pthread_mutex_t *m, clockid_t clock, const timespec *deadline) {
    mutex *own = mutex_in(m);
    if (!comity::posix::is_clock(clock)) return EINVAL;
    if (!own)
        return comity::posix::lock_shared(m, [=] { return comity::posix::next_clocklock.get()(m, clock, deadline); });
    if (const int error = own->try_lock(); error != EBUSY) return error;
    if (!comity::posix::is_time(deadline)) return EINVAL;
    return own->lock_until(comity::posix::deadline_of(clock, *deadline), mutex::at_request::ends);
}
int timedlock_mutex(pthread_mutex_t *m, const timespec *deadline) {
    if (mutex_in(m)) return clocklock_mutex(m, CLOCK_REALTIME, deadline);
    return comity::posix::lock_shared(m, [=] { return comity::posix::next_timedlock.get()(m, deadline); });
}
COMITY_INTERPOSED int pthread_mutex_destroy(pthread_mutex_t *m) noexcept {
    mutex *own = mutex_in(m);
    if (!own) return comity::posix::next_destroy.get()(m);
    return own->is_in_use() ? EBUSY : 0;
}

COMITY_ALSO_NAMED(__pthread_mutex_init, pthread_mutex_init);
COMITY_ALSO_NAMED(__pthread_mutex_lock, pthread_mutex_lock);
COMITY_ALSO_NAMED(__pthread_mutex_trylock, pthread_mutex_trylock);
COMITY_ALSO_NAMED(__pthread_mutex_unlock, pthread_mutex_unlock);
COMITY_ALSO_NAMED(__pthread_mutex_destroy, pthread_mutex_destroy);

// NOLINTEND(readability-inconsistent-declaration-parameter-name)
