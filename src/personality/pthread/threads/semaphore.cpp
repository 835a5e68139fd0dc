// Unnamed semaphores of one process in the bytes of a sem_t. README.md, "Semaphore".
#include "personality/pthread/threads/sleeping_call.hpp"
#include "sync/lock_spin.hpp"

#include <climits>

#include <semaphore.h>

namespace comity::posix {

namespace {

COMITY_NEXT_SYMBOL next<int (*)(sem_t *, int, unsigned)> next_init{"sem_init"};
COMITY_NEXT_SYMBOL next<int (*)(sem_t *)> next_destroy{"sem_destroy"};
COMITY_NEXT_SYMBOL next<int (*)(sem_t *)> next_post{"sem_post"};
COMITY_NEXT_SYMBOL next<int (*)(sem_t *)> next_wait{"sem_wait"};
COMITY_NEXT_SYMBOL next<int (*)(sem_t *)> next_trywait{"sem_trywait"};
COMITY_NEXT_SYMBOL next<int (*)(sem_t *, int *)> next_getvalue{"sem_getvalue"};
COMITY_NEXT_SYMBOL next<int (*)(sem_t *, const timespec *)> next_timedwait{"sem_timedwait"};
COMITY_NEXT_SYMBOL next<int (*)(sem_t *, clockid_t, const timespec *)> next_clockwait{"sem_clockwait"};

// Where the C library's has its value and the number of those who wait; the mark lies where it has nothing.
class semaphore {
public:
    static bool is_ours(const semaphore &s) noexcept { return s.mark_ == mark; }
    void make(unsigned value) noexcept {
        state_.store(value, std::memory_order_relaxed);
        unused_[0] = unused_[1] = 0;
        mark_ = mark;
    }
    void end() noexcept { mark_ = 0; }
    bool try_wait() noexcept { return take(0); }
    signalled_wait wait_until(std::int64_t deadline) {
        auto some = [this]() noexcept { return value() != 0; };
        if (try_wait()) return signalled_wait::done;
        sync::give_turn();
        if (sync::wait_list::spin_for(some, deadline) && try_wait()) return signalled_wait::done;
        state_.fetch_add(one_waiter, std::memory_order_relaxed);
        do {
            const signalled_wait e = wait_or_signal<true>(this, some, deadline);
            if (e == signalled_wait::done) continue;
            state_.fetch_sub(one_waiter, std::memory_order_relaxed);
            return e;
        } while (!take(one_waiter));
        return signalled_wait::done;
    }
    // False: the value cannot be raised.
    bool post() noexcept {
        std::uint64_t s = state_.load(std::memory_order_relaxed);
        do
            if (static_cast<std::uint32_t>(s) == SEM_VALUE_MAX) return false;
        while (!state_.compare_exchange_weak(s, s + 1, std::memory_order_release, // release[posix-semaphore]
                                             std::memory_order_relaxed));
        // From here on the semaphore may be gone: only its address is used.
        if (s / one_waiter != 0) sync::wake_one_at(this);
        return true;
    }
    std::uint32_t value() const noexcept { return static_cast<std::uint32_t>(state_.load(std::memory_order_relaxed)); }

private:
    static constexpr std::uint64_t one_waiter = std::uint64_t{1} << 32, mark = 0x636f6d697479'73;
    // Takes one, and takes the caller off those who wait.
    bool take(std::uint64_t off) noexcept {
        std::uint64_t s = state_.load(std::memory_order_relaxed);
        while (static_cast<std::uint32_t>(s) != 0)
            if (state_.compare_exchange_weak(s, s - 1 - off, std::memory_order_acquire, // acquire[posix-semaphore]
                                             std::memory_order_relaxed))
                return true;
        return false;
    }

