// Harts that leave a root although it has work: src/core/sched.cpp give_way, src/core/base.cpp stand_in_line, yielded,
// leave and starves. Both harts of a root put a context into its queue and give way to two threads of the program,
// which keep what they get unless the root has none. Whoever is granted a hart goes on in the thread that grants it.
#include "account.hpp"

namespace model {
namespace {

using namespace account;

enum bug { none, gives_way_by_yield, does_not_want, does_not_stand_in_line, keeper_looks_never };

struct give_way : rl::test_suite<give_way, 2> {
    static constexpr unsigned count = 2, contexts = 2;
    atomic<unsigned> account_, ready_, idle_, wanting_, waiting_, keeper_[count];
    lock ready_lock, lock_;
    bool listed; // under lock_
    atomic<unsigned> done_;

    void before() {
        account_.store(count * one_hart, mo_relaxed, $);
        waiting_.store(2, mo_relaxed, $);
        for (auto *a : {&ready_, &idle_, &wanting_, &keeper_[0], &keeper_[1], &done_}) a->store(0, mo_relaxed, $);
        listed = false;
    }

    // ---- base
    bool pop_waiter() {
        if (waiting_.load(mo_relaxed, $) == 0) return false;
        lock_.acquire();
        const unsigned n = waiting_.load(mo_relaxed, $);
        if (n) waiting_.store(n - 1, mo_relaxed, $);
        lock_.release();
        return n;
    }
    bool reserve_wanting() {
        if (wanting_.load(mo_relaxed, $) == 0) return false;
        lock_.acquire();
        const bool found = listed && reserve(account_);
        if (listed && (!found || wanted_of(account_.load(mo_relaxed, $)) == 0)) {
            listed = false;
            wanting_.store(0, mo_relaxed, $);
        }
        lock_.release();
        return found;
    }
    bool claim_idle(unsigned h) { return idle_.fetch_and(~(1u << h), mo_acq_rel, $) & 1u << h; } // acq_rel[idle]
    // release and yielded are one here: a worker's hart and an adopted thread's are served alike
    void release(unsigned h) {
        for (;;) {
            if (pop_waiter()) return thread_leaves(h);
            if (reserve_wanting()) return hart(h);
            idle_.fetch_or(1u << h, mo_acq_rel, $); // acq_rel[idle]
            rl::atomic_thread_fence(mo_seq_cst, $); // seq_cst[demand]
            if (waiting_.load(mo_relaxed, $) == 0 && wanting_.load(mo_relaxed, $) == 0) return;
            if (!claim_idle(h)) return;
        }
    }
    bool claim_any(unsigned &h) {
        for (h = 0; h < count; ++h)
            if (idle_.load(mo_relaxed, $) & 1u << h && claim_idle(h)) return true;
        return false;
    }
    bool take_kept(unsigned &h) {
        for (h = 0; h < count; ++h) {
            unsigned keeper = keeper_[h].load(mo_acquire, $);                                         // acquire[keeper]
            if (keeper && keeper_[h].compare_exchange_strong(keeper, 0u, mo_acq_rel, $)) return true; // acq_rel[keeper]
        }
        return false;
    }
    void stand_in_line() {
        lock_.acquire();
        if (!listed) {
            listed = true;
            wanting_.store(1, mo_relaxed, $);
        }
        lock_.release();
        rl::atomic_thread_fence(mo_seq_cst, $); // seq_cst[demand]
        unsigned h = 0;
        bool found = claim_any(h);
        if (!found && harts_of(account_.load(mo_relaxed, $)) == 0) found = take_kept(h);
        if (found) release(h);
    }
    // A thread of the program has had its hart and keeps it.
    void thread_leaves(unsigned h) {
        keeper_[h].store(1, mo_release, $);     // release[keeper]
        rl::atomic_thread_fence(mo_seq_cst, $); // seq_cst[demand]
        if (seeded(keeper_looks_never) || wanting_.load(mo_relaxed, $) == 0) return;
        lock_.acquire();
        const unsigned a = account_.load(mo_relaxed, $);
        const bool starves = listed && harts_of(a) == 0 && wanted_of(a) != 0;
        lock_.release();
        unsigned expected = 1;
        if (starves && keeper_[h].compare_exchange_strong(expected, 0u, mo_acq_rel, $)) release(h); // acq_rel[keeper]
    }

    // ---- the root
    void enqueue() {
        ready_lock.acquire();
        ready_.store(ready_.load(mo_relaxed, $) + 1, mo_relaxed, $);
        ready_lock.release();
    }
    bool pop_ready() {
        if (ready_.load(mo_relaxed, $) == 0) return false;
        ready_lock.acquire();
        const unsigned n = ready_.load(mo_relaxed, $);
        if (n) ready_.store(n - 1, mo_relaxed, $);
        ready_lock.release();
        return n;
    }
    // A hart in the root: runs what it finds, and leaves.
    void hart(unsigned h) {
        for (;;) {
            while (pop_ready()) done_.fetch_add(1, mo_relaxed, $);
            unsigned a = account_.load(mo_relaxed, $);
            for (;;) { // core::yield
                const bool stay = wanted_of(a) != 0;
                if (!account_.compare_exchange_weak(a, a - (stay ? one_wanted : one_hart), mo_acq_rel, $, mo_relaxed,
                                                    $)) // acq_rel[account]
                    continue;
                if (!stay) return release(h);
                break;
            }
            rl::atomic_thread_fence(mo_seq_cst, $); // seq_cst[team-leave]
        }
    }
    void gives_way(unsigned h) {
        enqueue(); // put_back: the hart was to come to it
        if (seeded(gives_way_by_yield)) {
            account_.fetch_sub(one_hart, mo_acq_rel, $);
            return release(h);
        }
        unsigned a = account_.load(mo_relaxed, $);
        while (!account_.compare_exchange_weak(
            a, a - one_hart + one_pin + (wanted_of(a) == 0 && !seeded(does_not_want) ? one_wanted : 0), mo_acq_rel, $,
            mo_relaxed, $)) { // acq_rel[account]
        }
        if (!seeded(does_not_stand_in_line)) stand_in_line();
        account_.fetch_sub(one_pin, mo_acq_rel, $); // acq_rel[account]
        release(h);
    }
    void thread(unsigned id) { gives_way(id); }
    void after() { RL_ASSERT(done_.load(mo_relaxed, $) == contexts); }
};

const registration here{{"give_way",
                         {"gives_way_by_yield", "does_not_want", "does_not_stand_in_line", "keeper_looks_never"},
                         search<give_way>,
                         {2, 20000}}};

} // namespace
} // namespace model
