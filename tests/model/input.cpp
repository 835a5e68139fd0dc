// Waiting for input: src/core/input.cpp watch, tell, look and note_served, src/core/carrier.cpp sleep_at_input,
// src/personality/pthread/threads/input.cpp input_wait. One waits twice, and his hart, which is idle then, and
// another one sleep for input in turns. And the timers' thread, which looks while nobody sleeps, stops as a sleeper
// leaves.
#include "checker.hpp"

namespace model {
namespace {

enum bug {
    none,
    tells_before_it_counts,
    rings_nobody,
    sleeps_blindly,
    busy_without_fence,
    look_without_fence,
    ends_without_a_look,
    leaves_to_another
};

// The kernel's set, of one descriptor, with its input and its bell.
class kernel_set {
public:
    void before() { given_ = 0, is_armed_ = is_rung_ = false; }
    void arm() {
        mutex_.lock($);
        is_armed_ = true;
        report();
    }
    void give() {
        mutex_.lock($);
        ++given_;
        report();
    }
    void ring() {
        mutex_.lock($);
        is_rung_ = true;
        report();
    }
    bool read() {
        mutex_.lock($);
        const bool got = given_ != 0;
        given_ -= got;
        mutex_.unlock($);
        return got;
    }
    bool has_input() {
        mutex_.lock($);
        const bool has = given_ != 0;
        mutex_.unlock($);
        return has;
    }
    bool take() {
        mutex_.lock($);
        while (!(is_armed_ && given_ != 0) && !is_rung_) reported_.wait(mutex_, $);
        const bool got = is_armed_ && given_ != 0;
        is_armed_ = is_armed_ && !got;
        is_rung_ = false;
        mutex_.unlock($);
        return got;
    }

private:
    void report() {
        reported_.notify_all($);
        mutex_.unlock($);
    }
    rl::mutex mutex_;
    rl::condition_variable reported_;
    int given_ = 0;
    bool is_armed_ = false, is_rung_ = false;
};

struct input : rl::test_suite<input, 3> {
    static constexpr int rounds = 2;
    static constexpr unsigned empty = 0, parked = 1, token = 2, at_input = 3;
    atomic<unsigned> reports_, is_watched_, watched_, has_sleeper_;
    kernel_set set;
    lock list;
    bool waits_;                 // under `list`
    atomic<unsigned> parker_[2]; // of the kernel thread of the waiter's hart, and another one
    futex at_parker;

    void before() {
        for (auto *a : {&reports_, &is_watched_, &watched_, &has_sleeper_, &parker_[0], &parker_[1]})
            a->store(0, mo_relaxed, $);
        set.before();
        waits_ = false;
    }
    void wake(unsigned who) {
        const unsigned before = parker_[who].exchange(token, mo_release, $); // release[park-token]
        if (before == parked) at_parker.wake();
        if (before == at_input && !seeded(rings_nobody)) set.ring();
    }
    void count_out() {
        if (is_watched_.exchange(0, mo_acq_rel, $)) watched_.fetch_sub(1, mo_relaxed, $); // acq_rel[input-counted]
    }
    void tell() {
        if (!seeded(tells_before_it_counts)) count_out();
        reports_.fetch_add(1, mo_release, $); // release[input-report]
        list.acquire();
        const bool waits = waits_;
        waits_ = false;
        list.release();
        if (waits) wake(0);
        if (seeded(tells_before_it_counts)) count_out();
    }
    bool sleep_at_input(unsigned id) {
        if (watched_.load(mo_relaxed, $) == 0 || has_sleeper_.exchange(1, mo_relaxed, $)) return false;
        unsigned expected = empty;
        bool got = false;
        if (seeded(sleeps_blindly)) parker_[id].store(at_input, mo_relaxed, $);
        if (seeded(sleeps_blindly) || parker_[id].compare_exchange_strong(expected, at_input, mo_relaxed, $)) {
            got = set.take();
            expected = at_input;
            parker_[id].compare_exchange_strong(expected, empty, mo_relaxed, $);
        }
        has_sleeper_.store(0, mo_relaxed, $);
        if (got) tell();
        return true;
    }
    void wait_idle(unsigned id) {
        bool taken = false;
        while (!(taken = parker_[id].load(mo_relaxed, $) == token) && sleep_at_input(id)) {
        }
        unsigned expected = empty;
        if (!taken && parker_[id].compare_exchange_strong(expected, parked, mo_relaxed, $))
            while (parker_[id].load(mo_relaxed, $) != token) at_parker.wait(parker_[id], parked);
        parker_[id].exchange(empty, mo_acquire, $); // acquire[park-token]
    }
    void wait() {
        const unsigned seen = reports_.load(mo_acquire, $);                                // acquire[input-report]
        if (!is_watched_.exchange(1, mo_acq_rel, $)) watched_.fetch_add(1, mo_relaxed, $); // acq_rel[input-counted]
        set.arm();
        list.acquire();
        const bool waits = waits_ = reports_.load(mo_relaxed, $) == seen;
        list.release();
        if (waits) wait_idle(0);
    }
    void thread(unsigned id) {
        if (id == 0) {
            for (int i = 0; i < rounds; ++i)
                while (!set.read()) wait();
            wake(1);
        } else if (id == 1) {
            wait_idle(1);
        } else {
            for (int i = 0; i < rounds; ++i) {
                set.give();
                rl::linear_backoff b;
                while (set.has_input()) b.yield($);
            }
        }
    }
};

struct input_looks : rl::test_suite<input_looks, 2> {
    atomic<unsigned> watched_, has_sleeper_, looks_;
    bool arms_[2];

    void before() {
        for (auto *a : {&watched_, &has_sleeper_, &looks_}) a->store(1, mo_relaxed, $);
        arms_[0] = arms_[1] = false;
    }
    bool nobody_looks() { return watched_.load(mo_relaxed, $) != 0 && !has_sleeper_.load(mo_relaxed, $); }
    void thread(unsigned id) {
        if (id == 0) { // end_sleeping_for_input, note_served
            has_sleeper_.store(0, mo_relaxed, $);
            if (seeded(leaves_to_another)) return;
            fence_unless(busy_without_fence); // seq_cst[input-look]
            arms_[0] = nobody_looks() && !looks_.load(mo_relaxed, $) && !looks_.exchange(1, mo_relaxed, $);
            return;
        }
        arms_[1] = nobody_looks(); // look
        if (arms_[1]) return;
        looks_.store(0, mo_relaxed, $);
        fence_unless(look_without_fence); // seq_cst[input-look]
        if (!seeded(ends_without_a_look)) arms_[1] = nobody_looks() && !looks_.exchange(1, mo_relaxed, $);
    }
    void after() { RL_ASSERT(arms_[0] != arms_[1]); }
};

const registration waits{
    {"input", {"tells_before_it_counts", "rings_nobody", "sleeps_blindly"}, search<input>, {2, 20000}}};
const registration looks{
    {"input_looks",
     {"", "", "", "busy_without_fence", "look_without_fence", "ends_without_a_look", "leaves_to_another"},
     search<input_looks>,
     {3, 10000}}};

} // namespace
} // namespace model
