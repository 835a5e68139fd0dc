// Park and wake: src/core/carrier.cpp, class parker. Two kernel threads wake each other in turns, each by writing a
// grant and giving the token; one of them waits with a deadline.
#include "checker.hpp"

namespace model {
namespace {

enum bug { none, wake_relaxed, take_relaxed, parks_blindly, wakes_nobody, deadline_drops_token };

class tested_parker {
public:
    tested_parker() { word_.store(empty, mo_relaxed, $); }
    void wait() {
        if (!take()) sleep(false);
    }
    bool wait_until() { return take() || sleep(true); }
    void wake() {
        const unsigned before = word_.exchange(token, unless(wake_relaxed, mo_release), $); // release[park-token]
        if (before == parked && !seeded(wakes_nobody)) futex_.wake();
    }

private:
    static constexpr unsigned empty = 0, parked = 1, token = 2;
    bool take() {
        if (word_.load(mo_relaxed, $) != token) return false;
        word_.exchange(empty, unless(take_relaxed, mo_acquire), $); // acquire[park-token]
        return true;
    }
    bool sleep(bool deadline) {
        unsigned expected = empty;
        if (seeded(parks_blindly)) word_.store(parked, mo_relaxed, $);
        if (seeded(parks_blindly) || word_.compare_exchange_strong(expected, parked, mo_relaxed, $)) {
            for (;;) {
                const bool late = deadline && rl::rand(2) == 0;
                if (!late) futex_.wait(word_, parked);
                if (word_.load(mo_relaxed, $) == token) break;
                expected = parked;
                if (late && seeded(deadline_drops_token)) {
                    word_.store(empty, mo_relaxed, $);
                    return false;
                }
                if (late && word_.compare_exchange_strong(expected, empty, mo_relaxed, $)) return false;
            }
        }
        word_.exchange(empty, unless(take_relaxed, mo_acquire), $); // acquire[park-token]
        return true;
    }

    atomic<unsigned> word_;
    futex futex_;
};

struct park : rl::test_suite<park, 2> {
    static constexpr int rounds = 2;
    tested_parker of[2];
    var<int> grant[2];

    void give(int to, int value) {
        grant[to]($) = value;
        of[to].wake();
    }
    void thread(unsigned id) {
        for (int i = 0; i < rounds; ++i) {
            if (id == 0) {
                give(1, i);
                bool in_time = false;
                for (int late = 0; late < 2 && !in_time; ++late) in_time = of[0].wait_until();
                if (!in_time) of[0].wait();
            } else {
                of[1].wait();
                RL_ASSERT(grant[1]($) == i);
                give(0, i);
                continue;
            }
            RL_ASSERT(grant[0]($) == i);
        }
    }
};

const registration here{{"park",
                         {"wake_relaxed", "take_relaxed", "parks_blindly", "wakes_nobody", "deadline_drops_token"},
                         search<park>,
                         {3, 20000}}};

} // namespace
} // namespace model
