#include "personality/pthread/condition.hpp"

#include "core/runtime.hpp"
#include "sys/clock.hpp"
#include "sys/futex.hpp"

#include <bit>
#include <cerrno>
#include <new>

namespace comity::posix {

namespace {

constexpr std::uint64_t one_sleeper = std::uint64_t{1} << 32;

// Whoever signals a condition mostly holds the mutex for some more instructions.
int lock_soon(pthread_mutex_t *mutex) noexcept {
    for (const std::uint64_t from = sys::ticks(); sys::ticks() - from < core::ticks_per_us(); sys::cpu_relax())
        if (const int error = pthread_mutex_trylock(mutex); error != EBUSY) return error;
    return pthread_mutex_lock(mutex);
}

} // namespace

// A waiter between the unlock and the lock of its mutex. Cancelled, it does the same on the way out, and passes on a
// signal that may have been meant for it.
class condition::visit {
public:
    visit(condition &c, pthread_mutex_t *mutex) noexcept : condition_(c), mutex_(mutex) {}
    visit(const visit &) = delete;
    visit &operator=(const visit &) = delete;
    ~visit() {
        if (!inside_) return;
        wake_up();
        condition_.signal();
        leave();
        pthread_mutex_lock(mutex_);
    }
    void fall_asleep() noexcept {
        asleep_ = true;
        condition_.word_.fetch_add(one_sleeper, std::memory_order_acq_rel); // acq_rel[condition]
    }
    void wake_up() noexcept {
        if (asleep_) condition_.word_.fetch_sub(one_sleeper, std::memory_order_relaxed);
        asleep_ = false;
    }
    // The last use of the condition: whoever holds the mutex may destroy it now.
    void leave() noexcept {
        inside_ = false;
        condition_.inside_.fetch_sub(1, std::memory_order_release); // release[condition-left]
    }

private:
    condition &condition_;
    pthread_mutex_t *mutex_;
    bool asleep_ = false, inside_ = true;
};

std::uint32_t condition::signals() const noexcept {
    return static_cast<std::uint32_t>(word_.load(std::memory_order_acquire)); // acquire[condition]
}

// What the kernel compares; only its address is used.
const std::atomic<std::uint32_t> &condition::signals_word() const noexcept {
    static_assert(std::endian::native == std::endian::little);
    return *std::launder(reinterpret_cast<const std::atomic<std::uint32_t> *>(&word_));
}

int condition::wait(pthread_mutex_t *mutex, clockid_t clock, const timespec *deadline) {
    if (deadline && (deadline->tv_nsec < 0 || deadline->tv_nsec >= 1'000'000'000)) return EINVAL;
    pthread_testcancel(); // a spin is none: a thread whose waits all end in one would never be cancelled
    inside_.fetch_add(1, std::memory_order_relaxed);
    const std::uint32_t seen = signals(); // the mutex is held: a signal for what the caller has looked at comes later
    if (const int error = pthread_mutex_unlock(mutex); error != 0) {
        inside_.fetch_sub(1, std::memory_order_release); // release[condition-left]
        return error;
    }
    visit v(*this, mutex);
    const bool spun = worth_spinning() && spin(seen);
    const bool signalled = spun || sleep(v, seen, clock, deadline);
    v.leave();
    const int error = spun ? lock_soon(mutex) : pthread_mutex_lock(mutex);
    return error != 0 ? error : signalled ? 0 : ETIMEDOUT;
}

// After a spin in vain, others follow rarely until one succeeds: a thread that mostly waits long spends nothing on it.
bool condition::worth_spinning() noexcept {
    const std::int32_t luck = luck_.load(std::memory_order_relaxed);
    if (luck < 0) {
        luck_.store(luck + 1, std::memory_order_relaxed);
        return false;
    }
    return core::may_spin();
}

bool condition::spin(std::uint32_t seen) noexcept {
    constexpr std::int32_t most = 16, pause = 32; // one spin in vain in 33 waits; a third must succeed to go on
    const std::uint64_t from = sys::ticks(), length = core::spin_ticks();
    bool found = false;
    for (unsigned i = 1; !found; ++i) {
        if (i % 32 == 0 && (sys::ticks() - from > length || !core::may_spin())) break;
        sys::cpu_relax();
        found = signals() != seen;
    }
    const std::int32_t luck = luck_.load(std::memory_order_relaxed);
    luck_.store(found ? (luck < most ? luck + 2 : most) : luck > 0 ? luck - 1 : -pause, std::memory_order_relaxed);
    return found;
}

// False: the deadline has passed without a signal.
bool condition::sleep(visit &v, std::uint32_t seen, clockid_t clock, const timespec *deadline) {
    v.fall_asleep();
    for (;;) {
        const bool late =
            sys::futex_wait_cancellable(signals_word(), seen, clock, deadline) == sys::wait_result::timed_out;
        const bool signalled = signals() != seen;
        if (!signalled && !late) continue;
        v.wake_up();
        return signalled;
    }
}

// The change of the word is the last use of the object, unless somebody sleeps; and then the kernel only takes its
// address.
void condition::change(int wakes) noexcept {
    if (inside_.load(std::memory_order_relaxed) == 0) return; // whoever waits has counted itself in under the mutex
    std::uint64_t before = word_.load(std::memory_order_relaxed);
    std::uint64_t after;
    do // the low half wraps round by itself
        after = (before & ~(one_sleeper - 1)) | static_cast<std::uint32_t>(before + 1);
    while (!word_.compare_exchange_weak(before, after, std::memory_order_acq_rel, // acq_rel[condition]
                                        std::memory_order_relaxed));
    if (before >= one_sleeper) sys::futex_wake(signals_word(), wakes);
}

void condition::await_waiters() const noexcept {
    for (;;) {
        const std::uint32_t n = inside_.load(std::memory_order_acquire); // acquire[condition-left]
        if (n == 0) return;
        (void)sys::futex_wait_for(inside_, n, 100'000); // nobody wakes us; it is a matter of microseconds
    }
}

} // namespace comity::posix
