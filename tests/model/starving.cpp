// A root without any hart against a hart that is kept: src/core/base.cpp, leave and request. A thread of the program
// leaves its region and keeps the only hart for good, while somebody without a hart makes work for another root, whose
// worker waits.
#include "account.hpp"

namespace model {
namespace {

using namespace account;

enum bug { none, leave_without_fence, request_without_fence, leave_looks_never, request_spares_keepers, keeps_blindly };

struct starving : rl::test_suite<starving, 3> {
    atomic<unsigned> account_, keeper_, wanting_;
    lock lock_;
    bool listed; // under lock_
    parker worker;
    int granted;

    void before() {
        for (auto *a : {&account_, &keeper_, &wanting_}) a->store(0, mo_relaxed, $);
        listed = false;
        granted = 0;
    }
    bool take_kept() {
        unsigned keeper = keeper_.load(mo_acquire, $);                               // acquire[keeper]
        return keeper && keeper_.compare_exchange_strong(keeper, 0u, mo_acq_rel, $); // acq_rel[keeper]
    }
    void release() { // serve_demand; what is not wanted becomes idle, which is of no matter here
        lock_.acquire();
        const bool found = listed && reserve(account_);
        lock_.release();
        if (found) {
            RL_ASSERT(++granted == 1);
            worker.wake();
        }
    }
    bool root_starves() {
        if (wanting_.load(mo_relaxed, $) == 0) return false;
        lock_.acquire();
        const unsigned a = account_.load(mo_relaxed, $);
        const bool starves = listed && harts_of(a) == 0 && wanted_of(a) != 0;
        lock_.release();
        return starves;
    }
    void leave() {
        keeper_.store(1, mo_release, $);   // release[keeper]
        fence_unless(leave_without_fence); // seq_cst[demand]
        if (!seeded(leave_looks_never) && root_starves()) {
            unsigned expected = 1;
            if (seeded(keeps_blindly) ||
                keeper_.compare_exchange_strong(expected, 0u, mo_acq_rel, $)) // acq_rel[keeper]
                release();
        }
    }
    void request() {
        want(account_, 1);
        lock_.acquire();
        listed = true;
        wanting_.store(1, mo_relaxed, $);
        lock_.release();
        fence_unless(request_without_fence); // seq_cst[demand]
        if (!seeded(request_spares_keepers) && harts_of(account_.load(mo_relaxed, $)) == 0 && take_kept()) release();
    }
    void thread(unsigned id) { id == 0 ? leave() : id == 1 ? request() : worker.wait(); }
    void after() {
        RL_ASSERT(granted == 1);
        RL_ASSERT(keeper_.load(mo_relaxed, $) == 0); // or two would hold it
    }
};

const registration here{
    {"starving",
     {"leave_without_fence", "request_without_fence", "leave_looks_never", "request_spares_keepers", "keeps_blindly"},
     search<starving>,
     {3, 20000}}};

} // namespace
} // namespace model
