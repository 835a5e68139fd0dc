// The work-stealing deque: src/pool/deque.hpp, with a ring of two places that grows to four. The owner pushes and pops,
// two thieves steal, and make public for the owner what is private; each item is taken once, and what was written
// before its push is seen.
#include "checker.hpp"

namespace model {
namespace {

enum bug {
    none,
    takes_back_without_fence,
    steal_without_fence,
    push_relaxed,
    steal_sees_split_relaxed,
    owner_takes_the_last_blindly,
    thief_takes_blindly,
    ring_relaxed,
    ring_not_acquired,
    grows_too_late,
    bottom_is_not_put_back,
    takes_private_without_fence,
    looks_at_split_first,
    does_not_look_for_publishers,
    moves_split_without_fence,
    moves_split_beside_publishers,
    publishes_without_fence,
    publishes_beside_the_owner,
    publishes_relaxed,
    publishes_beside_others,
    number_of_bugs
};

// Pushes: how many items there are. Begun: two were pushed before, and the public one was stolen.
template <unsigned Pushes, bool Begun = false> struct deque : rl::test_suite<deque<Pushes, Begun>, 3> {
    static constexpr int none_left = -1;
    atomic<int> top_, split_, bottom_;
    atomic<int> publishing_, busy_;
    atomic<unsigned> ring_;
    var<int *> made[2]; // a ring that somebody reads must have been made
    atomic<int> place[2][4];
    int seen_top; // the owner's
    var<int> payload[Pushes];
    int taken[Pushes];

    void before() {
        for (atomic<int> *a : {&top_, &split_, &bottom_, &publishing_, &busy_}) a->store(0, mo_relaxed, $);
        ring_.store(0, mo_relaxed, $);
        made[0]($) = &seen_top;
        for (auto &r : place)
            for (auto &p : r) p.store(none_left, mo_relaxed, $);
        seen_top = 0;
        for (int &t : taken) t = 0;
        if (!Begun) return;
        for (int i = 0; i < 2; ++i) {
            payload[i]($) = i;
            place[0][i].store(i, mo_relaxed, $);
        }
        taken[0] = 1;
        top_.store(1, mo_relaxed, $);
        split_.store(1, mo_relaxed, $);
        bottom_.store(2, mo_relaxed, $);
    }
    static int mask(unsigned ring) { return ring == 0 ? 1 : 3; }
    atomic<int> &at(unsigned ring, int i) {
        RL_ASSERT(made[ring]($) == &seen_top);
        return place[ring][i & mask(ring)];
    }

    // ---- The owner

    void enter() {
        for (rl::linear_backoff b;; b.yield($)) {
            busy_.store(1, mo_relaxed, $);
            fence_unless(moves_split_without_fence); // seq_cst[uneven]
            if (!publishing_.load(mo_acquire, $) || seeded(moves_split_beside_publishers))
                return;                    // acquire[deque-publishing]
            busy_.store(0, mo_release, $); // release[deque-busy]
            while (publishing_.load(mo_relaxed, $)) b.yield($);
        }
    }
    void leave() { busy_.store(0, mo_release, $); } // release[deque-busy]
    void publish() {
        enter();
        split_.store(bottom_.load(mo_relaxed, $), mo_release, $); // release[deque-split]
        leave();
    }
    void push(int item) {
        const int b = bottom_.load(mo_relaxed, $);
        unsigned r = ring_.load(mo_relaxed, $);
        if (b - seen_top > mask(r) && !seeded(grows_too_late)) {
            seen_top = top_.load(mo_acquire, $); // acquire[deque-top]
            if (b - seen_top > mask(r)) {
                RL_ASSERT(r == 0);
                made[1]($) = &seen_top;
                for (int i = seen_top; i < b; ++i) at(1, i).store(at(0, i).load(mo_relaxed, $), mo_relaxed, $);
                ring_.store(1, unless(ring_relaxed, mo_release), $); // release[deque-ring]
                r = 1;
            }
        }
        at(r, b).store(item, mo_relaxed, $);
        bottom_.store(b + 1, unless(push_relaxed, mo_release), $); // release[deque-bottom]
        if (top_.load(mo_relaxed, $) >= split_.load(mo_relaxed, $)) publish();
    }
    // Who knows which item he wants does not look at top first: try_pop_if.
    int pop(bool looks = true) {
        const int b = bottom_.load(mo_acquire, $) - 1; // acquire[deque-bottom]
        if (looks ? top_.load(mo_relaxed, $) > b : b < 0) return none_left;
        const int item = at(ring_.load(mo_relaxed, $), b).load(mo_relaxed, $);
        bottom_.store(b, mo_release, $);           // release[deque-bottom]
        fence_unless(takes_private_without_fence); // seq_cst[uneven]
        const bool was_private = seeded(looks_at_split_first) && b >= split_.load(mo_relaxed, $);
        if ((!publishing_.load(mo_acquire, $) || seeded(does_not_look_for_publishers)) && // acquire[deque-publishing]
            (was_private || b >= split_.load(mo_relaxed, $)))
            return item;
        return take_public(b) ? item : none_left;
    }
    bool take_public(int b) {
        enter();
        bool took = true;
        if (b < split_.load(mo_relaxed, $)) {
            const int seen = top_.load(mo_relaxed, $), keep = seen + (b - seen) / 2;
            split_.store(keep, mo_release, $);      // release[deque-split]
            fence_unless(takes_back_without_fence); // seq_cst[deque-ends]
            const int t = top_.load(mo_relaxed, $);
            if (t >= keep) took = take_beside_thieves(b, t);
        }
        leave();
        return took;
    }
    bool take_beside_thieves(int b, int t) {
        if (t < b) {
            split_.store(t + 1, mo_release, $); // release[deque-split]
            return true;
        }
        bool mine = t == b;
        if (!seeded(owner_takes_the_last_blindly))
            mine = mine && top_.compare_exchange_strong(t, t + 1, mo_seq_cst, $, mo_relaxed, $); // seq_cst[deque-top]
        if (!seeded(bottom_is_not_put_back)) bottom_.store(b + 1, mo_release, $); // release[deque-bottom]
        split_.store(b + 1, mo_release, $);                                       // release[deque-split]
        return mine;
    }

    // ---- Thieves

    bool find_public(int &t) {
        t = top_.load(mo_acquire, $);                                            // acquire[deque-top]
        fence_unless(steal_without_fence);                                       // seq_cst[deque-ends]
        return t < split_.load(unless(steal_sees_split_relaxed, mo_acquire), $); // acquire[deque-split]
    }
    bool publish_for_owner() {
        if (top_.load(mo_relaxed, $) >= bottom_.load(mo_relaxed, $)) return false;
        if (publishing_.exchange(1, mo_acquire, $) && !seeded(publishes_beside_others))
            return false;                      // acquire[deque-publishing]
        fence_unless(publishes_without_fence); // seq_cst[uneven]
        rl::linear_backoff backoff;
        while (busy_.load(mo_acquire, $) && !seeded(publishes_beside_the_owner))
            backoff.yield($);                                                                   // acquire[deque-busy]
        const int s = split_.load(mo_relaxed, $), b = bottom_.load(mo_acquire, $);              // acquire[deque-bottom]
        if (b > s) split_.store(s + (b - s + 1) / 2, unless(publishes_relaxed, mo_release), $); // release[deque-split]
        publishing_.store(0, mo_release, $); // release[deque-publishing]
        return b > s;
    }
    int steal() {
        int t = 0;
        if (!find_public(t) && !(publish_for_owner() && find_public(t))) return none_left;
        const unsigned r = ring_.load(unless(ring_not_acquired, mo_acquire), $); // acquire[deque-ring]
        const int item = at(r, t).load(mo_relaxed, $);
        if (seeded(thief_takes_blindly))
            top_.store(t + 1, mo_release, $);
        else if (!top_.compare_exchange_strong(t, t + 1, mo_seq_cst, $, mo_relaxed, $)) // seq_cst[deque-top]
            return none_left;
        return item;
    }

    void take(int item) {
        if (item == none_left) return;
        RL_ASSERT(payload[item]($) == item);
        RL_ASSERT(++taken[item] == 1);
    }
    void thread(unsigned id) {
        if (id != 0) {
            if (Begun && id == 1)
                publish_for_owner();
            else
                take(steal());
            take(steal());
            return;
        }
        int next = Begun ? 2 : 0;
        const auto push_next = [&] {
            payload[next]($) = next;
            push(next++);
        };
        push_next();
        if (!Begun) push_next();
        take(pop(false));
        while (next < static_cast<int>(Pushes)) push_next();
        take(pop(false));
        if (!Begun) take(pop());
    }
    void after() {
        for (int item; (item = pop()) != none_left;) take(item);
        for (const int t : taken) RL_ASSERT(t == 1);
    }
};

const registration small{
    {"deque",
     {"takes_back_without_fence", "steal_without_fence", "push_relaxed", "steal_sees_split_relaxed",
      "owner_takes_the_last_blindly", "thief_takes_blindly", "", "", "", "bottom_is_not_put_back",
      "takes_private_without_fence", "looks_at_split_first", "does_not_look_for_publishers", "",
      "moves_split_beside_publishers", "publishes_without_fence", "", "publishes_relaxed", "publishes_beside_others"},
     search<deque<3>>,
     {2, 60000}}};
const registration published{{"deque_published",
                              {"", "", "", "", "", "", "", "", "", "", "", "", "moves_split_without_fence", "", "",
                               "publishes_beside_the_owner"},
                              search<deque<3, true>>,
                              {2, 60000}}};
const registration growing{{"deque_that_grows",
                            {"takes_back_without_fence", "steal_without_fence", "", "", "owner_takes_the_last_blindly",
                             "thief_takes_blindly", "ring_relaxed", "ring_not_acquired", "grows_too_late"},
                            search<deque<5>>,
                            {1, 40000}}};

} // namespace
} // namespace model
