// Unregister's wait: src/core/sched.cpp, end_sched, reserve, yield and resume_registrant. A scheduler with one hart,
// its registrant's, ends, while a waker that still holds a pin wants a hart for it, and a hart of its parent looks whom
// it may enter.
#include "account.hpp"

namespace model {
namespace {

using namespace account;

enum bug {
    none,
    decides_in_steps,
    forgets_the_pin,
    last_hart_just_leaves,
    closes_after_leaving,
    leave_relaxed,
    reserves_unlisted,
    enters_unreserved
};

struct unregister : rl::test_suite<unregister, 3> {
    atomic<unsigned> account_;
    lock children;
    bool listed;
    parker resumed;
    var<int> inside, ended;

    void before() {
        account_.store(one_hart + one_pin, mo_relaxed, $);
        listed = false;
        inside($) = ended($) = 0;
    }
    // True: this was the last hart of a closing scheduler, which the registrant goes on with.
    bool leave() {
        unsigned a = account_.load(mo_relaxed, $);
        for (;;) {
            const bool stay = wanted_of(a) != 0 && !(a & closing);
            if (!account_.compare_exchange_weak(a, a - (stay ? one_wanted : one_hart),
                                                unless(leave_relaxed, mo_acq_rel), $, mo_relaxed,
                                                $)) // acq_rel[account]
                continue;
            if (!stay) return harts_of(a) == 1 && (a & closing);
        }
    }
    void resume_registrant() {
        account_.fetch_and(~closing, mo_relaxed, $);
        account_.fetch_add(one_hart, mo_relaxed, $);
        resumed.wake();
    }
    void yield() {
        if (leave() && !seeded(last_hart_just_leaves)) resume_registrant();
    }
    void close_and_leave() {
        bool last;
        if (seeded(closes_after_leaving)) {
            last = leave();
            account_.fetch_or(closing, mo_acq_rel, $);
        } else {
            account_.fetch_or(closing, mo_acq_rel, $); // acq_rel[account]
            last = leave();
        }
        if (last) resume_registrant();
        resumed.wait();
    }
    void end_sched() {
        if (seeded(decides_in_steps)) {
            want_none(account_);
            if (harts_of(account_.load(mo_acquire, $)) > 1) close_and_leave();
            rl::linear_backoff b;
            while (pins_of(account_.load(mo_acquire, $)) != 0) b.yield($);
            return;
        }
        unsigned expected = one_hart;
        rl::linear_backoff b;
        while (!account_.compare_exchange_strong(expected, expected | closing, mo_acq_rel, $)) { // acq_rel[account]
            want_none(account_);
            if (harts_of(expected) > 1)
                close_and_leave();
            else
                b.yield($); // a pin
            expected = one_hart | (seeded(forgets_the_pin) ? account_.load(mo_relaxed, $) & one_pin : 0);
        }
    }
    void registrant() {
        end_sched();
        children.acquire();
        listed = false;
        children.release();
        RL_ASSERT(inside($) == 0);
        ended($) = 1;
    }
    void waker() {
        want(account_, 1);
        children.acquire();
        RL_ASSERT(ended($) == 0);
        listed = true;
        children.release();
        account_.fetch_sub(one_pin, mo_acq_rel, $); // acq_rel[account]
    }
    void parents_hart() {
        bool found = false;
        if (seeded(reserves_unlisted)) {
            found = reserve(account_); // not under the lock that guards the list: the child may have ended
            RL_ASSERT(ended($) == 0);
        } else {
            children.acquire();
            if (listed) {
                found = seeded(enters_unreserved) || reserve(account_);
                if (!found || wanted_of(account_.load(mo_relaxed, $)) == 0) listed = false;
            }
            children.release();
        }
        if (!found) return;
        if (seeded(enters_unreserved)) account_.fetch_add(one_hart, mo_acq_rel, $);
        RL_ASSERT(ended($) == 0);
        inside($) = 1;
        inside($) = 0;
        yield();
    }
    void thread(unsigned id) { id == 0 ? registrant() : id == 1 ? waker() : parents_hart(); }
};

const registration here{{"unregister",
                         {"decides_in_steps", "forgets_the_pin", "last_hart_just_leaves", "closes_after_leaving",
                          "leave_relaxed", "reserves_unlisted", "enters_unreserved"},
                         search<unregister>,
                         {3, 30000}}};

} // namespace
} // namespace model
