// Harts that leave a scheduler although it has work, because more are there than shall be: src/core/sched.cpp
// leave_surplus. One hart has put a fresh unit into its deque, without a fence, and leaves; the other one, which may
// stay, finds nothing and would leave, too. Both see at the same time that there are too many.
#include "account.hpp"

namespace model {
namespace {

using namespace account;

enum bug { none, does_not_want, leaves_in_steps, wants_relaxed };

struct surplus : rl::test_suite<surplus, 2> {
    static constexpr unsigned harts = 2, most = 1;
    atomic<unsigned> account_, fresh_, done_;

    void before() {
        account_.store(harts * one_hart, mo_relaxed, $);
        fresh_.store(0, mo_relaxed, $);
        done_.store(0, mo_relaxed, $);
    }

    void find_work() {
        if (fresh_.load(mo_relaxed, $) != 0 && fresh_.exchange(0, mo_relaxed, $) != 0)
            done_.fetch_add(1, mo_relaxed, $);
    }
    // core::yield, and what the hart does if it stays
    void hart() {
        for (;;) {
            find_work();
            unsigned a = account_.load(mo_relaxed, $);
            for (;;) {
                const bool stay = wanted_of(a) != 0;
                if (!account_.compare_exchange_weak(a, a - (stay ? one_wanted : one_hart),
                                                    seeded(wants_relaxed) ? mo_relaxed : mo_acq_rel, $, mo_relaxed,
                                                    $)) // acq_rel[account]
                    continue;
                if (!stay) return;
                break;
            }
            if (!seeded(wants_relaxed)) rl::atomic_thread_fence(mo_seq_cst, $); // seq_cst[team-leave]
        }
    }
    bool leave_surplus(bool leaves_work) {
        const bool wants = leaves_work && !seeded(does_not_want);
        unsigned a = account_.load(mo_relaxed, $);
        if (seeded(leaves_in_steps)) {
            if (harts_of(a) <= most) return false;
            account_.fetch_add((wants ? one_wanted : 0) - one_hart, mo_acq_rel, $);
            return true;
        }
        do {
            if (harts_of(a) <= most) return false;
        } while (!account_.compare_exchange_weak(a, a - one_hart + (wants && wanted_of(a) == 0 ? one_wanted : 0),
                                                 mo_acq_rel, $, mo_relaxed, $)); // acq_rel[account]
        return true;
    }
    void thread(unsigned id) {
        if (id == 0) fresh_.store(1, mo_release, $);
        if (!leave_surplus(id == 0)) hart();
    }
    void after() {
        RL_ASSERT(harts_of(account_.load(mo_relaxed, $)) == 0); // all have left, since nothing was there any more
        RL_ASSERT(done_.load(mo_relaxed, $) == 1);
    }
};

const registration here{
    {"surplus", {"does_not_want", "leaves_in_steps", "wants_relaxed"}, search<surplus>, {2, 20000}}};

} // namespace
} // namespace model
