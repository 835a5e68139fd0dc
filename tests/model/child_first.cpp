// A thread that starts before its parent goes on, and the parent's theft: src/thread/technique/child_first.cpp
// (start_by_call, returning_main), on_joiner and roc (a thread that was never stopped returns), sc (lend_stack) and
// core/carrier.cpp (call, resume). Hart 0 runs the parent, which stands on the scheduler's stack as an SC thread does;
// it calls the child, which puts the parent into the hart's deque, and may be stopped before it ends. Hart 1 steals.
// Then the parent joins the child. The deque is one word here (deque.cpp), the join's word is that of thread_join.cpp.
#include "checker.hpp"

namespace model {
namespace {

enum bug {
    none,
    pushes_before_it_is_saved,
    returns_without_a_look,
    looks_and_takes_nothing,
    steals_relaxed,
    pushes_relaxed,
    forgets_that_it_was_stopped,
    returns_though_it_was_stopped,
    keeps_the_schedulers_stack,
    lends_when_the_child_stops,
    known_before_it_is_saved
};

struct child_first : rl::test_suite<child_first, 3> {
    struct context {
        var<int> frames; // its stack and registers: whoever runs it writes there
        var<int> stack;  // 1: it is its own; 0: the scheduler's, which is needed when the hart goes on with something
                         // else
        var<int> broken; // written by whoever resumes it
        void run() { frames($) = frames($) + 1; }
    } parent_, child_;
    bool stopped_, returned_;           // the child was; the model's
    atomic<unsigned> deque_[2];         // 1: the parent
    atomic<unsigned> ready_, over_;     // the child may go on; the parent has ended
    atomic<unsigned> end_word_, event_; // 0; 1: ended, set; 2: the parent, the child waits

    void before() {
        for (auto *a : {&deque_[0], &deque_[1], &ready_, &over_, &end_word_, &event_}) a->store(0, mo_relaxed, $);
        for (auto *c : {&parent_, &child_}) {
            c->frames($) = 0;
            c->stack($) = c == &child_;
            c->broken($) = 0;
        }
        stopped_ = returned_ = false;
    }

    // ---- core
    // Returns on a hart that was going to run something else: so the stack must not be the scheduler's.
    void resume(context &c) {
        RL_ASSERT(c.stack($) == 1);
        if (!seeded(forgets_that_it_was_stopped)) c.broken($) = 1;
        c.run();
    }
    void lend_stack(context &c) {
        if (c.stack($) == 0) c.stack($) = 1;
    }

    // ---- The deque
    void push(unsigned hart) { deque_[hart].store(1, unless(pushes_relaxed, mo_release), $); } // release[deque-bottom]
    bool take(unsigned hart) {
        unsigned there = 1;
        const rl::memory_order order = unless(steals_relaxed, mo_acq_rel);
        return deque_[hart].load(mo_relaxed, $) && deque_[hart].compare_exchange_strong(there, 0u, order, $);
    }
    bool pop_if(unsigned hart) {
        if (seeded(returns_without_a_look)) return true;
        if (seeded(looks_and_takes_nothing)) return deque_[hart].load(mo_acquire, $) == 1;
        return take(hart);
    }

    // ---- The child
    void start_by_call() {
        const bool late = seeded(lends_when_the_child_stops) || seeded(keeps_the_schedulers_stack);
        if (!late) lend_stack(parent_); // keep_guest_stack
        if (seeded(pushes_before_it_is_saved)) push(0);
        parent_.run(); // call: it is saved on its own stack
        child_.broken($) = 0;
        child_.run();
        if (!seeded(pushes_before_it_is_saved)) push(0); // expose_parent
        if (rl::rand(2))
            child_ends(0);
        else
            child_stops();
    }
    void child_stops() {
        if (seeded(lends_when_the_child_stops)) lend_stack(parent_);
        stopped_ = true;
        unsigned open = 0;
        bool waits = false;
        if (seeded(known_before_it_is_saved)) waits = event_.compare_exchange_strong(open, 2u, mo_acq_rel, $);
        child_.run(); // it is saved
        if (!seeded(known_before_it_is_saved)) waits = event_.compare_exchange_strong(open, 2u, mo_acq_rel, $);
        if (waits) return; // the hart goes on with something else
        resume(child_);
        child_ends(0);
    }
    void child_ends(unsigned hart) {
        child_.run();
        const bool broken = child_.broken($) && !seeded(returns_though_it_was_stopped);
        if (!broken && pop_if(hart)) { // it returns to the parent, without a switch
            // Right above the parent, on the carrier that it was called on, only if it was never stopped.
            RL_ASSERT(!stopped_ && hart == 0);
            returned_ = true;
            parent_.run();
            end_word_.exchange(1, mo_acq_rel, $); // publish_end
            return parent_goes_on();
        }
        if (end_word_.exchange(1, mo_acq_rel, $) != 2) return; // acq_rel[thread-end]
        resume(parent_);
        parent_ends();
    }

    // ---- The parent
    void parent_goes_on() {
        parent_.run();
        if (end_word_.load(mo_acquire, $) != 1) { // acquire[thread-end]
            parent_.run();                        // it is saved
            unsigned open = 0;
            if (end_word_.compare_exchange_strong(open, 2u, mo_acq_rel, $)) return; // acq_rel[thread-end]
            resume(parent_);
        }
        parent_ends();
    }
    void parent_ends() {
        parent_.run();
        RL_ASSERT(over_.load(mo_relaxed, $) == 0);
        over_.store(1, mo_relaxed, $);
    }

    // ---- The harts' scheduler
    void schedule(unsigned hart) {
        rl::linear_backoff b;
        while (!over_.load(mo_relaxed, $)) {
            if (take(hart) || take(1 - hart)) {
                resume(parent_);
                parent_goes_on();
            } else if (ready_.load(mo_relaxed, $) && ready_.exchange(0, mo_acq_rel, $)) {
                resume(child_);
                child_ends(hart);
            } else {
                b.yield($);
            }
        }
    }
    void thread(unsigned id) {
        if (id == 2) {
            if (event_.exchange(1, mo_acq_rel, $) == 2) ready_.store(1, mo_release, $);
            return;
        }
        if (id == 0) start_by_call();
        schedule(id);
    }
    void after() { RL_ASSERT(!(stopped_ && returned_)); }
};

const registration here{
    {"child_first",
     {"pushes_before_it_is_saved", "returns_without_a_look", "looks_and_takes_nothing", "steals_relaxed",
      "pushes_relaxed", "forgets_that_it_was_stopped", "returns_though_it_was_stopped", "keeps_the_schedulers_stack",
      "lends_when_the_child_stops", "known_before_it_is_saved"},
     search<child_first>,
     {3, 20000}}};

} // namespace
} // namespace model
