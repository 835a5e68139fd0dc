// A context dozes with the only hart of a root while others, who hold none, make contexts ready:
// src/core/displacement.cpp doze, stop_dozing and give_up_dozing, src/core/base.cpp request, stand_in_line and recall,
// src/scheduler/work_stealing.cpp make_ready and call_harts. What the context waits for in the kernel never comes, so
// only a recall ends its doze.
#include "account.hpp"

namespace model {
namespace {

using namespace account;

enum bug {
    none,
    dozes_although_wanted,
    doze_without_fence,
    doze_looks_never,
    call_without_fence,
    request_without_fence,
    nobody_recalls,
    recalled_without_fence,
    leaves_counted_out
};

struct doze : rl::test_suite<doze, 3> {
    static constexpr unsigned count = 1, contexts = 2, dozing = 1, recalled = 2;
    atomic<unsigned> account_, ready_, wanting_, dozer_;
    lock ready_lock, lock_;
    bool listed; // under lock_
    parker signal;

    void before() {
        account_.store(one_hart, mo_relaxed, $);
        for (auto *a : {&ready_, &wanting_, &dozer_}) a->store(0, mo_relaxed, $);
        listed = false;
    }

    // ---- Those who make something ready
    void recall() {
        unsigned found = dozer_.load(mo_relaxed, $);
        if (found == dozing &&
            dozer_.compare_exchange_strong(found, recalled, mo_acq_rel, $, mo_relaxed, $)) // acq_rel[dozer]
            signal.wake();
    }
    void request() {
        if (harts_of(account_.load(mo_relaxed, $)) >= count || wanted_of(account_.load(mo_relaxed, $)) == 0) return;
        lock_.acquire();
        listed = true;
        wanting_.store(1, mo_relaxed, $);
        lock_.release();
        fence_unless(request_without_fence); // seq_cst[demand]
        if (!seeded(nobody_recalls)) recall();
    }
    void push_ready() {
        account_.fetch_add(one_pin, mo_acq_rel, $); // acq_rel[account]
        ready_lock.acquire();
        ready_.store(ready_.load(mo_relaxed, $) + 1, mo_relaxed, $);
        ready_lock.release();
        fence_unless(call_without_fence); // seq_cst[team-leave]
        if (wanted_of(account_.load(mo_relaxed, $)) == 0) {
            want(account_, 1);
            if (harts_of(account_.load(mo_relaxed, $)) < count) request();
        }
        account_.fetch_sub(one_pin, mo_acq_rel, $); // acq_rel[account]
    }

    // ---- The hart
    bool pop_ready() {
        if (ready_.load(mo_relaxed, $) == 0) return false;
        ready_lock.acquire();
        ready_.store(ready_.load(mo_relaxed, $) - 1, mo_relaxed, $);
        ready_lock.release();
        return true;
    }
    void end_doze() {
        for (unsigned found = dozer_.load(mo_relaxed, $);
             !dozer_.compare_exchange_weak(found, 0u, mo_acq_rel, $, mo_relaxed, $);) { // acq_rel[dozer]
        }
    }
    bool count_out() {
        unsigned a = account_.load(mo_relaxed, $);
        do {
            RL_ASSERT(harts_of(a) == 1);
            if (wanted_of(a) != 0 && !seeded(dozes_although_wanted)) return false;
        } while (!account_.compare_exchange_weak(a, a - one_hart, mo_acq_rel, $, mo_relaxed, $)); // acq_rel[account]
        return true;
    }
    // A hart that looks for work takes what is wanted upon itself, as one does that would leave (core::yield).
    void look_again() {
        unsigned a = account_.load(mo_relaxed, $);
        while (wanted_of(a) != 0)
            if (account_.compare_exchange_weak(a, a - one_wanted, mo_acq_rel, $, mo_relaxed, $))
                break;                        // acq_rel[account]
        fence_unless(recalled_without_fence); // seq_cst[team-leave]
        content();
    }
    void content() {
        if (wanting_.load(mo_relaxed, $) == 0) return;
        lock_.acquire();
        if (wanted_of(account_.load(mo_relaxed, $)) == 0) {
            listed = false;
            wanting_.store(0, mo_relaxed, $);
        }
        lock_.release();
    }
    // False: it does not sleep, and looks for work.
    bool sleeps() {
        if (wanting_.load(mo_relaxed, $) != 0 || ready_.load(mo_relaxed, $) != 0 || !count_out()) return false;
        dozer_.store(dozing, mo_release, $); // release[dozer]
        fence_unless(doze_without_fence);    // seq_cst[demand]
        if (wanting_.load(mo_relaxed, $) == 0 || seeded(doze_looks_never)) {
            do signal.wait(); // a signal of the last doze's may come now
            while (dozer_.load(mo_relaxed, $) != recalled);
            end_doze();
            if (seeded(leaves_counted_out)) return true;
            if (!reserve(account_)) account_.fetch_add(one_hart, mo_acq_rel, $); // acq_rel[account]
            fence_unless(recalled_without_fence);                                // seq_cst[team-leave]
            content();
            return true;
        }
        end_doze();
        account_.fetch_add(one_hart, mo_acq_rel, $); // acq_rel[account]
        return false;
    }
    void hart() {
        for (unsigned done = 0; done < contexts;) {
            if (pop_ready())
                ++done;
            else if (!sleeps())
                look_again();
        }
    }
    void thread(unsigned id) { id == 0 ? hart() : push_ready(); }
};

const registration here{{"doze",
                         {"dozes_although_wanted", "doze_without_fence", "doze_looks_never", "call_without_fence",
                          "request_without_fence", "nobody_recalls", "recalled_without_fence", "leaves_counted_out"},
                         search<doze>,
                         {1, 40000}}};

} // namespace
} // namespace model
