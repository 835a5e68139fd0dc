// Going home: src/core/carrier.cpp post_home, carrier.hpp take_home, runtime.cpp sleep_without_hart. Two threads of the
// program wait for each other in turns; each looks for the mark while it still carries its hart (step), and then sleeps
// (sleep_at_home).
#include "checker.hpp"

namespace model {
namespace {

enum bug { none, post_relaxed, takes_relaxed, sleeps_blindly, posts_by_store, leaves_the_mark, leaves_the_token };

enum state : unsigned { away, ready, asleep };

struct home : rl::test_suite<home, 2> {
    static constexpr int rounds = 2;
    atomic<unsigned> home_[2];
    parker park[2];
    var<int> message[2];

    void before() {
        for (auto &h : home_) h.store(away, mo_relaxed, $);
    }
    void post_home(int to) {
        unsigned before;
        if (seeded(posts_by_store)) {
            before = home_[to].load(mo_acquire, $);
            home_[to].store(ready, mo_release, $);
        } else {
            before = home_[to].exchange(ready, unless(post_relaxed, mo_acq_rel), $); // acq_rel[home]
        }
        if (before == asleep) park[to].wake();
    }
    bool take_home(int me) {
        return home_[me].load(mo_relaxed, $) == ready &&
               home_[me].exchange(away, unless(takes_relaxed, mo_acquire), $) == ready; // acquire[home]
    }
    void sleep_without_hart(int me) {
        unsigned expected = away;
        if (seeded(sleeps_blindly)) {
            home_[me].store(asleep, mo_release, $);
            park[me].wait();
        } else if (home_[me].compare_exchange_strong(expected, asleep, mo_acq_rel, $)) { // acq_rel[home]
            park[me].wait();
        }
        if (!seeded(leaves_the_mark)) home_[me].exchange(away, unless(takes_relaxed, mo_acquire), $); // acquire[home]
    }
    // With a deadline, which may pass first; then it waits again.
    bool sleep_until(int me) {
        unsigned expected = away;
        if (home_[me].compare_exchange_strong(expected, asleep, mo_acq_rel, $) && // acq_rel[home]
            !park[me].wait_until()) {
            expected = asleep;
            if (home_[me].compare_exchange_strong(expected, away, mo_relaxed, $)) return false;
            if (!seeded(leaves_the_token)) park[me].wait(); // it is on its way
        }
        home_[me].exchange(away, mo_acquire, $); // acquire[home]
        return true;
    }
    void wait(int me) {
        if (take_home(me)) return;
        if (me == 1 && rl::rand(2) && sleep_until(me)) return;
        sleep_without_hart(me);
    }
    void thread(unsigned id) {
        for (int i = 0; i < rounds; ++i) {
            if (id == 1) wait(1);
            if (id == 1) RL_ASSERT(message[1]($) == i);
            message[1 - id]($) = i;
            post_home(static_cast<int>(1 - id));
            if (id == 0) {
                wait(0);
                RL_ASSERT(message[0]($) == i);
            }
        }
    }
};

const registration here{
    {"home",
     {"post_relaxed", "takes_relaxed", "sleeps_blindly", "posts_by_store", "leaves_the_mark", "leaves_the_token"},
     search<home>,
     {3, 20000}}};

} // namespace
} // namespace model
