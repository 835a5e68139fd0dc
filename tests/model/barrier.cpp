// Barrier: src/sync/barrier.hpp, its state word, with a member that drops out, and one whose number is lowered while
// others arrive. Waiting is the wait list's (wait_list.cpp) and stands here as a condition variable; destruction by
// whoever comes out first of the last phase.
#include "checker.hpp"

namespace model {
namespace {

enum bug { none, arrive_relaxed, wait_relaxed, drop_keeps_the_number, resize_opens_nothing, wakes_late, open_in_steps };

template <bool Resized> struct barrier : rl::test_suite<barrier<Resized>, 3> {
    static constexpr unsigned one_arrival = 1, one_member = 0x10, one_phase = 0x100, field = 0xf;
    atomic<unsigned> state_, inside_, left;
    rl::mutex waiting;
    rl::condition_variable woken;
    var<int> value[3], object;

    void before() {
        state_.store(3 * one_member, mo_relaxed, $); // resized: one more is expected than ever comes
        inside_.store(0, mo_relaxed, $);
        left.store(0, mo_relaxed, $);
        for (auto &v : value) v($) = 0;
        object($) = 0;
    }
    static unsigned arrived_of(unsigned s) { return s & field; }
    static unsigned number_of(unsigned s) { return s >> 4 & field; }
    static unsigned phase_of(unsigned s) { return s >> 8; }
    static unsigned settled(unsigned s) { return arrived_of(s) < number_of(s) ? s : s - arrived_of(s) + one_phase; }
    void wake_all() {
        waiting.lock($);
        RL_ASSERT(object($) == 0);
        woken.notify_all($);
        waiting.unlock($);
    }
    struct arrival {
        bool last;
        unsigned phase;
    };
    arrival change(unsigned by) {
        unsigned s = state_.load(mo_relaxed, $);
        for (;;) {
            RL_ASSERT(number_of(s) != 0);
            const unsigned to = seeded(open_in_steps) ? s + by : settled(s + by);
            const bool last = phase_of(settled(s + by)) != phase_of(s);
            if (last && !seeded(wakes_late)) inside_.fetch_add(1, mo_relaxed, $);
            if (state_.compare_exchange_weak(s, to, unless(arrive_relaxed, mo_acq_rel), $, mo_relaxed,
                                             $)) { // acq_rel[barrier-phase]
                if (!last) return {false, phase_of(s)};
                if (seeded(open_in_steps)) state_.fetch_add(one_phase - arrived_of(to), mo_acq_rel, $);
                if (seeded(wakes_late)) inside_.fetch_add(1, mo_relaxed, $);
                wake_all();
                inside_.fetch_sub(1, mo_release, $); // release[sync-leave]
                return {true, phase_of(s)};
            }
            if (last && !seeded(wakes_late)) inside_.fetch_sub(1, mo_release, $); // release[sync-leave]
        }
    }
    void resize(unsigned number) {
        inside_.fetch_add(1, mo_relaxed, $);
        unsigned s = state_.load(mo_relaxed, $), to = 0;
        do {
            to = (s & ~(field * one_member)) | number * one_member;
            if (!seeded(resize_opens_nothing)) to = settled(to);
        } while (!state_.compare_exchange_weak(s, to, mo_acq_rel, $, mo_relaxed, $)); // acq_rel[barrier-phase]
        if (phase_of(to) != phase_of(s)) wake_all();
        inside_.fetch_sub(1, mo_release, $); // release[sync-leave]
    }
    void wait() {
        const arrival a = change(one_arrival);
        if (a.last) return;
        waiting.lock($);
        while (phase_of(state_.load(unless(wait_relaxed, mo_acquire), $)) == a.phase) // acquire[barrier-phase]
            woken.wait(waiting, $);
        waiting.unlock($);
    }
    // The last to leave destroys it.
    void leave(unsigned members) {
        if (left.fetch_add(1, mo_acq_rel, $) + 1 != members) return;
        rl::linear_backoff b;
        while (inside_.load(mo_acquire, $) != 0) b.yield($); // acquire[sync-leave]
        object($) = 1;
    }
    void thread(unsigned id) {
        if (Resized && id == 2) {
            resize(2);
            return resize(2);
        }
        value[id]($) = 1;
        if (!Resized && id == 2) { // drops out
            change(seeded(drop_keeps_the_number) ? +one_arrival : -one_member);
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

const registration dropped{{"barrier_dropped",
                            {"arrive_relaxed", "wait_relaxed", "drop_keeps_the_number", "", "wakes_late", ""},
                            search<barrier<false>>,
                            {2, 20000}}};
const registration resized{{"barrier_resized",
                            {"arrive_relaxed", "wait_relaxed", "", "resize_opens_nothing", "", "open_in_steps"},
                            search<barrier<true>>,
                            {2, 20000}}};

} // namespace
} // namespace model
