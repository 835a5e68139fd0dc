// A program's condition variable: src/personality/pthread/condition. Two threads wait for a ticket each. A third gives
// them out one by one, with a signal after each unlock; or both at once, with a broadcast under the mutex, and destroys
// the condition then and there, as POSIX allows.
#include "checker.hpp"

namespace model {
namespace {

enum bug {
    none,
    sleeps_blindly,
    counts_sleepers_late,
    signal_looks_first,
    reads_signals_unlocked,
    wakes_nobody,
    leave_relaxed,
    leaves_after_the_lock
};

// The kernel's futex: wakes those who sleep in the order in which they came.
class fifo_futex {
public:
    void sleep(unsigned id, atomic<unsigned> &word, unsigned mask, unsigned expected) {
        mutex_.lock($);
        if (seeded(sleeps_blindly) || (word.load(mo_relaxed, $) & mask) == expected) {
            asleep_[sleepers_++] = id;
            sleeps_[id] = true;
            while (sleeps_[id]) woken_[id].wait(mutex_, $);
        }
        mutex_.unlock($);
    }
    void wake(unsigned most) {
        mutex_.lock($);
        for (; sleepers_ > 0 && most > 0; --most) {
            const unsigned id = asleep_[0];
            asleep_[0] = asleep_[1];
            --sleepers_;
            sleeps_[id] = false;
            woken_[id].notify_all($);
        }
        mutex_.unlock($);
    }

private:
    rl::mutex mutex_;
    rl::condition_variable woken_[2];
    unsigned asleep_[2]{}, sleepers_ = 0;
    bool sleeps_[2]{};
};

template <bool Destroyed> struct condition : rl::test_suite<condition<Destroyed>, 3> {
    static constexpr unsigned one_sleeper = 0x10000, half = 0xffff;
    atomic<unsigned> word_, inside_;
    fifo_futex futex_;
    rl::mutex mutex_;
    var<int> tickets, object; // object: the condition's memory, which somebody may reuse

    void before() {
        word_.store(0, mo_relaxed, $);
        inside_.store(0, mo_relaxed, $);
        tickets($) = object($) = 0;
    }
    void use() { RL_ASSERT(object($) == 0); }
    void wait(unsigned id) {
        use();
        inside_.fetch_add(1, mo_relaxed, $);
        unsigned seen = word_.load(mo_acquire, $) & half; // acquire[condition]
        mutex_.unlock($);
        if (seeded(reads_signals_unlocked)) seen = word_.load(mo_acquire, $) & half;    // acquire[condition]
        if (!seeded(counts_sleepers_late)) word_.fetch_add(one_sleeper, mo_acq_rel, $); // acq_rel[condition]
        while ((word_.load(mo_acquire, $) & half) == seen)                              // acquire[condition]
            futex_.sleep(id, word_, half, seen);
        if (!seeded(counts_sleepers_late)) word_.fetch_sub(one_sleeper, mo_relaxed, $);
        use();
        if (seeded(leaves_after_the_lock)) mutex_.lock($);
        inside_.fetch_sub(1, unless(leave_relaxed, mo_release), $); // release[condition-left]
        if (!seeded(leaves_after_the_lock)) mutex_.lock($);
    }
    void signal(unsigned wakes) {
        use();
        if (inside_.load(mo_relaxed, $) == 0) return;
        unsigned before = word_.load(mo_relaxed, $);
        const unsigned looked = before;
        while (!word_.compare_exchange_weak(before, (before & ~half) | ((before + 1) & half), mo_acq_rel, $, mo_relaxed,
                                            $)) { // acq_rel[condition]
        }
        if ((seeded(signal_looks_first) ? looked : before) >= one_sleeper && !seeded(wakes_nobody)) futex_.wake(wakes);
    }
    void thread(unsigned id) {
        if (id < 2) {
            mutex_.lock($);
            while (tickets($) == 0) wait(id);
            --tickets($);
            mutex_.unlock($);
        } else if (Destroyed) {
            mutex_.lock($);
            tickets($) = 2;
            signal(2);
            rl::linear_backoff b;
            while (inside_.load(mo_acquire, $) != 0) b.yield($); // acquire[condition-left]
            object($) = 1;
            mutex_.unlock($);
        } else {
            for (int i = 0; i < 2; ++i) {
                mutex_.lock($);
                ++tickets($);
                mutex_.unlock($);
                signal(1);
            }
        }
    }
};

const registration destroyed{{"condition_destroyed",
                              {"sleeps_blindly", "counts_sleepers_late", "signal_looks_first", "reads_signals_unlocked",
                               "wakes_nobody", "leave_relaxed", "leaves_after_the_lock"},
                              search<condition<true>>,
                              {2, 20000}}};
const registration signalled{
    {"condition_signalled",
     {"sleeps_blindly", "counts_sleepers_late", "signal_looks_first", "reads_signals_unlocked", "wakes_nobody"},
     search<condition<false>>,
     {2, 20000}}};

} // namespace
} // namespace model
