// Barrier: src/sync/barrier.hpp, its state word, with a member that drops out, one whose number is lowered while others
// arrive, and one at which more meet than its number; leaving_in_turn of src/sync/leaving.hpp. Waiting is the wait
// list's (wait_list.cpp) and stands here as a condition variable; destruction by whoever comes out first of the last
// phase.
#include "checker.hpp"

namespace model {
namespace {

enum bug {
    none,
    arrive_relaxed,
    wait_relaxed,
    drop_keeps_the_number,
    resize_opens_nothing,
    wakes_late,
    changes_unsettled,
    always_in_turn,
    leaves_relaxed
};

enum class kind { dropped, resized, shared };

template <kind Kind> struct barrier : rl::test_suite<barrier<Kind>, Kind == kind::shared ? 4 : 3> {
    static constexpr bool Resized = Kind == kind::resized, Shared = Kind == kind::shared;
    static constexpr unsigned one_arrival = 1, one_member = 0x10, one_phase = 0x100, field = 0xf;
    atomic<unsigned> state_, taken_, rest_, left;
    rl::mutex waiting;
    rl::condition_variable woken;
    var<int> value[4], object;

    void before() {
        // Resized: one more is expected than ever comes.
        state_.store((Shared ? 2 : 3) * one_member, mo_relaxed, $);
        taken_.store(0, mo_relaxed, $);
        rest_.store(0, mo_relaxed, $);
        left.store(0, mo_relaxed, $);
        for (auto &v : value) v($) = 0;
        object($) = 0;
    }
    static unsigned arrived_of(unsigned s) { return s & field; }
    static unsigned number_of(unsigned s) { return s >> 4 & field; }
    static unsigned phase_of(unsigned s) { return s >> 8; }
    void wake_all() {
        waiting.lock($);
        RL_ASSERT(object($) == 0);
        woken.notify_all($);
        waiting.unlock($);
    }
    // In turn; else, and if the place is taken, counted. Returns whether it is in the place.
    bool enter(bool in_turn) {
        if (in_turn && taken_.load(mo_relaxed, $) == 0) {
            taken_.store(1, mo_relaxed, $);
            return true;
        }
        rest_.fetch_add(1, mo_relaxed, $);
        return false;
    }
    void leave_inside(bool place) {
        const rl::memory_order order = unless(leaves_relaxed, mo_release); // release[sync-leave]
        if (place)
            taken_.store(0, order, $);
        else
            rest_.fetch_sub(1, order, $);
    }
    struct arrival {
        bool last;
        unsigned phase;
    };
    arrival arrive() {
        const unsigned s =
            state_.fetch_add(+one_arrival, unless(arrive_relaxed, mo_acq_rel), $); // acq_rel[barrier-phase]
        unsigned before = arrived_of(s), phase = phase_of(s);
        const unsigned number = number_of(s);
        RL_ASSERT(number != 0);
        const bool in_turn = before < number || seeded(always_in_turn);
        for (; before >= number; before -= number) ++phase;
        if (before + 1 != number) return {false, phase};
        bool place = !seeded(wakes_late) && enter(in_turn);
        state_.fetch_add(one_phase - number, unless(arrive_relaxed, mo_acq_rel), $); // acq_rel[barrier-phase]
        if (seeded(wakes_late)) place = enter(in_turn);
        wake_all();
        leave_inside(place);
        return {true, phase};
    }
    // drop: one member less; else: so many.
    void change(bool drop, unsigned number) {
        if (!seeded(wakes_late)) enter(false);
        unsigned s = state_.load(mo_relaxed, $), to = 0;
        do {
            rl::linear_backoff b;
            while (arrived_of(s) >= number_of(s) && !seeded(changes_unsettled)) {
                b.yield($);
                s = state_.load(mo_relaxed, $);
            }
            to = drop ? s - one_member : (s & ~(field * one_member)) | number * one_member;
            if (arrived_of(to) >= number_of(to) && !seeded(resize_opens_nothing)) to += one_phase - arrived_of(to);
        } while (!state_.compare_exchange_weak(s, to, unless(arrive_relaxed, mo_acq_rel), $, mo_relaxed,
                                               $)); // acq_rel[barrier-phase]
        if (seeded(wakes_late)) enter(false);
        if (phase_of(to) != phase_of(s)) wake_all();
        leave_inside(false);
    }
    // Returns whether it was the last to arrive.
    bool wait() {
        const arrival a = arrive();
        if (a.last) return true;
        waiting.lock($);
        while (phase_of(state_.load(unless(wait_relaxed, mo_acquire), $)) <= a.phase) // acquire[barrier-phase]
            woken.wait(waiting, $);
        waiting.unlock($);
        return false;
    }
    // The last to leave destroys it.
    void leave(unsigned members) {
        if (left.fetch_add(1, mo_acq_rel, $) + 1 != members) return;
        rl::linear_backoff b;
        while (taken_.load(mo_acquire, $) != 0) b.yield($); // acquire[sync-leave]
        while (rest_.load(mo_acquire, $) != 0) b.yield($);  // acquire[sync-leave]
        object($) = 1;
    }
    void thread(unsigned id) {
        if (Shared) { // those who waited destroy it; those who opened may still be inside
            if (!wait()) leave(2);
            return;
        }
        if (Resized && id == 2) {
            change(false, 2);
            return change(false, 2);
        }
        value[id]($) = 1;
        if (!Resized && id == 2) { // drops out
            if (!seeded(drop_keeps_the_number)) return change(true, 0);
            arrive();
            return;
        }
        wait();
        RL_ASSERT(value[1 - id]($) == 1);
        wait();
        value[id]($) = 2; // nobody reads the first round's any more
        if (Resized) {
            wait();
            RL_ASSERT(value[1 - id]($) == 2);
        }
        if (!Resized) leave(2);
    }
};

const registration dropped{
    {"barrier_dropped",
     {"arrive_relaxed", "wait_relaxed", "drop_keeps_the_number", "", "wakes_late", "", "", "leaves_relaxed"},
     search<barrier<kind::dropped>>,
     {2, 20000}}};
const registration resized{
    {"barrier_resized",
     {"arrive_relaxed", "wait_relaxed", "", "resize_opens_nothing", "", "changes_unsettled", "", ""},
     search<barrier<kind::resized>>,
     {2, 20000}}};
const registration shared{{"barrier_shared",
                           {"", "", "", "", "wakes_late", "", "always_in_turn", "leaves_relaxed"},
                           search<barrier<kind::shared>>,
                           {2, 20000}}};

} // namespace
} // namespace model
