// The pool of one producer and one consumer: src/pool/spsc.hpp, with segments of two slots. The consumer removes an
// item on its way, if it is there.
#include "checker.hpp"

namespace model {
namespace {

enum bug {
    none,
    publish_relaxed,
    take_relaxed,
    link_relaxed,
    follow_relaxed,
    give_back_relaxed,
    reuse_relaxed,
    leaves_slots_filled,
    keeps_the_old_link,
    gives_back_too_early
};

struct spsc : rl::test_suite<spsc, 2> {
    static constexpr unsigned slots = 2, items = 7, removed = 4, hole = 99, segments = 5; // segment 0 has no slots
    atomic<unsigned> next[segments], slot[segments][slots], spare;
    var<unsigned> payload[items + 1], inside[segments]; // `inside` stands for a segment's memory
    unsigned made;                                      // the producer's
    unsigned back, filled, front, emptied;
    unsigned got, missing;

    void before() {
        for (auto &n : next) n.store(0, mo_relaxed, $);
        for (auto &s : slot)
            for (auto &i : s) i.store(0, mo_relaxed, $);
        for (auto &i : inside) i($) = 0;
        spare.store(0, mo_relaxed, $);
        made = back = front = got = missing = 0;
        filled = emptied = slots;
    }
    unsigned fresh_segment() {
        const unsigned s = spare.load(unless(reuse_relaxed, mo_acquire), $); // acquire[spsc-spare]
        if (!s) return ++made;
        inside[s]($) = inside[s]($) + 1;
        if (!seeded(keeps_the_old_link)) next[s].store(0, mo_relaxed, $);
        spare.store(0, mo_relaxed, $);
        return s;
    }
    void push(unsigned item) {
        if (filled == slots) {
            const unsigned s = fresh_segment();
            slot[s][0].store(item, mo_relaxed, $);
            next[back].store(s, unless(link_relaxed, mo_release), $); // release[spsc-link]
            back = s;
            filled = 1;
        } else {
            slot[back][filled++].store(item, unless(publish_relaxed, mo_release), $); // release[spsc-slot]
        }
    }
    bool go_on() {
        const unsigned n = next[front].load(unless(follow_relaxed, mo_acquire), $); // acquire[spsc-link]
        if (!n) return false;
        const unsigned old = front;
        front = n;
        emptied = 0;
        if (old != 0) give_back(old);
        return true;
    }
    void give_back(unsigned s) {
        if (spare.load(mo_relaxed, $)) return; // freed
        inside[s]($) = inside[s]($) + 1;
        spare.store(s, unless(give_back_relaxed, mo_release), $); // release[spsc-spare]
    }
    unsigned pop() {
        for (;;) {
            if (emptied == slots && !go_on()) return 0;
            const unsigned item = slot[front][emptied].load(unless(take_relaxed, mo_acquire), $); // acquire[spsc-slot]
            if (!item) return 0;
            if (!seeded(leaves_slots_filled)) slot[front][emptied].store(0, mo_relaxed, $);
            ++emptied;
            if (seeded(gives_back_too_early) && emptied == slots && front != 0) give_back(front);
            if (item != hole) return item;
        }
    }
    bool remove(unsigned item) {
        for (unsigned s = front, i = emptied;; i = 0) {
            for (; i < slots; ++i) {
                const unsigned seen = slot[s][i].load(mo_acquire, $); // acquire[spsc-slot]
                if (!seen) return false;
                if (seen != item) continue;
                slot[s][i].store(hole, mo_relaxed, $);
                return true;
            }
            if (!(s = next[s].load(mo_acquire, $))) return false; // acquire[spsc-link]
        }
    }
    void take(unsigned item) {
        RL_ASSERT(payload[item]($) == item);
        ++got;
    }
    void thread(unsigned id) {
        if (id == 0) {
            for (unsigned i = 1; i <= items; ++i) {
                payload[i]($) = i;
                push(i);
            }
            return;
        }
        rl::linear_backoff b;
        for (unsigned expected = 1; got < items;) {
            if (expected == 2 && !missing && remove(removed)) take(missing = removed);
            const unsigned item = pop();
            if (!item) {
                b.yield($);
                continue;
            }
            if (expected == missing) ++expected;
            RL_ASSERT(item == expected);
            ++expected;
            take(item);
        }
        RL_ASSERT(pop() == 0);
    }
};

const registration here{{"spsc",
                         {"publish_relaxed", "take_relaxed", "link_relaxed", "follow_relaxed", "give_back_relaxed",
                          "reuse_relaxed", "leaves_slots_filled", "keeps_the_old_link", "gives_back_too_early"},
                         search<spsc>,
                         {3, 20000}}};

} // namespace
} // namespace model
