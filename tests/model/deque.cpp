// The work-stealing deque: src/pool/deque.hpp, with a ring of two places that grows to four. The owner pushes and pops,
// two thieves steal; each item is taken once, and what was written before its push is seen.
#include "checker.hpp"

namespace model {
namespace {

enum bug {
    none,
    pop_without_fence,
    steal_without_fence,
    push_relaxed,
    steal_sees_bottom_relaxed,
    owner_takes_the_last_blindly,
    thief_takes_blindly,
    ring_relaxed,
    ring_not_acquired,
    grows_too_late,
    bottom_is_not_put_back
};

template <unsigned Pushes> struct deque : rl::test_suite<deque<Pushes>, 3> {
    static constexpr int none_left = -1;
    atomic<int> top_, bottom_;
    atomic<unsigned> ring_;
    var<int *> made[2]; // a ring that somebody reads must have been made
    atomic<int> place[2][4];
    int seen_top; // the owner's
    var<int> payload[Pushes];
    int taken[Pushes];

    void before() {
        top_.store(0, mo_relaxed, $);
        bottom_.store(0, mo_relaxed, $);
        ring_.store(0, mo_relaxed, $);
        made[0]($) = &seen_top;
        for (auto &r : place)
            for (auto &p : r) p.store(none_left, mo_relaxed, $);
        seen_top = 0;
        for (int &t : taken) t = 0;
    }
    static int mask(unsigned ring) { return ring == 0 ? 1 : 3; }
    atomic<int> &at(unsigned ring, int i) {
        RL_ASSERT(made[ring]($) == &seen_top);
        return place[ring][i & mask(ring)];
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
    }
    int pop() {
        const int b = bottom_.load(mo_acquire, $) - 1; // acquire[deque-bottom]
        if (top_.load(mo_relaxed, $) > b) return none_left;
        const int item = at(ring_.load(mo_relaxed, $), b).load(mo_relaxed, $);
        bottom_.store(b, mo_release, $); // release[deque-bottom]
        fence_unless(pop_without_fence); // seq_cst[deque-ends]
        int t = top_.load(mo_relaxed, $);
        if (t < b) return item;
        bool mine = t == b;
        if (!seeded(owner_takes_the_last_blindly))
            mine = mine && top_.compare_exchange_strong(t, t + 1, mo_seq_cst, $, mo_relaxed, $); // seq_cst[deque-top]
        if (!seeded(bottom_is_not_put_back)) bottom_.store(b + 1, mo_release, $); // release[deque-bottom]
        return mine ? item : none_left;
    }
    int steal() {
        int t = top_.load(mo_acquire, $);                                             // acquire[deque-top]
        fence_unless(steal_without_fence);                                            // seq_cst[deque-ends]
        const int b = bottom_.load(unless(steal_sees_bottom_relaxed, mo_acquire), $); // acquire[deque-bottom]
        if (t >= b) return none_left;
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
            take(steal());
            take(steal());
            return;
        }
        int next = 0;
        const auto push_next = [&] {
            payload[next]($) = next;
            push(next++);
        };
        push_next();
        push_next();
        take(pop());
        while (next < static_cast<int>(Pushes)) push_next();
        take(pop());
        take(pop());
    }
    void after() {
        for (int item; (item = pop()) != none_left;) take(item);
        for (const int t : taken) RL_ASSERT(t == 1);
    }
};

const registration small{{"deque",
                          {"pop_without_fence", "steal_without_fence", "push_relaxed", "steal_sees_bottom_relaxed",
                           "owner_takes_the_last_blindly", "thief_takes_blindly", "", "", "", "bottom_is_not_put_back"},
                          search<deque<3>>,
                          {2, 60000}}};
const registration growing{{"deque_that_grows",
                            {"pop_without_fence", "steal_without_fence", "", "", "owner_takes_the_last_blindly",
                             "thief_takes_blindly", "ring_relaxed", "ring_not_acquired", "grows_too_late"},
                            search<deque<5>>,
                            {2, 40000}}};

} // namespace
} // namespace model
