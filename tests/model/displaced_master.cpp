// The master of an inner region loses its hart (src/model/spmd/watch.cpp may_be_displaced, take_ready_member; gang.cpp
// join_without_hart, leave_without_hart; src/core/sched.cpp end_sched, yield). Its hart stays in the region and takes
// up the rank that waits, or another one of the parent's does; the master, on its own kernel thread, waits for the
// rank, then for the harts, and ends the region. And the same when it is displaced while it waits in its join already:
// a promoted rank has made it ready, and the hart and the watch both look for it.
#include "account.hpp"

namespace model {
namespace {

using namespace account;

enum bug {
    none,
    counts_the_hart_out,
    does_not_wait_for_harts,
    waits_by_store,
    flush_relaxed,
    leave_relaxed,
    command_relaxed,
    takes_without_the_lock,
    forgets_the_pin,
    remembers_its_hart
};

constexpr unsigned master_waiting = 0x80000000;

// What both have of a region: its account, and that nobody touches it after its end.
struct region {
    atomic<unsigned> account_, unfinished_;
    lock children_;
    var<int> ended_;

    void touch() { RL_ASSERT(ended_($) == 0); }
    // False: something is wanted, so the hart stays and looks again.
    bool leaves() {
        unsigned a = account_.load(mo_relaxed, $);
        for (;;) {
            const bool stay = wanted_of(a) != 0 && !(a & closing);
            if (account_.compare_exchange_weak(a, a - (stay ? one_wanted : one_hart), unless(leave_relaxed, mo_acq_rel),
                                               $, mo_relaxed, $)) // acq_rel[account]
                return !stay;
        }
    }
    // end_sched with so many harts of its own, then out of the parent's list and freed.
    void end(unsigned own) {
        unsigned expected = own;
        rl::linear_backoff b;
        if (!seeded(does_not_wait_for_harts)) {
            while (!account_.compare_exchange_strong(expected, own | closing, mo_acq_rel, $)) { // acq_rel[account]
                want_none(account_);
                b.yield($);
                expected = own;
                if (seeded(forgets_the_pin)) expected |= account_.load(mo_relaxed, $) & one_pin;
            }
        }
        children_.acquire();
        listed_ = false;
        children_.release();
        ended_($) = 1;
    }
    bool listed_;
};

struct displaced_master : rl::test_suite<displaced_master, 3>, region {
    atomic<unsigned> waits_, command_; // the rank in the slot; the donor's word
    var<int> body_, result_;
    parker home_;
    int runs_;

    void before() {
        account_.store(one_hart + one_wanted, mo_relaxed, $);
        unfinished_.store(1, mo_relaxed, $);
        waits_.store(0, mo_relaxed, $);
        command_.store(0, mo_relaxed, $);
        listed_ = true;
        ended_($) = body_($) = result_($) = 0;
        runs_ = 0;
    }
    // A hart in the region: takes up the rank if it waits, and leaves.
    void step() {
        do {
            take_up();
            touch();
        } while (!leaves());
    }
    void take_up() {
        touch();
        unsigned one = 1;
        if (waits_.compare_exchange_strong(one, 0, mo_acq_rel, $)) { // acq_rel[team-ranks]
            RL_ASSERT(body_($) == 1 && ++runs_ == 1);
            result_($) = 1;
            const unsigned before =
                unfinished_.fetch_sub(1, unless(flush_relaxed, mo_acq_rel), $); // acq_rel[team-join]
            if (before == (master_waiting | 1)) home_.wake();                   // post_home
        }
    }
    void thread(unsigned id) {
        if (id == 0) { // the hart, with the master until it is displaced
            body_($) = 1;
            waits_.store(1, mo_release, $); // release[team-ranks]
            if (seeded(counts_the_hart_out)) account_.fetch_sub(one_hart, mo_acq_rel, $);
            command_.store(1, unless(command_relaxed, mo_release), $); // release[donor-command]
            return step();
        }
        if (id == 1) { // the master, on its donor's kernel thread
            rl::linear_backoff b;
            while (command_.load(mo_acquire, $) == 0) b.yield($); // acquire[donor-command]
            RL_ASSERT(body_($) == 1);
            if (seeded(waits_by_store)) {
                const unsigned left = unfinished_.load(mo_acquire, $);
                unfinished_.store(left | master_waiting, mo_release, $);
                if (left != 0) home_.wait();
            } else if (unfinished_.fetch_or(master_waiting, mo_acq_rel, $) != 0) { // acq_rel[team-join]
                home_.wait();
            }
            RL_ASSERT(result_($) == 1);
            return end(0);
        }
        children_.acquire(); // a hart of the parent
        const bool enters = listed_ && reserve(account_);
        children_.release();
        if (enters) step();
    }
};

struct displaced_in_join : rl::test_suite<displaced_in_join, 3>, region {
    atomic<unsigned> over_;
    lock ready_lock_;
    atomic<unsigned> ready_;
    int resumed_;

    void before() {
        account_.store(one_hart, mo_relaxed, $);
        unfinished_.store(master_waiting | 1, mo_relaxed, $);
        over_.store(0, mo_relaxed, $);
        ready_.store(0, mo_relaxed, $);
        listed_ = false;
        ended_($) = 0;
        resumed_ = 0;
    }
    // The master goes on after its join.
    void goes_on(bool has_hart) {
        RL_ASSERT(++resumed_ == 1);
        end(has_hart || seeded(remembers_its_hart) ? one_hart : 0);
        over_.store(1, mo_release, $);
    }
    bool take_ready() {
        if (ready_.load(mo_relaxed, $) == 0) return false;
        if (seeded(takes_without_the_lock)) {
            ready_.store(0, mo_relaxed, $);
            return true;
        }
        ready_lock_.acquire();
        const bool found = ready_.load(mo_relaxed, $) != 0;
        ready_.store(0, mo_relaxed, $);
        ready_lock_.release();
        return found;
    }
    void promoted_rank_ends() {
        if (unfinished_.fetch_sub(1, mo_acq_rel, $) != (master_waiting | 1)) return; // acq_rel[team-join]
        account_.fetch_add(one_pin, mo_acq_rel, $);                                  // acq_rel[account]
        ready_lock_.acquire();
        ready_.store(1, mo_relaxed, $);
        ready_lock_.release();
        want(account_, 1);
        children_.acquire(); // the parent's request
        touch();
        listed_ = true;
        children_.release();
        account_.fetch_sub(one_pin, mo_acq_rel, $); // acq_rel[account]
    }
    void hart() {
        rl::linear_backoff b;
        for (bool inside = true; over_.load(mo_acquire, $) == 0; b.yield($)) {
            if (!inside) {
                children_.acquire();
                inside = listed_ && reserve(account_);
                children_.release();
                continue;
            }
            touch();
            if (take_ready()) return goes_on(true);
            inside = !leaves();
        }
    }
    void watch() {
        for (int looks = 0; looks < 2; ++looks)
            if (take_ready()) return goes_on(false);
    }
    void thread(unsigned id) { id == 0 ? promoted_rank_ends() : id == 1 ? hart() : watch(); }
};

const registration body{{"displaced_master",
                         {"counts_the_hart_out", "does_not_wait_for_harts", "waits_by_store", "flush_relaxed",
                          "leave_relaxed", "command_relaxed"},
                         search<displaced_master>,
                         {3, 20000}}};
const registration join{{"displaced_in_join",
                         {"", "", "", "", "", "", "takes_without_the_lock", "forgets_the_pin", "remembers_its_hart"},
                         search<displaced_in_join>,
                         {2, 20000}}};

} // namespace
} // namespace model
