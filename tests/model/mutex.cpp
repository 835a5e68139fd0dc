// Mutex: src/sync/mutex.cpp, its state word and permits. Three contexts lock it twice each; whether one has waited for
// too long is up to the search. Waiting for a permit is the wait list's (wait_list.cpp) and stands here as a condition
// variable, so a permit may also be taken by one that never slept.
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
    waiter_is_not_counted_off
};

struct mutex : rl::test_suite<mutex, 3> {
    static constexpr unsigned locked = 1, woken = 2, starving = 4, one_waiter = 8, rounds = 2;
    atomic<unsigned> state_, permits_;
    rl::mutex waiting;
    rl::condition_variable given;
    var<unsigned> inside;

    void before() {
        state_.store(0, mo_relaxed, $);
        permits_.store(0, mo_relaxed, $);
        inside($) = 0;
    }
    void wait_for_permit() {
        waiting.lock($);
        for (;;) {
            unsigned n = permits_.load(mo_relaxed, $);
            if (n && permits_.compare_exchange_strong(n, n - 1, mo_acquire, $, mo_relaxed, $))
                break; // acquire[mutex-permit]
            given.wait(waiting, $);
        }
        waiting.unlock($);
    }
    void give_permit() {
        waiting.lock($);
        permits_.fetch_add(1, mo_release, $); // release[mutex-permit]
        given.notify_all($);
        waiting.unlock($);
    }
    void lock() {
        unsigned free = 0;
        if (state_.compare_exchange_strong(free, +locked, unless(lock_relaxed, mo_acquire), $, mo_relaxed, $))
            return; // acquire[mutex]
        bool awake = false, impatient = false;
        for (;;) {
            unsigned s = state_.load(mo_relaxed, $), to = s;
            if (!awake && (s & (locked | starving)) == locked && !(s & woken) && s / one_waiter != 0 && rl::rand(2)) {
                // spin: tells unlock not to wake another
                if (state_.compare_exchange_strong(s, s | woken, mo_relaxed, $)) awake = true;
                continue;
            }
            const bool barred = s & starving && !seeded(newcomers_lock_while_starving);
            if (!barred) to |= locked;
            if (s & locked || barred) to += one_waiter;
            if (impatient && s & locked) to |= starving;
            if (awake && !seeded(woken_is_not_cleared)) to &= ~woken;
            if (!state_.compare_exchange_strong(s, to, unless(lock_relaxed, mo_acquire), $, mo_relaxed, $))
                continue; // acquire[mutex]
            if (!(s & locked || barred)) return;
            wait_for_permit();
            impatient = impatient || rl::rand(2);
            s = state_.load(mo_relaxed, $);
            if (s & starving) {
                unsigned change = locked - one_waiter;
                if ((!impatient || s / one_waiter == 1) && !seeded(starving_is_not_cleared)) change -= starving;
                state_.fetch_add(change, mo_acquire, $); // acquire[mutex]
                return;
            }
            awake = true;
        }
    }
    void unlock() {
        unsigned held = locked;
        if (state_.compare_exchange_strong(held, 0u, unless(unlock_relaxed, mo_release), $, mo_relaxed, $))
            return;                                                                               // release[mutex]
        const unsigned before = state_.fetch_sub(+locked, unless(unlock_relaxed, mo_release), $); // release[mutex]
        RL_ASSERT(before & locked);
        unsigned s = before - locked;
        if (s & starving) return give_permit();
        while (s / one_waiter != 0 && !(s & (locked | woken | starving)) && !seeded(unlock_wakes_nobody)) {
            const unsigned to = (seeded(waiter_is_not_counted_off) ? s : s - one_waiter) | woken;
            if (!state_.compare_exchange_weak(s, to, mo_relaxed, $, mo_relaxed, $)) continue;
            return give_permit();
        }
    }
    void thread(unsigned) {
        for (unsigned i = 0; i < rounds; ++i) {
            lock();
            inside($) = inside($) + 1;
            unlock();
        }
    }
    void after() {
        RL_ASSERT(inside($) == 3 * rounds);
        RL_ASSERT(state_.load(mo_relaxed, $) == 0);
        RL_ASSERT(permits_.load(mo_relaxed, $) == 0);
    }
};

const registration here{{"mutex",
                         {"lock_relaxed", "unlock_relaxed", "newcomers_lock_while_starving", "woken_is_not_cleared",
                          "starving_is_not_cleared", "unlock_wakes_nobody", "waiter_is_not_counted_off"},
                         search<mutex>,
                         {2, 40000}}};

} // namespace
} // namespace model
