// The queue for many consumers: src/pool/array_queue.hpp, with one producer and with many, and segments of two cells.
// With many, each thread pushes what it has and pops something, so that items, cells and segments come back, and who
// has pushed more than popped finds something. The arena's list of free segments stands under a lock.
#include "checker.hpp"

namespace model {
namespace {

enum bug {
    none,
    publish_relaxed,
    take_relaxed,
    cells_without_position,
    segments_without_number,
    takes_by_store,
    publishes_by_store,
    claims_by_the_head,
    looks_at_the_number_once,
    leaves_with_the_tail_behind
};

struct queue {
    static constexpr unsigned cells = 2, segments = 6, taken = 0, hole = 2; // segment 0 stands before the first
    atomic<unsigned> tail_, tail_at_, head_, head_at_, number[segments], next[segments], cell[segments][cells];
    lock list;
    unsigned free_[segments], frees, used; // under `list`
    unsigned back;                         // the only producer's
    bool removable;                        // consumers mark the cells; else they only claim positions

    static unsigned empty(unsigned p) { return seeded(cells_without_position) ? 1 : p << 1 | 1; }
    static unsigned none_after(unsigned n) { return n << 1 | 1; }
    static bool is_item(unsigned w) { return !(w & 1) && w > hole; }
    static unsigned place_of(unsigned n, unsigned link) {
        return (seeded(segments_without_number) ? 0 : n << 8) | link >> 1;
    }
    static unsigned id_at(unsigned at) { return at & 0xff; }

