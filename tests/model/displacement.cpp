// Displacement: src/core/displacement.cpp look_at, on_interruption, leave_to_donor. A program's thread carries a
// context that loops, and calls Comity now and then, where it may let the thread's own computation go first; that one
// becomes ready twice. The watch looks a few times. A signal may come at any step, also late, and tells nothing by
// itself. Who is displaced goes on on its donor's kernel thread.
#include "checker.hpp"

namespace model {
namespace {

enum bug {
    none,
    tells_relaxed,
    asks_again_relaxed,
    decides_on_any_code,
    trusts_the_first_look,
    ignores_home,
    promotes_before_it_is_saved,
    command_relaxed,
    over_before_it_is_read,
    over_relaxed
};

struct displacement : rl::test_suite<displacement, 3> {
    enum state : unsigned { nothing, asked, told, decided };
    enum place { nowhere, in_loop, in_comity, in_native };
    static constexpr int looks = 4, steps = 5;
    atomic<unsigned> step_, signal_, home_, command_; // home_: 1 is ready; command_: 1 run, 2 there is nothing to run
    var<int> pc_, saved_, call_;                      // call_: what the watch says besides
    bool in_comity_, displaced_;                      // the carrier's

    void before() {
        for (auto *a : {&step_, &signal_, &home_, &command_}) a->store(0, mo_relaxed, $);
        pc_($) = nowhere;
        call_($) = 0;
        in_comity_ = displaced_ = false;
    }

    // ---- The watch
    void look_at() {
        if (home_.load(mo_relaxed, $) != 1) return;
        switch (step_.load(mo_acquire, $)) { // acquire[displacement]
        case told:
            if (pc_($) == in_comity && !seeded(decides_on_any_code))
                step_.store(asked, unless(asks_again_relaxed, mo_release), $); // release[displacement]
            else
                step_.store(decided, mo_release, $); // release[displacement]
            break;
        case nothing:
            call_($) = 1;
            step_.store(asked, mo_release, $); // release[displacement]
            break;
        default:
            break;
        }
        signal_.store(1, mo_relaxed, $);
    }

    // ---- The carrier
    bool take_home() {
        return home_.load(mo_relaxed, $) == 1 && home_.exchange(0, mo_acquire, $) == 1;
    } // acquire[home]
    void interrupt(place where) {
        if (signal_.load(mo_relaxed, $) == 0 || signal_.exchange(0, mo_relaxed, $) == 0) return;
        switch (step_.load(mo_acquire, $)) { // acquire[displacement]
        case asked:
            pc_($) = where;
            step_.store(told, unless(tells_relaxed, mo_release), $); // release[displacement]
            return;
        case decided:
            if (!seeded(over_before_it_is_read)) static_cast<void>(call_($) + 0);
            step_.store(nothing, unless(over_relaxed, mo_release), $); // release[displacement]
            if (seeded(over_before_it_is_read)) static_cast<void>(call_($) + 0);
            if (pc_($) != where && !seeded(trusts_the_first_look)) return;
            if (where == in_native || (home_.load(mo_relaxed, $) != 1 && !seeded(ignores_home))) return;
            RL_ASSERT(!in_comity_);
            displace();
            return;
        default:
            return;
        }
    }
    void displace() {
        displaced_ = true;
        if (seeded(promotes_before_it_is_saved)) command_.store(1, mo_release, $);
        saved_($) = 1;
        if (!seeded(promotes_before_it_is_saved))
            command_.store(1, unless(command_relaxed, mo_release), $); // release[donor-command]
        RL_ASSERT(take_home());                                        // the thread has something to go on with
    }
    void call_comity() {
        in_comity_ = true;
        interrupt(in_comity);
        in_comity_ = false;
        if (take_home()) interrupt(in_native); // runs for a little, and waits again
    }
    void carry() {
        for (int i = 0; i < steps && !displaced_; ++i) rl::rand(2) ? call_comity() : interrupt(in_loop);
        if (displaced_)
            interrupt(in_native);
        else
            command_.store(2, mo_release, $);
    }

    // ---- The donor's kernel thread; before, whoever wakes the thread's own computation
    void donate() {
        for (int i = 0; i < 2; ++i) home_.exchange(1, mo_acq_rel, $); // acq_rel[home]
        rl::linear_backoff b;
        unsigned what = 0;
        while ((what = command_.load(mo_acquire, $)) == 0) b.yield($); // acquire[donor-command]
        if (what == 1) RL_ASSERT(saved_($) == 1);
    }
    void thread(unsigned id) {
        if (id == 0) return carry();
        if (id == 2) return donate();
        for (int i = 0; i < looks; ++i) look_at();
    }
};

const registration here{
    {"displacement",
     {"tells_relaxed", "asks_again_relaxed", "decides_on_any_code", "trusts_the_first_look", "ignores_home",
      "promotes_before_it_is_saved", "command_relaxed", "over_before_it_is_read", "over_relaxed"},
     search<displacement>,
     {1, 60000}}};

} // namespace
} // namespace model
