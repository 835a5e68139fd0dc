// A hart finds ranks in a region below its team that nobody has called it for: src/model/spmd/team.cpp ask_for_harts,
// offer, take_offer_back, and scheduler.cpp step, look_at_offers; core/child_list.cpp. The master of the child may wait
// for rank 1 without telling Comity, so the other hart must take it up: either it finds the offer before it goes to
// sleep, or the master sees it outside, and asks. Or the master takes it up itself. Nobody touches a child that has
// ended: its words are written anew by the next region.
#include "account.hpp"

namespace model {
namespace {

using namespace account;

enum bug {
    none,
    asks_without_fence,
    leaves_without_fence,
    leaves_without_a_look,
    looks_before_it_is_outside,
    looks_without_mark,
    ends_while_looked_at,
    offer_relaxed,
    look_relaxed,
    unlisted_relaxed
};

struct offer : rl::test_suite<offer, 2> {
    static constexpr int regions = 2;
    static constexpr unsigned child = 2, looked_at = 1;
    atomic<unsigned> offer_, inside_, range_, account_, listed_;
    var<int> body_, link_; // link_: sched::next_wanting
    lock children_, base_lock_;
    bool asleep_, asked_, over_; // under base_lock_
    parker worker_, rank_ended_;
    int runs_[regions];

    void before() {
        for (int &n : runs_) n = 0;
        for (auto *word : {&offer_, &inside_, &range_, &listed_}) word->store(0, mo_relaxed, $);
        account_.store(one_hart | closing, mo_relaxed, $);
        asleep_ = asked_ = over_ = false;
    }
    void call(bool &which) {
        base_lock_.acquire();
        which = true;
        const bool sleeps = asleep_;
        asleep_ = false;
        base_lock_.release();
        if (sleeps) worker_.wake();
    }

    bool take_rank() {
        unsigned one = 1;
        if (!range_.compare_exchange_strong(one, 0u, mo_acq_rel, $)) return false; // acq_rel[team-ranks]
        ++runs_[body_($)];
        return true;
    }

    // ---- The master
    void take_offer_back() {
        if (seeded(ends_while_looked_at)) return offer_.store(0, mo_release, $);
        rl::linear_backoff b;
        for (unsigned me = child; !offer_.compare_exchange_weak(me, 0u, mo_acq_rel, $);
             me = child) // acq_rel[team-offer]
            b.yield($);
    }
    void end_sched() {
        unsigned expected = one_hart;
        rl::linear_backoff b;
        while (!account_.compare_exchange_strong(expected, one_hart | closing, mo_acq_rel, $)) { // acq_rel[account]
            want_none(account_);
            if (harts_of(expected) > 1) b.yield($);
            expected = one_hart;
        }
    }
    void region(int which) {
        link_($) = 0;
        listed_.store(0, mo_relaxed, $);
        account_.store(one_hart, mo_relaxed, $);
        body_($) = which;
        range_.store(1, mo_release, $);                            // release[team-ranks]
        offer_.store(child, unless(offer_relaxed, mo_release), $); // release[team-offer]
        fence_unless(asks_without_fence);                          // seq_cst[team-present]
        if (!inside_.load(mo_relaxed, $)) call(asked_);
        if (rl::rand(2) || !take_rank()) rank_ended_.wait();
        RL_ASSERT(runs_[which] == 1);
        take_offer_back();
        end_sched();
        if (!listed_.load(mo_acquire, $)) return; // acquire[unlisted]
        children_.acquire();
        listed_.store(0, mo_relaxed, $);
        children_.release();
    }
    void master() {
        for (int i = 0; i < regions; ++i) region(i);
        call(over_);
    }

    // ---- The other hart
    bool look() {
        unsigned seen = offer_.load(mo_relaxed, $);
        if (seen == 0) return false;
        if (!seeded(looks_without_mark) && !offer_.compare_exchange_strong(seen, seen | looked_at, mo_acquire, $,
                                                                           mo_relaxed, $)) // acquire[team-offer]
            return false;
        const bool found = range_.load(mo_relaxed, $) != 0;
        if (found) {
            want(account_, 1);
            children_.acquire();
            if (!listed_.load(mo_relaxed, $)) {
                listed_.store(1, mo_relaxed, $);
                link_($) = 1;
            }
            children_.release();
        }
        if (!seeded(looks_without_mark))
            offer_.store(child, unless(look_relaxed, mo_release), $); // release[team-offer]
        return found;
    }
    bool pick() {
        children_.acquire();
        bool found = false;
        if (listed_.load(mo_relaxed, $)) {
            found = reserve(account_);
            link_($) = 0;
            listed_.store(0, unless(unlisted_relaxed, mo_release), $); // release[unlisted]
        }
        children_.release();
        return found;
    }
    void enter_child() {
        if (!pick()) return;
        if (take_rank()) rank_ended_.wake();
        account_.fetch_sub(one_hart, mo_acq_rel, $); // acq_rel[account]
    }
    void step() {
        bool found = false;
        do {
            inside_.store(1, mo_relaxed, $);
            while (look()) enter_child();
            if (seeded(looks_before_it_is_outside)) found = look();
            inside_.store(0, mo_relaxed, $);
            fence_unless(leaves_without_fence); // seq_cst[team-present]
            if (!seeded(looks_before_it_is_outside)) found = look();
        } while (found && !seeded(leaves_without_a_look));
    }
    // False: it is over.
    bool sleep() {
        base_lock_.acquire();
        asleep_ = !over_ && !asked_;
        const bool sleeps = asleep_;
        base_lock_.release();
        if (sleeps) worker_.wait();
        base_lock_.acquire();
        const bool goes_on = !over_;
        asked_ = false;
        base_lock_.release();
        return goes_on;
    }
    void thread(unsigned id) {
        if (id == 0) return master();
        do step();
        while (sleep());
    }
};

const registration here{
    {"offer",
     {"asks_without_fence", "leaves_without_fence", "leaves_without_a_look", "looks_before_it_is_outside",
      "looks_without_mark", "ends_while_looked_at", "offer_relaxed", "look_relaxed", "unlisted_relaxed"},
     search<offer>,
     {2, 40000}}};

} // namespace
} // namespace model
