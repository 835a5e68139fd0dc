// The stack for many and the arena of its nodes: src/pool/stack.hpp, src/pool/arena.hpp. Three threads push what they
// have and pop something; who has pushed more than popped finds something.
#include "checker.hpp"

namespace model {
namespace {

enum bug {
    none,
    top_without_tag,
    free_without_tag,
    push_relaxed,
    pop_relaxed,
    release_relaxed,
    gives_the_node_back_first,
    takes_the_item_first
};

template <bool Remove> struct stack : rl::test_suite<stack<Remove>, 3> {
    static constexpr unsigned threads = 3, rounds = 2, nodes = 4; // node 0: none
    atomic<unsigned> free_, top_, link[nodes], item_[nodes];
    lock used; // the arena's growth, which is a counter
    unsigned used_nodes;
    var<unsigned> owner[threads + 1]; // an item's payload

    static unsigned id_of(unsigned word) { return word & 0xff; }
    unsigned tagged(int bug, unsigned before, unsigned i) { return seeded(bug) ? i : ((before >> 8) + 1) << 8 | i; }
    void before() {
        for (auto *a : {&free_, &top_}) a->store(0, mo_relaxed, $);
        for (auto &l : link) l.store(0, mo_relaxed, $);
        for (auto &i : item_) i.store(0, mo_relaxed, $);
        used_nodes = 0;
    }
    unsigned allocate() {
        unsigned f = free_.load(mo_acquire, $); // acquire[arena-free]
        while (id_of(f)) {
            const unsigned below = link[id_of(f)].load(mo_relaxed, $);
            if (free_.compare_exchange_weak(f, tagged(free_without_tag, f, below), mo_acquire, $, mo_acquire,
                                            $)) // acquire[arena-free]
                return id_of(f);
        }
        used.acquire();
        const unsigned i = ++used_nodes;
        used.release();
        RL_ASSERT(i < nodes + threads);
        return i < nodes ? i : 0;
    }
    void release(unsigned i) {
        unsigned f = free_.load(mo_relaxed, $);
        do link[i].store(id_of(f), mo_relaxed, $);
        while (!free_.compare_exchange_weak(f, tagged(free_without_tag, f, i), unless(release_relaxed, mo_release), $,
                                            mo_relaxed, $)); // release[arena-free]
    }
    bool push(unsigned item) {
        const unsigned i = allocate();
        if (!i) return false;
        item_[i].store(item, unless(push_relaxed, mo_release), $); // release[stack-item]
        unsigned top = top_.load(mo_relaxed, $);
        do link[i].store(id_of(top), mo_relaxed, $);
        while (!top_.compare_exchange_weak(top, tagged(top_without_tag, top, i), unless(push_relaxed, mo_release), $,
                                           mo_relaxed, $)); // release[stack-top]
        return true;
    }
    unsigned pop() {
        unsigned top = top_.load(unless(pop_relaxed, mo_acquire), $); // acquire[stack-top]
        while (const unsigned i = id_of(top)) {
            const unsigned below = link[i].load(mo_relaxed, $);
            const unsigned early = item_[i].load(mo_relaxed, $);
            if (!top_.compare_exchange_weak(top, tagged(top_without_tag, top, below), unless(pop_relaxed, mo_acquire),
                                            $, unless(pop_relaxed, mo_acquire), $)) // acquire[stack-top]
                continue;
            if (seeded(gives_the_node_back_first)) release(i);
            unsigned item;
            if (seeded(takes_the_item_first)) {
                item = early;
                item_[i].store(0, mo_relaxed, $);
            } else {
                item = item_[i].exchange(0, unless(pop_relaxed, mo_acquire), $); // acquire[stack-item]
            }
            if (!seeded(gives_the_node_back_first)) release(i);
            if (item) return item;
            top = top_.load(mo_acquire, $); // acquire[stack-top]
        }
        return 0;
    }
    bool remove(unsigned item) {
        for (unsigned i = nodes; --i > 0;) {
            unsigned seen = item;
            if (item_[i].load(mo_relaxed, $) != seen) continue;
            return item_[i].compare_exchange_strong(seen, 0u, mo_acquire, $, mo_relaxed, $); // acquire[stack-item]
        }
        return false;
    }
    void thread(unsigned id) {
        unsigned mine = id + 1;
        for (unsigned r = 0; r < rounds; ++r) {
            owner[mine]($) = id;
            if (!push(mine)) return;
            if (Remove && id == 0 && remove(2)) {
                mine = 2;
                RL_ASSERT(owner[mine]($) < threads);
                continue;
            }
            mine = pop();
            if (!Remove) RL_ASSERT(mine != 0);
            if (mine == 0) return;
            RL_ASSERT(owner[mine]($) < threads); // a race if another has it, or has not been seen
            owner[mine]($) = threads - 1;
        }
    }
};

const registration without{
    {"stack",
     {"top_without_tag", "free_without_tag", "push_relaxed", "pop_relaxed", "", "gives_the_node_back_first"},
     search<stack<false>>,
     {0, 50000}}};
const registration with_remove{{"stack_with_remove",
                                {"", "", "push_relaxed", "pop_relaxed", "", "", "takes_the_item_first"},
                                search<stack<true>>,
                                {0, 100000}}};

} // namespace
} // namespace model
