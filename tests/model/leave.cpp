// A hart leaves while something is made ready: src/core/sched.cpp yield, src/model/spmd/scheduler.cpp push_ready and
// call_hart (as src/scheduler/work_stealing.cpp make_ready and call_harts), and src/core/base.cpp request and yielded.
// Before it leaves it is a searcher for a while (work_stealing::wait_for_work), and nobody calls for what it will find.
// A root with the only hart there is; two threads without a hart make a context ready each.
#include "account.hpp"

namespace model {
namespace {

using namespace account;

enum bug {
    none,
    leaver_ignores_wants,
    wants_only_when_short,
    call_without_fence,
    leave_without_fence,
    request_drops_wants,
    request_looks_never,
    put_without_fence,
    request_without_fence,
    call_looks_once,
    search_without_fence,
    search_looks_never
};

template <bool searching> struct leave : rl::test_suite<leave<searching>, 3> {
    static constexpr unsigned count = 1, contexts = 2;
    atomic<unsigned> account_, ready_, idle_, wanting_, searchers_;
    lock ready_lock, lock_;
    bool listed; // under lock_
    parker worker;

    void before() {
        account_.store(one_hart, mo_relaxed, $);
        for (auto *a : {&ready_, &idle_, &wanting_, &searchers_}) a->store(0, mo_relaxed, $);
        listed = false;
    }
    bool claim_idle() {
        unsigned bits = idle_.load(mo_relaxed, $);
        return bits && idle_.compare_exchange_strong(bits, 0u, mo_acq_rel, $, mo_relaxed, $); // acq_rel[idle]
    }
    bool reserve_wanting() {
        if (wanting_.load(mo_relaxed, $) == 0) return false;
        lock_.acquire();
        const bool found = listed && reserve(account_);
        if (listed && (!found || wanted_of(account_.load(mo_relaxed, $)) == 0)) {
            listed = false;
            wanting_.store(0, mo_relaxed, $);
        }
        lock_.release();
        return found;
    }
    // base: put_idle and the look after it; false: the hart was given, or stays idle
    bool goes_on_after_put_idle() {
        idle_.fetch_or(1u, mo_acq_rel, $); // acq_rel[idle]
        fence_unless(put_without_fence);   // seq_cst[demand]
        return wanting_.load(mo_relaxed, $) != 0 && claim_idle();
    }
    void release() {
        do {
            if (reserve_wanting()) {
                worker.wake();
                return;
            }
        } while (goes_on_after_put_idle());
    }
    void request() {
        if (harts_of(account_.load(mo_relaxed, $)) >= count) {
            if (seeded(request_drops_wants)) want_none(account_);
            return;
        }
        while (wanted_of(account_.load(mo_relaxed, $)) != 0) {
            if (!claim_idle()) break;
            if (!reserve(account_)) return release();
            worker.wake();
        }
        if (wanted_of(account_.load(mo_relaxed, $)) == 0) return;
        lock_.acquire();
        if (!listed) {
            listed = true;
            wanting_.store(1, mo_relaxed, $);
        }
        lock_.release();
        fence_unless(request_without_fence); // seq_cst[demand]
        if (!seeded(request_looks_never) && claim_idle()) release();
    }
    void push_ready() {
        account_.fetch_add(one_pin, mo_acq_rel, $); // acq_rel[account]
        ready_lock.acquire();
        ready_.store(ready_.load(mo_relaxed, $) + 1, mo_relaxed, $);
        ready_lock.release();
        fence_unless(call_without_fence); // seq_cst[team-leave]
        unsigned a = account_.load(mo_relaxed, $);
        if (searchers_.load(mo_relaxed, $) == 0 && wanted_of(a) == 0 &&
            (!seeded(wants_only_when_short) || harts_of(a) < count)) {
            want(account_, 1);
            if (!seeded(call_looks_once)) a = account_.load(mo_relaxed, $);
            if (harts_of(a) < count || seeded(request_drops_wants)) request();
        }
        account_.fetch_sub(one_pin, mo_acq_rel, $); // acq_rel[account]
    }
    bool pop_ready() {
        if (ready_.load(mo_relaxed, $) == 0) return false;
        ready_lock.acquire();
        ready_.store(ready_.load(mo_relaxed, $) - 1, mo_relaxed, $);
        ready_lock.release();
        return true;
    }
    // wait_for_work
    bool searches() {
        searchers_.fetch_add(1u, mo_relaxed, $);
        const bool found = ready_.load(mo_relaxed, $) != 0;
        searchers_.fetch_sub(1u, mo_relaxed, $);
        fence_unless(search_without_fence); // seq_cst[team-leave]
        return seeded(search_looks_never) ? found : ready_.load(mo_relaxed, $) != 0;
    }
    void yield_to_base() {
        unsigned a = account_.load(mo_relaxed, $);
        for (;;) {
            const bool stay = !seeded(leaver_ignores_wants) && wanted_of(a) != 0;
            if (!account_.compare_exchange_weak(a, a - (stay ? one_wanted : one_hart), mo_acq_rel, $, mo_relaxed,
                                                $)) // acq_rel[account]
                continue;
            if (!stay) break;
            fence_unless(leave_without_fence); // seq_cst[team-leave]
            return;
        }
        for (;;) { // base_scheduler::yielded
            if (reserve_wanting()) return;
            if (!goes_on_after_put_idle()) break;
        }
        worker.wait();
    }
    void hart() {
        for (unsigned done = 0; done < contexts;) {
            if (pop_ready())
                ++done;
            else if (!searching || !searches())
                yield_to_base();
        }
    }
    void thread(unsigned id) { id == 0 ? hart() : push_ready(); }
};

const registration here{
    {"leave",
     {"leaver_ignores_wants", "wants_only_when_short", "call_without_fence", "leave_without_fence",
      "request_drops_wants", "request_looks_never", "put_without_fence", "request_without_fence", "call_looks_once"},
     search<leave<false>>,
     {1, 40000}}};

const registration of_searchers{
    {"leave_of_searchers",
     {"", "", "call_without_fence", "", "", "", "", "", "", "search_without_fence", "search_looks_never"},
     search<leave<true>>,
     {1, 40000}}};

} // namespace
} // namespace model