    void reset(bool marks) {
        removable = marks;
        for (auto *a : {&tail_, &head_}) a->store(0, mo_relaxed, $);
        for (auto *a : {&tail_at_, &head_at_}) a->store(place_of(~0u, 0), mo_relaxed, $);
        for (unsigned s = 0; s < segments; ++s) {
            number[s].store(~0u, mo_relaxed, $);
            next[s].store(none_after(~0u), mo_relaxed, $);
            for (auto &c : cell[s]) c.store(taken, mo_relaxed, $);
        }
        frees = used = back = 0;
    }
    unsigned make_segment(unsigned n) {
        list.acquire();
        const unsigned s = frees ? free_[--frees] : ++used;
        list.release();
        RL_ASSERT(s < segments);
        for (unsigned p = 0; p < cells; ++p) cell[s][p].store(empty(n * cells + p), mo_relaxed, $);
        next[s].store(none_after(n), mo_relaxed, $);
        number[s].store(n, mo_release, $); // release[pool-segment]
        return s;
    }
    void release(unsigned s) {
        list.acquire();
        free_[frees++] = s;
        list.release();
    }
    void push_alone(unsigned word) {
        const unsigned t = tail_.load(mo_relaxed, $);
        if (t % cells == 0) {
            const unsigned s = make_segment(t / cells);
            next[back].store(s << 1, mo_release, $); // release[pool-next]
            back = s;
        }
        cell[back][t % cells].store(word, unless(publish_relaxed, mo_release), $); // release[pool-cell]
        tail_.store(t + 1, unless(publish_relaxed, mo_release), $);                // release[pool-tail]
    }
    void push(unsigned word) {
        rl::linear_backoff b; // the checker lets a thread that does not give way see old values for ever
        for (;; b.yield($)) {
            unsigned t = tail_.load(mo_acquire, $);                          // acquire[pool-tail]
            const unsigned at = tail_at_.load(mo_acquire, $), s = id_at(at); // acquire[pool-tail-segment]
            const unsigned n = number[s].load(mo_acquire, $);                // acquire[pool-segment]
            if (n != t / cells) {
                if (n + 1 == t / cells) extend(at, s, n);
                continue;
            }
            unsigned seen = empty(t);
            bool mine = cell[s][t % cells].load(mo_relaxed, $) == seen;
            if (mine && seeded(publishes_by_store))
                cell[s][t % cells].store(word, mo_release, $);
            else
                mine = mine && cell[s][t % cells].compare_exchange_strong(
                                   seen, word, unless(publish_relaxed, mo_release), $, mo_relaxed,
                                   $); // release[pool-cell]
            tail_.compare_exchange_strong(t, t + 1, unless(publish_relaxed, mo_release), $, mo_relaxed,
                                          $); // release[pool-tail]
            if (mine) return;
        }
    }
    void extend(unsigned at, unsigned s, unsigned n) {
        unsigned link = next[s].load(mo_acquire, $); // acquire[pool-next]
        if (link == none_after(n)) {
            const unsigned made = make_segment(n + 1);
            if (next[s].compare_exchange_strong(link, made << 1, mo_acq_rel, $, mo_acquire, $)) // acq_rel[pool-next]
                link = made << 1;
            else
                release(made);
        }
        if (link & 1) return;
        tail_at_.compare_exchange_strong(at, place_of(n + 1, link), mo_release, $, mo_relaxed,
                                         $); // release[pool-tail-segment]
    }
    unsigned pop() {
        rl::linear_backoff b; // as in push
        for (;; b.yield($)) {
            unsigned h = head_.load(mo_acquire, $);                          // acquire[pool-head]
            const unsigned at = head_at_.load(mo_acquire, $), s = id_at(at); // acquire[pool-head-segment]
            const unsigned n = number[s].load(mo_acquire, $);                // acquire[pool-segment]
            if (n != h / cells) {
                if (n + 1 != h / cells) continue;
                if (!seeded(leaves_with_the_tail_behind) && h >= tail_.load(mo_acquire, $))
                    return 0; // acquire[pool-tail]
                if (seeded(leaves_with_the_tail_behind) && (next[s].load(mo_acquire, $) & 1)) return 0;
                leave(at, s, n);
                continue;
            }
            unsigned seen = cell[s][h % cells].load(unless(take_relaxed, mo_acquire), $); // acquire[pool-cell]
            if (seen == empty(h)) return 0;
            if (!removable) {
                if (seen & 1) continue;
                if (seeded(takes_by_store))
                    head_.store(h + 1, mo_release, $);
                else if (!head_.compare_exchange_strong(h, h + 1, mo_acq_rel, $, mo_relaxed, $)) // acq_rel[pool-head]
                    continue;
                return seen;
            }
            if (!seeded(looks_at_the_number_once) && number[s].load(mo_relaxed, $) != n) continue;
            bool mine = is_item(seen);
            if (mine && seeded(takes_by_store))
                cell[s][h % cells].store(taken, mo_relaxed, $);
            else if (mine && seeded(claims_by_the_head)) {
                if (head_.compare_exchange_strong(h, h + 1, mo_acq_rel, $, mo_relaxed, $)) return seen;
                continue;
            } else if (mine)
                mine = cell[s][h % cells].compare_exchange_strong(seen, +taken, unless(take_relaxed, mo_acq_rel), $,
                                                                  unless(take_relaxed, mo_acquire),
                                                                  $); // acquire[pool-cell]
            if (!(seen & 1))
                head_.compare_exchange_strong(h, h + 1, mo_acq_rel, $, mo_relaxed, $); // acq_rel[pool-head]
            if (mine) return seen;
        }
    }
    void leave(unsigned at, unsigned s, unsigned n) {
        const unsigned link = next[s].load(mo_acquire, $); // acquire[pool-next]
        if (link & 1) return;
        if (head_at_.compare_exchange_strong(at, place_of(n + 1, link), mo_acq_rel, $, mo_relaxed,
                                             $) && // acq_rel[pool-head-segment]
            s != 0)
            release(s);
    }
    bool remove(unsigned word) {
        for (unsigned s = segments; --s > 0;)
            for (auto &c : cell[s]) {
                unsigned seen = word;
                if (c.load(mo_relaxed, $) != seen) continue;
                return c.compare_exchange_strong(seen, +hole, mo_acq_rel, $, mo_relaxed, $); // acq_rel[pool-cell]
            }
        return false;
    }
};

constexpr unsigned word_of(unsigned item) { return 4 + 2 * item; }
constexpr unsigned item_of(unsigned word) { return (word - 4) / 2; }

// With two threads the second one does so much while the first stands still that every segment has come back.
template <unsigned Threads, bool Removable, bool Remove = false>
struct mpmc : rl::test_suite<mpmc<Threads, Removable, Remove>, Threads> {
    static constexpr unsigned threads = Threads;
    queue q;
    var<unsigned> owner[threads];

