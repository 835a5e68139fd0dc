// One level of a priority pool that many use: src/pool/priority.hpp, push and pop. The level's queue stands as a number
// of items. Two producers and a consumer, who has other levels to look at as well.
#include "checker.hpp"

namespace model {
namespace {

enum bug { none, push_without_fence, pop_without_fence, drops_without_a_second_look };

struct priority : rl::test_suite<priority, 3> {
    atomic<unsigned> items, filled;
    unsigned popped;

    void before() {
        items.store(1, mo_relaxed, $);
        filled.store(1, mo_relaxed, $);
        popped = 0;
    }
    void push() {
        items.fetch_add(1, mo_release, $); // release[pool-cell]
        fence_unless(push_without_fence);  // seq_cst[priority-level]
        if (filled.load(mo_relaxed, $) == 0) filled.fetch_or(1, mo_relaxed, $);
    }
    bool take() {
        unsigned n = items.load(mo_acquire, $); // acquire[pool-cell]
        while (n)
            if (items.compare_exchange_weak(n, n - 1, mo_acquire, $, mo_acquire, $)) return true; // acquire[pool-cell]
        return false;
    }
    void pop() {
        while (filled.load(mo_relaxed, $) != 0) {
            if (take()) {
                ++popped;
                return;
            }
            filled.fetch_and(0, mo_relaxed, $);
            fence_unless(pop_without_fence); // seq_cst[priority-level]
            if (seeded(drops_without_a_second_look)) continue;
            if (items.load(mo_relaxed, $) != 0) filled.fetch_or(1, mo_relaxed, $);
        }
    }
    void thread(unsigned id) {
        if (id == 0)
            for (unsigned i = 0; i < 2; ++i) pop();
        else
            push();
    }
    // What is left can be seen by the next look at the bits.
    void after() {
        RL_ASSERT(items.load(mo_relaxed, $) == 3 - popped);
        RL_ASSERT(items.load(mo_relaxed, $) == 0 || filled.load(mo_relaxed, $) == 1);
    }
};

const registration here{{"priority",
                         {"push_without_fence", "pop_without_fence", "drops_without_a_second_look"},
                         search<priority>,
                         {4, 40000}}};

} // namespace
} // namespace model
