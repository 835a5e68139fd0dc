// A thread that suspends itself, and those who resume and cancel it: src/thread/suspend.cpp (park_suspended,
// take_suspended, comity_thread_resume), cancel.cpp (comity_thread_cancel, cancel_here, end_wait) and extension.cpp
// (end_extension). The thread frees its extension when it has ended, as one that is detached or joined by somebody else
// does: whoever resumes or cancels it has no right to the handle from then on. How a request ends other waits is the
// matter of cancel_wait.cpp. Variants: the thread may be cancelled; it has disabled that; it is ending, and
// its cleanup handler suspends itself.
#include "checker.hpp"

namespace model {
namespace {

enum bug {
    none,
    parks_relaxed,
    takes_relaxed,
    enters_before_it_is_saved,
    parks_blindly,
    parks_by_store,
    takes_by_store,
    requests_after_it_woke,
    looks_again_after_it_woke,
    cancel_wakes_it_all_the_same,
    heeds_a_request_all_the_same,
    ends_without_waiting
};

enum class phase { cancellable, disabled, ending };

template <phase P> struct suspend : rl::test_suite<suspend<P>, 3> {
    static constexpr unsigned requested = 1, disabled = 2, ending = 4, taking = 8, bits = 15;
    static constexpr unsigned suspended = 16; // stands for the context
    atomic<unsigned> state_;
    var<int> extension; // 1: it is there
    var<int> saved;     // the context: written when the thread is off its stack, read by whoever makes it ready
    parker resumed;     // stands for unblock
    // Of the model: who may use the handle; how often the thread was resumed, and by what.
    atomic<unsigned> holds_, by_resume_, by_cancel_;

    void before() {
        state_.store(0, mo_relaxed, $);
        holds_.store(2, mo_relaxed, $);
        by_resume_.store(0, mo_relaxed, $);
        by_cancel_.store(0, mo_relaxed, $);
        extension($) = 1;
        saved($) = 0;
    }
    atomic<unsigned> &state() {
        RL_ASSERT(extension($) == 1);
        return state_;
    }
    void let_go() { holds_.fetch_sub(1, mo_release, $); }
    void unblock(atomic<unsigned> &why) {
        RL_ASSERT(saved($) == 1);
        saved($) = 0;
        why.fetch_add(1, mo_relaxed, $);
        resumed.wake();
    }

    // ---- The thread
    static bool is_cancelled(unsigned state) { return (state & (bits & ~taking)) == requested; }
    bool is_cancelled() { return is_cancelled(state().load(mo_acquire, $)); } // acquire[suspend]
    bool enters(unsigned &now) {
        if (seeded(parks_by_store)) {
            state().store(now | suspended, mo_release, $);
            return true;
        }
        const rl::memory_order order = unless(parks_relaxed, mo_acq_rel);
        return state().compare_exchange_weak(now, now | suspended, order, $); // acq_rel[suspend]
    }
    void park_suspended() {
        if (!seeded(enters_before_it_is_saved)) saved($) = 1;
        unsigned now = state().load(mo_relaxed, $);
        do {
            const bool heeds = seeded(heeds_a_request_all_the_same) ? now & requested : is_cancelled(now);
            if (heeds && !seeded(parks_blindly)) return;
        } while (!enters(now));
        if (seeded(enters_before_it_is_saved)) saved($) = 1;
        resumed.wait();
    }
    void owner() {
        if (P == phase::cancellable) {
            while (!is_cancelled()) park_suspended();
        } else {
            state().fetch_or(P == phase::disabled ? disabled : ending, mo_relaxed, $);
            park_suspended();
            RL_ASSERT(by_resume_.load(mo_relaxed, $) == 1 && by_cancel_.load(mo_relaxed, $) == 0);
        }
        if (P == phase::disabled) {
            state().fetch_and(~disabled, mo_relaxed, $);
            rl::linear_backoff b;
            while (!is_cancelled()) b.yield($);
        }
        state().fetch_or(ending, mo_relaxed, $);
        rl::linear_backoff b;
        while (!seeded(ends_without_waiting) && state().load(mo_acquire, $) & taking) b.yield($); // acquire[taking]
        while (holds_.load(mo_acquire, $) != 0) b.yield($);
        extension($) = 0; // free_extension
    }

    // ---- The others
    bool take_suspended(unsigned set, unsigned &before) {
        before = state().load(mo_relaxed, $);
        for (;;) {
            const bool kept = seeded(cancel_wakes_it_all_the_same) ? false : before & (disabled | ending);
            const bool takes = set == 0 || !kept;
            unsigned after = (takes ? before & bits : before) | set;
            if (set != 0 && before == 0) after |= taking;
            if (seeded(takes_by_store))
                state().store(after, mo_release, $);
            else if (!state().compare_exchange_weak(before, after, unless(takes_relaxed, mo_acq_rel),
                                                    $)) // acq_rel[suspend]
                continue;
            return takes && before & suspended;
        }
    }
    bool resume() {
        unsigned before = 0;
        if (!take_suspended(0, before)) return false;
        let_go();
        unblock(by_resume_);
        return true;
    }
    void cancel() {
        unsigned before = 0;
        const bool late = seeded(requests_after_it_woke), suspends = take_suspended(late ? 0 : requested, before);
        if (!late) let_go(); // the request may be what ends it
        if (suspends)
            unblock(by_cancel_);
        else if (!late && before == 0)
            state().fetch_and(~taking, mo_release, $); // release[taking]
        if (late) state().fetch_or(requested, mo_acq_rel, $);
        if (late) let_go();
        if (seeded(looks_again_after_it_woke)) before = state().load(mo_relaxed, $);
    }
    void thread(unsigned id) {
        if (id == 0) return owner();
        if (id == 1) return cancel();
        rl::linear_backoff b;
        for (;;) { // once, or until the one resume that there is has come
            if (resume()) return;
            if (P == phase::cancellable) return let_go();
            b.yield($);
        }
    }
};

const registration here{
    {"suspend",
     {"parks_relaxed", "takes_relaxed", "enters_before_it_is_saved", "parks_blindly", "parks_by_store",
      "takes_by_store", "requests_after_it_woke", "looks_again_after_it_woke", "", "", "ends_without_waiting"},
     search<suspend<phase::cancellable>>,
     {2, 20000}}};
const registration not_now{{"suspend_disabled",
                            {"parks_relaxed", "takes_relaxed", "enters_before_it_is_saved", "", "parks_by_store",
                             "takes_by_store", "", "", "cancel_wakes_it_all_the_same", "heeds_a_request_all_the_same"},
                            search<suspend<phase::disabled>>,
                            {2, 20000}}};
const registration at_the_end{
    {"suspend_ending",
     {"", "", "", "", "", "", "", "", "cancel_wakes_it_all_the_same", "heeds_a_request_all_the_same"},
     search<suspend<phase::ending>>,
     {2, 20000}}};

} // namespace
} // namespace model