    void before() { q.reset(Removable); }
    void thread(unsigned id) {
        const unsigned rounds = threads == 3 ? 3 : id == 0 ? 1 : 6;
        unsigned mine = id;
        for (unsigned r = 0; r < rounds; ++r) {
            owner[mine]($) = id;
            q.push(word_of(mine));
            if (Remove && id == 0 && q.remove(word_of(1))) {
                mine = 1;
                continue;
            }
            const unsigned word = q.pop();
            if (!Remove) RL_ASSERT(word != 0);
            if (word == 0) return;
            mine = item_of(word);
            RL_ASSERT(owner[mine]($) < threads); // a race if another has it, or has not been seen
        }
    }
};

template <bool Removable> struct spmc : rl::test_suite<spmc<Removable>, 3> {
    static constexpr unsigned items = 6;
    queue q;
    var<unsigned> payload[items];
    unsigned times[items];

    void before() {
        q.reset(Removable);
        for (unsigned &t : times) t = 0;
    }
    void take_one(unsigned &last) {
        const unsigned word = q.pop();
        if (word == 0) return;
        const unsigned item = item_of(word);
        RL_ASSERT(payload[item]($) == item);
        RL_ASSERT(++times[item] == 1);
        RL_ASSERT(last == items || item > last);
        last = item;
    }
    void thread(unsigned id) {
        unsigned last = items;
        if (id == 0) {
            for (unsigned i = 0; i < items; ++i) {
                payload[i]($) = i;
                q.push_alone(word_of(i));
                if (i % 2) take_one(last); // the producer may consume as well
            }
            return;
        }
        for (unsigned i = 0; i < 3; ++i) take_one(last);
    }
    void after() {
        for (unsigned word; (word = q.pop());) ++times[item_of(word)];
        for (const unsigned t : times) RL_ASSERT(t == 1);
    }
};

const registration two{{"mpmc_of_two",
                        {"", "", "cells_without_position", "segments_without_number", "takes_by_store",
                         "publishes_by_store", "", "", "leaves_with_the_tail_behind"},
                        search<mpmc<2, true>>,
                        {2, 20000}}};
const registration claiming{{"mpmc_that_claims",
                             {"", "", "cells_without_position", "segments_without_number", "takes_by_store",
                              "publishes_by_store", "", "", "leaves_with_the_tail_behind"},
                             search<mpmc<2, false>>,
                             {2, 20000}}};
const registration three{{"mpmc_of_three",
                          {"publish_relaxed", "take_relaxed", "", "", "takes_by_store", "publishes_by_store"},
                          search<mpmc<3, true>>,
                          {0, 30000}}};
const registration removing{{"mpmc_with_remove",
                             {"publish_relaxed", "", "", "", "takes_by_store", "", "claims_by_the_head"},
                             search<mpmc<3, true, true>>,
                             {0, 30000}}};
const registration one{
    {"spmc",
     {"publish_relaxed", "take_relaxed", "", "", "takes_by_store", "", "", "looks_at_the_number_once"},
     search<spmc<true>>,
     {1, 20000}}};
const registration one_claiming{{"spmc_that_claims",
                                 {"publish_relaxed", "take_relaxed", "", "", "takes_by_store"},
                                 search<spmc<false>>,
                                 {1, 20000}}};

} // namespace
} // namespace model
