// Semaphore: src/sync/semaphore.hpp, and its destruction by whoever acquires last. Two contexts acquire once, one of
// them with a deadline that passes when the search says so; a third releases. Waiting is the wait list's
// (wait_list.cpp: wait_list_change) and stands here as a condition variable that wakes one.
#include "checker.hpp"

namespace model {
namespace {

enum bug { none, acquire_relaxed, release_relaxed, release_looks_first, wakes_nobody, changes_outside, stays_counted };

struct semaphore : rl::test_suite<semaphore, 3> {
    static constexpr unsigned one_waiter = 0x100, value = 0xff;
    atomic<unsigned> state_, left;
    atomic<unsigned> held_; // the list's lock, by a releaser
    atomic<unsigned> over;  // every deadline has passed
    rl::mutex waiting;
    rl::condition_variable woken;
    var<int> payload, object; // object: the semaphore's memory, which somebody may reuse

    void before() {
        state_.store(0, mo_relaxed, $);
        held_.store(0, mo_relaxed, $);
        over.store(0, mo_relaxed, $);
        left.store(0, mo_relaxed, $);
        payload($) = object($) = 0;
    }
    bool take(unsigned off) {
        unsigned s = state_.load(mo_relaxed, $);
        while ((s & value) != 0)
            if (state_.compare_exchange_weak(s, s - 1 - off, unless(acquire_relaxed, mo_acquire), $, mo_relaxed,
                                             $)) // acquire[semaphore]
                return true;
        return false;
    }
    // The wait list's: false when the deadline has passed.
    bool wait(bool may_be_late) {
        bool some = true;
        waiting.lock($);
        while ((state_.load(mo_relaxed, $) & value) == 0) {
            if (may_be_late && (over.load(mo_relaxed, $) || rl::rand(2))) {
                some = false;
                break;
            }
            woken.wait(waiting, $);
        }
        waiting.unlock($);
        return some;
    }
    bool acquire(bool may_be_late) {
        if (take(0)) return true;
        state_.fetch_add(+one_waiter, mo_relaxed, $);
        do
            if (!wait(may_be_late)) {
                if (!seeded(stays_counted)) state_.fetch_sub(+one_waiter, mo_relaxed, $);
                return false;
            }
        while (!take(seeded(stays_counted) ? 0 : one_waiter));
        return true;
    }
    bool raise(unsigned &s) {
        return state_.compare_exchange_weak(s, s + 1, unless(release_relaxed, mo_release), $, mo_relaxed,
                                            $); // release[semaphore]
    }
    void release() {
        unsigned s = state_.load(mo_relaxed, $);
        const unsigned first = s;
        while (seeded(release_looks_first) ? first < one_waiter : s < one_waiter)
            if (raise(s)) return;
        if (seeded(changes_outside))
            while (!raise(s)) continue;
        waiting.lock($);
        held_.store(1, mo_relaxed, $);
        if (!seeded(changes_outside))
            while (!raise(s)) continue;
        RL_ASSERT(object($) == 0);
        if (!seeded(wakes_nobody)) woken.notify_one($);
        held_.store(0, mo_release, $); // release[spinlock]
        waiting.unlock($);
    }
    // The last of the two destroys it.
    void leave() {
        waiting.lock($);
        over.store(1, mo_relaxed, $);
        woken.notify_all($);
        waiting.unlock($);
        if (left.fetch_add(1, mo_acq_rel, $) != 1) return;
        rl::linear_backoff b;
        while (held_.load(mo_acquire, $) != 0) b.yield($); // acquire[spinlock]
        object($) = 1;
    }
    void thread(unsigned id) {
        if (id == 0) {
            payload($) = 1;
            return release();
        }
        if (acquire(id == 2)) {
            RL_ASSERT(payload($) == 1);
            if (id == 2) release();
        }
        leave();
    }
    void after() { RL_ASSERT(state_.load(mo_relaxed, $) == 0); }
};

const registration here{
    {"semaphore",
     {"acquire_relaxed", "release_relaxed", "release_looks_first", "wakes_nobody", "changes_outside", "stays_counted"},
     search<semaphore>,
     {2, 20000}}};

} // namespace
} // namespace model
