// Hart grant: src/core/base.cpp, the idle set against the queue of those that wait (put_idle, release, wait_for_hart).
// Three threads and one hart, or two: some hold one and release it, the others want one, use it and release it.
#include "checker.hpp"

namespace model {
namespace {

enum bug {
    none,
    put_without_fence,
    wait_without_fence,
    release_looks_once,
    wait_looks_never,
    idle_relaxed,
    stays_in_queue,
    drops_the_other
};

template <unsigned Harts> struct demand : rl::test_suite<demand<Harts>, 3> {
    atomic<unsigned> idle_, waiting_;
    lock lock_;
    int queue[2], queued; // under lock_
    parker park[3];
    int granted[3];       // written before the token
    var<int> uses[Harts]; // of the hart: whoever holds it writes it

    void before() {
        idle_.store(0, mo_relaxed, $);
        waiting_.store(0, mo_relaxed, $);
        queued = 0;
        for (auto &u : uses) u($) = 0;
    }
    int claim_idle() {
        unsigned bits = idle_.load(mo_relaxed, $);
        while (bits) {
            const unsigned bit = bits & -bits;
            if (idle_.compare_exchange_weak(bits, bits & ~bit, unless(idle_relaxed, mo_acq_rel), $, mo_relaxed,
                                            $)) // acq_rel[idle]
                return bit == 1 ? 0 : 1;
        }
        return -1;
    }
    bool claim_idle(int h) {
        return idle_.fetch_and(~(1u << h), unless(idle_relaxed, mo_acq_rel), $) & 1u << h; // acq_rel[idle]
    }
    void put_idle(int h) {
        idle_.fetch_or(1u << h, unless(idle_relaxed, mo_acq_rel), $); // acq_rel[idle]
        fence_unless(put_without_fence);                              // seq_cst[demand]
    }
    int pop_waiter() {
        if (waiting_.load(mo_relaxed, $) == 0) return -1;
        lock_.acquire();
        int k = -1;
        if (queued) {
            k = queue[0];
            queue[0] = queue[1];
            --queued;
            waiting_.store(waiting_.load(mo_relaxed, $) - 1, mo_relaxed, $);
        }
        lock_.release();
        return k;
    }
    bool remove_waiter(int k) {
        bool found = false;
        lock_.acquire();
        for (int i = 0; i < queued && !found; ++i) {
            if (queue[i] != k) continue;
            if (i == 0) queue[0] = queue[1];
            --queued;
            waiting_.store(waiting_.load(mo_relaxed, $) - 1, mo_relaxed, $);
            found = true;
        }
        lock_.release();
        return found;
    }
    void release(int h) {
        for (;;) {
            if (const int k = pop_waiter(); k >= 0) {
                granted[k] = h;
                park[k].wake();
                return;
            }
            put_idle(h);
            if (seeded(release_looks_once) || waiting_.load(mo_relaxed, $) == 0 || !claim_idle(h)) return;
        }
    }
    // Without the code's looks now and then: those are for kept harts only.
    int wait_for_hart(int me) {
        lock_.acquire();
        queue[queued++] = me;
        waiting_.store(waiting_.load(mo_relaxed, $) + 1, mo_relaxed, $);
        lock_.release();
        fence_unless(wait_without_fence); // seq_cst[demand]
        if (const int h = seeded(wait_looks_never) ? -1 : claim_idle(); h >= 0) {
            if (seeded(stays_in_queue) || remove_waiter(me)) return h;
            if (!seeded(drops_the_other)) release(h); // somebody is giving us another one
        }
        park[me].wait();
        return granted[me];
    }
    void thread(unsigned id) {
        int h = static_cast<int>(id);
        if (id >= Harts && (h = claim_idle()) < 0) h = wait_for_hart(static_cast<int>(id));
        uses[h]($) = uses[h]($) + 1;
        release(h);
    }
    void after() {
        RL_ASSERT(idle_.load(mo_relaxed, $) == (1u << Harts) - 1);
        int sum = 0;
        for (auto &u : uses) sum += u($);
        RL_ASSERT(sum == 3);
    }
};

const registration one{{"demand_for_one_hart",
                        {"put_without_fence", "wait_without_fence", "release_looks_once", "wait_looks_never",
                         "idle_relaxed", "stays_in_queue"},
                        search<demand<1>>,
                        {2, 20000}}};
const registration two{{"demand_for_two_harts",
                        {"put_without_fence", "wait_without_fence", "release_looks_once", "wait_looks_never",
                         "idle_relaxed", "stays_in_queue", "drops_the_other"},
                        search<demand<2>>,
                        {2, 20000}}};

} // namespace
} // namespace model
