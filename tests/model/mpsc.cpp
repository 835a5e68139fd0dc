// The pool of many producers and one consumer: src/pool/mpsc.hpp. The links between the items are plain data.
#include "checker.hpp"

namespace model {
namespace {

enum bug {
    none,
    push_relaxed,
    take_relaxed,
    takes_in_two_steps,
    forgets_to_reverse,
    links_to_what_it_saw_first,
    pushes_by_store
};

struct mpsc : rl::test_suite<mpsc, 3> {
    static constexpr unsigned each = 2, items = 2 * each;
    atomic<unsigned> newest;
    var<unsigned> next[items + 1];
    unsigned taken; // the consumer's list
    unsigned last[2];

    void before() {
        newest.store(0, mo_relaxed, $);
        taken = last[0] = last[1] = 0;
    }
    void push(unsigned item) {
        unsigned below = newest.load(mo_relaxed, $);
        next[item]($) = below;
        if (seeded(pushes_by_store)) return newest.store(item, mo_release, $);
        while (!newest.compare_exchange_weak(below, item, unless(push_relaxed, mo_release), $, mo_relaxed,
                                             $)) // release[mpsc-push]
            if (!seeded(links_to_what_it_saw_first)) next[item]($) = below;
    }
    void take_new() {
        if (newest.load(mo_relaxed, $) == 0) return;
        unsigned item;
        if (seeded(takes_in_two_steps)) {
            item = newest.load(mo_acquire, $);
            newest.store(0, mo_relaxed, $);
        } else {
            item = newest.exchange(0, unless(take_relaxed, mo_acquire), $); // acquire[mpsc-push]
        }
        if (seeded(forgets_to_reverse)) {
            taken = item;
            return;
        }
        unsigned first = 0;
        while (item) {
            const unsigned below = next[item]($);
            next[item]($) = first;
            first = item;
            item = below;
        }
        taken = first;
    }
    unsigned pop() {
        if (!taken) take_new();
        const unsigned item = taken;
        if (item) taken = next[item]($);
        return item;
    }
    void thread(unsigned id) {
        if (id < 2) {
            for (unsigned i = 0; i < each; ++i) push(1 + id * each + i);
            return;
        }
        rl::linear_backoff b;
        for (unsigned got = 0; got < items;) {
            const unsigned item = pop();
            if (!item) {
                b.yield($);
                continue;
            }
            ++got;
            unsigned &before = last[(item - 1) / each];
            RL_ASSERT(item > before);
            before = item;
        }
        RL_ASSERT(pop() == 0);
    }
};

const registration here{{"mpsc",
                         {"push_relaxed", "take_relaxed", "takes_in_two_steps", "forgets_to_reverse",
                          "links_to_what_it_saw_first", "pushes_by_store"},
                         search<mpsc>,
                         {3, 20000}}};

} // namespace
} // namespace model
