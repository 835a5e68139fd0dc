#include "sync/mutex.hpp"

#include "core/callbacks.hpp"
#include "core/chaos.hpp"
#include "core/sched.hpp"
#include "sync/lock_spin.hpp"
#include "sys/called_function.hpp"
#include "sys/clock.hpp"
#include "sys/message.hpp"

#include "comity/core.h"

namespace comity::sync {

namespace {

constexpr std::int64_t patience_ns = 1'000'000; // who has waited for longer gets the mutex handed over

[[noreturn, gnu::noinline, gnu::cold]] void not_locked() noexcept {
    sys::fatal(sys::called_function("comity_mutex_unlock").name(), "the mutex is not locked");
}

} // namespace

bool mutex::try_lock() noexcept {
    std::uint32_t s = state_.load(std::memory_order_relaxed);
    while (!(s & (locked | starving)))
        if (state_.compare_exchange_weak(s, s | locked, std::memory_order_acquire,
                                         std::memory_order_relaxed)) // acquire[mutex]
            return true;
    return false;
}

// Waits a little for the holder to leave. `awake`: this waiter has told unlock not to wake another.
void mutex::spin(bool &awake) noexcept {
    lock_spin spin(1000);
    do {
        std::uint32_t s = state_.load(std::memory_order_relaxed);
        if ((s & (locked | starving)) != locked) return;
        if (!awake && !(s & woken) && waiters_of(s) != 0 &&
            state_.compare_exchange_strong(s, s | woken, std::memory_order_relaxed))
            awake = true;
    } while (spin.again());
}

// The deadline has passed before: as wait_list::look_late.
bool mutex::lock_late() noexcept {
    (void)core::let_others_run();
    return try_lock();
}

// In a scheduler's callback, which nothing stops (mutex page, rule 7).
bool mutex::lock_in_place(std::int64_t deadline) noexcept {
    for (core::wait_in_place w; !try_lock() && !take_from_successor(); w.pause())
        if (deadline != sys::no_deadline && sys::now_ns() >= deadline) return false;
    return true;
}

// Handed over, it is nobody's before its successor comes, who may have no hart, while the caller has one. Takes the
// permit in the successor's place, which goes on waiting.
bool mutex::take_from_successor() noexcept {
    if ((state_.load(std::memory_order_relaxed) & (locked | starving)) != starving) return false;
    std::uint32_t n = permits_.load(std::memory_order_relaxed);
    if (n == 0 || !permits_.compare_exchange_strong(n, n - 1, std::memory_order_acquire,
                                                    std::memory_order_relaxed)) // acquire[mutex-permit]
        return false;
    core::chaos_point();
    std::uint32_t s = state_.load(std::memory_order_relaxed);
    while ((s & (locked | starving)) == starving)
        if (state_.compare_exchange_weak(s, s | locked, std::memory_order_acquire, // acquire[mutex]
                                         std::memory_order_relaxed))
            return true;
    // The successor had come meanwhile, and this permit was somebody else's.
    waiters_.wake(1, [this]() noexcept {
        permits_.fetch_add(1, std::memory_order_release); // release[mutex-permit]
        return true;
    });
    return false;
}

bool mutex::lock_slow(std::int64_t deadline) noexcept {
    if (core::in_callback()) return lock_in_place(deadline);
    bool awake = false, impatient = false, late = false;
    bool may_still_spin = true;
    std::int64_t since = 0;
    for (;;) {
        if (may_still_spin) spin(awake);
        may_still_spin = false;
        std::uint32_t s = state_.load(std::memory_order_relaxed);
        const bool barred = s & (locked | starving), gives_up = barred && late;
        std::uint32_t to = s;
        if (!(s & starving)) to |= locked;
        if (barred && !gives_up) to += one_waiter;
        if (impatient && !gives_up && (s & locked)) to |= starving;
        if (awake) to &= ~woken;
        core::chaos_point();
        if (!state_.compare_exchange_strong(s, to, std::memory_order_acquire,
                                            std::memory_order_relaxed)) // acquire[mutex]
            continue;
        if (!barred || gives_up) return !barred;
        if (since == 0) since = sys::now_ns();
        if (!wait_for_permit(deadline)) {
            if (count_off()) return false;
            wait_for_permit(sys::no_deadline);
            late = true;
        }
        impatient = impatient || sys::now_ns() - since > patience_ns;
        if (state_.load(std::memory_order_relaxed) & starving) {
            take_over(impatient);
            return true;
        }
        awake = true;
        may_still_spin = !late;
    }
}

// With a permit while it is starving: the mutex is the caller's, unlocked for nobody else.
void mutex::take_over(bool impatient) noexcept {
    std::uint32_t s = state_.load(std::memory_order_relaxed), to = 0;
    do {
        to = s + locked - one_waiter;
        if (!impatient || waiters_of(to) == 0) to &= ~starving;
    } while (!state_.compare_exchange_weak(s, to, std::memory_order_acquire, // acquire[mutex]
                                           std::memory_order_relaxed));
}

// A waiter gives up before it has a permit. False: there is one for each who is left, so it must take its own.
bool mutex::count_off() noexcept {
    std::uint32_t s = state_.load(std::memory_order_relaxed), to = 0;
    do {
        const bool handed_over = (s & (starving | locked)) == starving;
        if (waiters_of(s) == (handed_over ? 1 : 0)) return false;
        to = s - one_waiter;
        if (waiters_of(to) == 0) to &= ~starving;
        core::chaos_point();
    } while (!state_.compare_exchange_weak(s, to, std::memory_order_relaxed));
    return true;
}

// Under the list's lock, since somebody may lock the mutex, unlock and destroy it as soon as it is free.
void mutex::unlock_slow() noexcept {
    waiters_.wake(1, [this]() noexcept {
        const std::uint32_t before = state_.fetch_sub(locked, std::memory_order_release); // release[mutex]
        if (!(before & locked)) not_locked();
        std::uint32_t s = before - locked;
        bool gives = s & starving;
        while (!gives && waiters_of(s) != 0 && !(s & (locked | woken | starving)))
            gives = state_.compare_exchange_weak(s, (s - one_waiter) | woken, std::memory_order_relaxed);
        if (gives) permits_.fetch_add(1, std::memory_order_release); // release[mutex-permit]
        return gives;
    });
}

bool mutex::wait_for_permit(std::int64_t deadline) noexcept {
    for (;;) {
        if (!waiters_.block_until([this]() noexcept { return permits_.load(std::memory_order_relaxed) != 0; },
                                  deadline))
            return false;
        std::uint32_t n = permits_.load(std::memory_order_relaxed);
        while (n != 0)
            if (permits_.compare_exchange_weak(n, n - 1, std::memory_order_acquire,
                                               std::memory_order_relaxed)) // acquire[mutex-permit]
                return true;
    }
}

} // namespace comity::sync
