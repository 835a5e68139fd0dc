// Mutex: src/sync/mutex.cpp, its state word and permits. Three contexts lock it twice each, the second time two of them
// with a deadline; whether one has waited for too long, or its deadline has passed, is up to the search. Waiting for a
// permit is the wait list's (wait_list.cpp) and stands here as a condition variable, so a permit may also be taken by
// one that never slept. The second model: one context is in a scheduler's callback, which nothing stops, and waits
// where it stands (lock_in_place).
#include "checker.hpp"

namespace model {
namespace {

enum bug {
    none,
    lock_relaxed,
    unlock_relaxed,
    newcomers_lock_while_starving,
    woken_is_not_cleared,
    starving_is_not_cleared,
    unlock_wakes_nobody,
    waiter_is_not_counted_off,
    gives_up_blindly,
    gives_up_starving,
    gives_up_woken,
    takes_without_a_permit
};

template <bool in_place> struct mutex : rl::test_suite<mutex<in_place>, 3> {
    static constexpr unsigned locked = 1, woken = 2, starving = 4, one_waiter = 8;
    // Who stays in place locks once, and the others often enough for a permit of another kind to be out meanwhile.
    static constexpr unsigned rounds_of(unsigned id) { return in_place ? (id == 2 ? 1 : 3) : 2; }
    atomic<unsigned> state_, permits_;
    rl::mutex waiting;
    rl::condition_variable given;
    var<unsigned> inside;
    atomic<unsigned> refused;

    void before() {
        state_.store(0, mo_relaxed, $);
        permits_.store(0, mo_relaxed, $);
        refused.store(0, mo_relaxed, $);
        inside($) = 0;
    }
    bool wait_for_permit(bool may_be_late) {
        waiting.lock($);
        for (;;) {
            unsigned n = permits_.load(mo_relaxed, $);
            if (n && permits_.compare_exchange_strong(n, n - 1, mo_acquire, $, mo_relaxed, $))
                break; // acquire[mutex-permit]
            if (may_be_late && rl::rand(2)) {
                waiting.unlock($);
                return false;
            }
            given.wait(waiting, $);
        }
        waiting.unlock($);
        return true;
    }
    void take_over(bool impatient) {
        unsigned s = state_.load(mo_relaxed, $), to = 0;
        do {
            to = s + locked - one_waiter;
            if ((!impatient || to / one_waiter == 0) && !seeded(starving_is_not_cleared)) to &= ~starving;
        } while (!state_.compare_exchange_weak(s, to, mo_acquire, $, mo_relaxed, $)); // acquire[mutex]
    }
    bool count_off() {
        unsigned s = state_.load(mo_relaxed, $), to = 0;
        do {
            const bool handed_over = (s & (starving | locked)) == starving;
            if (s / one_waiter == (handed_over ? 1 : 0) && !seeded(gives_up_blindly)) return false;
            to = s - one_waiter;
            if (to / one_waiter == 0 && !seeded(gives_up_starving)) to &= ~starving;
        } while (!state_.compare_exchange_weak(s, to, mo_relaxed, $, mo_relaxed, $));
        return true;
    }
    bool lock(bool may_be_late) {
        unsigned free = state_.load(mo_relaxed, $);
        if (!(free & (locked | starving)) &&
            state_.compare_exchange_strong(free, free | locked, unless(lock_relaxed, mo_acquire), $, mo_relaxed, $))
            return true; // acquire[mutex]
        bool awake = false, impatient = false, late = false;
        for (;;) {
            unsigned s = state_.load(mo_relaxed, $), to = s;
            if (!late && !awake && (s & (locked | starving)) == locked && !(s & woken) && s / one_waiter != 0 &&
                rl::rand(2)) {
                // spin: tells unlock not to wake another
                if (state_.compare_exchange_strong(s, s | woken, mo_relaxed, $)) awake = true;
                continue;
            }
            const bool kept_out = s & starving && !seeded(newcomers_lock_while_starving);
            const bool barred = s & locked || kept_out, gives_up = barred && late;
            if (!kept_out) to |= locked;
            if (barred && !gives_up) to += one_waiter;
            if (impatient && !gives_up && s & locked) to |= starving;
            if (awake && !seeded(woken_is_not_cleared) && !(gives_up && seeded(gives_up_woken))) to &= ~woken;
            if (!state_.compare_exchange_strong(s, to, unless(lock_relaxed, mo_acquire), $, mo_relaxed, $))
                continue; // acquire[mutex]
            if (!barred || gives_up) return !barred;
            if (!wait_for_permit(may_be_late)) {
                if (count_off()) return false;
                wait_for_permit(false);
                late = true;
            }
            impatient = impatient || rl::rand(2);
            if (state_.load(mo_relaxed, $) & starving) {
                take_over(impatient);
                return true;
            }
            awake = true;
        }
    }
    bool try_lock() {
        unsigned s = state_.load(mo_relaxed, $);
        while (!(s & (locked | starving)))
            if (state_.compare_exchange_weak(s, s | locked, mo_acquire, $, mo_relaxed, $))
                return true; // acquire[mutex]
        return false;
    }
    bool take_from_successor() {
        unsigned s = state_.load(mo_relaxed, $);
        if ((s & (locked | starving)) != starving) return false;
        unsigned n = permits_.load(mo_relaxed, $);
        if (!seeded(takes_without_a_permit) &&
            (n == 0 || !permits_.compare_exchange_strong(n, n - 1, mo_acquire, $, mo_relaxed, $)))
            return false; // acquire[mutex-permit]
        s = state_.load(mo_relaxed, $);
        while ((s & (locked | starving)) == starving)
            if (state_.compare_exchange_weak(s, s | locked, mo_acquire, $, mo_relaxed, $))
                return true; // acquire[mutex]
        waiting.lock($);
        permits_.fetch_add(1, mo_release, $); // release[mutex-permit]
        given.notify_all($);
        waiting.unlock($);
        return false;
    }
    // The successor has no hart before the caller's callback is over.
    bool lock_in_place() {
        rl::linear_backoff b;
        while (!try_lock() && !take_from_successor()) b.yield($);
        return true;
    }
    void unlock() {
        unsigned held = state_.load(mo_relaxed, $);
        const bool owes_wake = held & starving || (held / one_waiter != 0 && !(held & woken));
        if (!owes_wake &&
            state_.compare_exchange_strong(held, held & ~locked, unless(unlock_relaxed, mo_release), $, mo_relaxed, $))
            return; // release[mutex]
        waiting.lock($);
        const unsigned before = state_.fetch_sub(+locked, unless(unlock_relaxed, mo_release), $); // release[mutex]
        RL_ASSERT(before & locked);
        unsigned s = before - locked;
        bool gives = s & starving;
        while (!gives && s / one_waiter != 0 && !(s & (locked | woken | starving)) && !seeded(unlock_wakes_nobody)) {
            const unsigned to = (seeded(waiter_is_not_counted_off) ? s : s - one_waiter) | woken;
            gives = state_.compare_exchange_weak(s, to, mo_relaxed, $, mo_relaxed, $);
        }
        if (gives) {
            permits_.fetch_add(1, mo_release, $); // release[mutex-permit]
            given.notify_all($);
        }
        waiting.unlock($);
    }
    void thread(unsigned id) {
        for (unsigned i = 0; i < rounds_of(id); ++i) {
            const bool stays = in_place && id == 2;
            if (!(stays ? lock_in_place() : lock(i == 1 && id != 0))) {
                refused.fetch_add(1, mo_relaxed, $);
                continue;
            }
            inside($) = inside($) + 1;
            unlock();
        }
    }
    void after() {
        RL_ASSERT(inside($) == rounds_of(0) + rounds_of(1) + rounds_of(2) - refused.load(mo_relaxed, $));
        RL_ASSERT(state_.load(mo_relaxed, $) == 0);
        RL_ASSERT(permits_.load(mo_relaxed, $) == 0);
    }
};

const std::vector<const char *> bugs{"lock_relaxed",
                                     "unlock_relaxed",
                                     "newcomers_lock_while_starving",
                                     "woken_is_not_cleared",
                                     "starving_is_not_cleared",
                                     "unlock_wakes_nobody",
                                     "waiter_is_not_counted_off",
                                     "gives_up_blindly",
                                     "gives_up_starving",
                                     "gives_up_woken"};
const registration here{{"mutex", bugs, search<mutex<false>>, {1, 100000}}};
const registration in_place{{"mutex_in_place",
                             {"", "", "", "", "", "", "", "", "", "", "takes_without_a_permit"},
                             search<mutex<true>>,
                             {1, 100000}}};

} // namespace
} // namespace model
