// The word in which a thread's end and its joiner meet: src/thread/end_word.* (end, replace_open, left_behind, park)
// and publish_end. A thread ends on one hart; a joiner on another stops, by leaving its stack to another context or to
// the transition context, and enters the word then, or finds the end. Who is resumed frees the descriptor. The variant
// `alone` has one hart, which its holders hand on: the end is a load and a store, and a joiner without a hart, who is a
// kernel thread, gets the hart before it touches the word.
#include "checker.hpp"

namespace model {
namespace {

enum bug {
    none,
    end_relaxed,
    enters_relaxed,
    enters_before_it_is_saved,
    enters_by_store,
    sleeps_without_a_look,
    ends_before_the_value,
    touches_after_the_end,
    ends_looking_by_store,
    enters_though_it_looks
};
enum alone_bug { alone_none, enters_without_the_hart, end_store_relaxed, ends_looking_without_the_hart };

struct descriptor {
    static constexpr unsigned open = 0, ended = 1, looked_at = 2, waits = 3; // waits: stands for the joiner's context
    atomic<unsigned> word_;
    var<int> value, // written by the thread, read by who joins it
        saved;      // the joiner's context: written when it is off its stack, read by whoever resumes it
    parker resumed; // stands for unblock, or the resumption on this hart

    void begin() {
        word_.store(open, mo_relaxed, $);
        value($) = 0;
        saved($) = 0;
    }
    void wake(unsigned before) {
        if (before != waits) return;
        RL_ASSERT(saved($) == 1);
        resumed.wake();
    }
    void dispose() {
        RL_ASSERT(value($) == 1);
        value($) = 2; // the next thread's
    }
};

struct thread_join : rl::test_suite<thread_join, 2> {
    descriptor t;
    void before() { t.begin(); }
    void thread(unsigned id) {
        if (id == 0)
            end();
        else
            join();
    }
    void end() {
        if (!seeded(ends_before_the_value)) t.value($) = 1;
        const unsigned before =
            t.word_.exchange(descriptor::ended, unless(end_relaxed, mo_acq_rel), $); // acq_rel[thread-end]
        if (seeded(ends_before_the_value)) t.value($) = 1;
        t.wake(before);
        if (seeded(touches_after_the_end)) t.value($) = 1;
    }
    bool replace_open() {
        if (seeded(enters_by_store)) {
            if (t.word_.load(mo_acquire, $) != descriptor::open) return false;
            t.word_.store(descriptor::waits, mo_release, $);
            return true;
        }
        unsigned before = descriptor::open;
        const rl::memory_order order = unless(enters_relaxed, mo_acq_rel);
        return t.word_.compare_exchange_strong(before, descriptor::waits, order, $); // acq_rel[thread-end]
    }
    // begin_looking, and end_looking: what the thread does between the two, a yield, is left out.
    void look() {
        unsigned before = descriptor::open;
        if (!t.word_.compare_exchange_strong(before, descriptor::looked_at, mo_acq_rel, $)) return;
        if (t.word_.load(mo_acquire, $) == descriptor::ended || seeded(enters_though_it_looks)) return;
        before = descriptor::looked_at;
        if (seeded(ends_looking_by_store))
            t.word_.store(descriptor::open, mo_release, $);
        else
            t.word_.compare_exchange_strong(before, descriptor::open, mo_acq_rel, $); // acq_rel[thread-end]
    }
    void join() {
        look();
        if (t.word_.load(mo_acquire, $) != descriptor::ended) { // acquire[thread-end]
            bool entered = false;
            if (seeded(enters_before_it_is_saved)) entered = replace_open();
            t.saved($) = 1;
            if (!seeded(enters_before_it_is_saved)) entered = replace_open();
            // left_behind, or park: not entered means that it is over, and the joiner goes on by itself.
            if (entered || seeded(sleeps_without_a_look)) t.resumed.wait();
        }
        t.dispose();
    }
};

// The only hart: a lock that the thread's hart holds over its whole turn. `looks`: the joiner is a context of that
// hart, and looks at the word between two turns of its own.
template <bool looks> struct thread_join_alone : rl::test_suite<thread_join_alone<looks>, 2> {
    descriptor t;
    atomic<unsigned> hart_; // 1: somebody holds it

    void before() {
        t.begin();
        hart_.store(0, mo_relaxed, $);
    }
    void acquire() {
        rl::linear_backoff b;
        while (hart_.exchange(1, mo_acquire, $) != 0) b.yield($);
    }
    void release() { hart_.store(0, mo_release, $); }
    void thread(unsigned id) {
        if (id == 0)
            end();
        else
            join();
    }
    void end() {
        acquire();
        t.value($) = 1;
        const unsigned before = t.word_.load(mo_relaxed, $);
        t.word_.store(descriptor::ended, unless(end_store_relaxed, mo_release), $); // release[thread-end]
        t.wake(before);
        release();
    }
    bool exchange_here(unsigned from, unsigned to) {
        if (t.word_.load(mo_relaxed, $) != from) return false;
        t.word_.store(to, mo_relaxed, $);
        return true;
    }
    void look() {
        acquire();
        const bool looking = exchange_here(descriptor::open, descriptor::looked_at);
        release(); // it yields
        if (!seeded(ends_looking_without_the_hart)) acquire();
        if (looking) exchange_here(descriptor::looked_at, descriptor::open);
        if (!seeded(ends_looking_without_the_hart)) release();
    }
    // A kernel thread without a hart looks without it, and changes the word with it.
    void join() {
        if (looks) look();
        if (t.word_.load(mo_acquire, $) != descriptor::ended) { // acquire[thread-end]
            t.saved($) = 1;
            if (!seeded(enters_without_the_hart)) acquire();
            unsigned before = descriptor::open;
            const bool entered =
                t.word_.compare_exchange_strong(before, descriptor::waits, mo_acq_rel, $); // acq_rel[thread-end]
            if (!seeded(enters_without_the_hart)) release();
            if (entered) t.resumed.wait();
        }
        t.dispose();
    }
};

const registration here{
    {"thread_join",
     {"end_relaxed", "enters_relaxed", "enters_before_it_is_saved", "enters_by_store", "sleeps_without_a_look",
      "ends_before_the_value", "touches_after_the_end", "ends_looking_by_store", "enters_though_it_looks"},
     search<thread_join>,
     {3, 20000}}};
const registration alone{{"thread_join_alone",
                          {"enters_without_the_hart", "end_store_relaxed"},
                          search<thread_join_alone<false>>,
                          {3, 20000}}};
const registration alone_looks{{"thread_join_alone_looks",
                                {"enters_without_the_hart", "end_store_relaxed", "ends_looking_without_the_hart"},
                                search<thread_join_alone<true>>,
                                {3, 20000}}};

} // namespace
} // namespace model