    std::atomic<std::uint64_t> state_; // the value, and above it the number of those who wait or are about to
    std::uint64_t unused_[2];
    std::uint64_t mark_;
};

// Null: the C library serves it, being shared between processes.
semaphore *ours(sem_t *s) noexcept {
    semaphore &own = in<semaphore>(s);
    return semaphore::is_ours(own) ? &own : nullptr;
}

int fail(int error) noexcept {
    errno = error;
    return -1;
}

// After a look in vain. Apart from its callers, which mostly need no frame, as the next function.
[[gnu::noinline]] int wait(semaphore *own, std::int64_t deadline) {
    const bool away = habit::before_wait();
    begin_signals(); // a handler ends the wait, or posts, also where no thread was created
    const signalled_wait e = own->wait_until(deadline);
    if (away) habit::after_wait();
    act_upon(e);
    if (e == signalled_wait::signalled) return fail(EINTR);
    return e == signalled_wait::late ? fail(ETIMEDOUT) : 0;
}

// One that the C library serves.
template <class Wait> [[gnu::noinline]] int wait_for_shared(sem_t *s, Wait wait, after_handler after) {
    if (!receiver_here()) return wait();
    test_cancel();
    const int before = errno;
    if (next_trywait.get()(s) == 0) return 0;
    errno = before;
    return without_hart(wait, {after, true});
}

} // namespace
} // namespace comity::posix

using namespace comity::posix;

// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): glibc's names are reserved ones

COMITY_INTERPOSED int sem_init(sem_t *s, int shared, unsigned value) noexcept {
    if (const int error = next_init.get()(s, shared, value)) return error;
    shared || is_aside() ? in<semaphore>(s).end() : in<semaphore>(s).make(value);
    return 0;
}
COMITY_INTERPOSED int sem_destroy(sem_t *s) noexcept {
    if (!ours(s)) return next_destroy.get()(s);
    in<semaphore>(s).end();
    return 0;
}
COMITY_INTERPOSED int sem_post(sem_t *s) noexcept {
    semaphore *own = ours(s);
    if (!own) return next_post.get()(s);
    return own->post() ? 0 : fail(EOVERFLOW);
}
COMITY_INTERPOSED int sem_wait(sem_t *s) {
    semaphore *own = ours(s);
    if (!own)
        return wait_for_shared(
            s, [=] { return next_wait.get()(s); }, after_handler::begins_anew);
    test_cancel(); // also if it need not wait
    return own->try_wait() ? 0 : wait(own, comity::sys::no_deadline);
}
COMITY_INTERPOSED int sem_trywait(sem_t *s) noexcept {
    semaphore *own = ours(s);
    if (own ? own->try_wait() : next_trywait.get()(s) == 0) {
        comity::core::note_progress_in_loop();
        return 0;
    }
    const int error = own ? EAGAIN : errno;
    if (error == EAGAIN) comity::posix::give_turn_after_look();
    return fail(error);
}
COMITY_INTERPOSED int sem_clockwait(sem_t *s, clockid_t clock, const timespec *deadline) {
    semaphore *own = ours(s);
    if (!is_clock(clock)) return fail(EINVAL);
    if (!own)
        return wait_for_shared(
            s, [=] { return next_clockwait.get()(s, clock, deadline); }, after_handler::ends);
    test_cancel();
    if (own->try_wait()) return 0;
    return is_time(deadline) ? wait(own, deadline_of(clock, *deadline)) : fail(EINVAL);
}
COMITY_INTERPOSED int sem_timedwait(sem_t *s, const timespec *deadline) {
    if (ours(s)) return sem_clockwait(s, CLOCK_REALTIME, deadline);
    return wait_for_shared(
        s, [=] { return next_timedwait.get()(s, deadline); }, after_handler::ends);
}
COMITY_INTERPOSED int sem_getvalue(sem_t *s, int *value) noexcept {
    const semaphore *own = ours(s);
    if (!own) return next_getvalue.get()(s, value);
    *value = static_cast<int>(own->value());
    return 0;
}

// NOLINTEND(readability-inconsistent-declaration-parameter-name)
