// A hart leaves a root team while a region starts: src/model/spmd/scheduler.cpp step and team.cpp distribute,
// ask_for_harts. Of two harts one is the master's, and the master waits for rank 1 without telling Comity, so the other
// one must take it up: either it sees the rank before it goes, or the master sees it gone, and asks. It comes and goes
// at any time, since it spins for as long as it likes. Each slot has at most one rank (slots.cpp has all about ranges),
// and the base scheduler is one lock (demand.cpp, leave.cpp).
#include "account.hpp"

namespace model {
namespace {

using namespace account;

enum bug {
    none,
    leaves_without_fence,
    asks_without_fence,
    leaves_without_a_look,
    looks_before_it_is_absent,
    asks_before_it_fills,
    looks_at_its_own_slot_only
};

struct present : rl::test_suite<present, 2> {
    static constexpr unsigned harts = 2;
    static constexpr int regions = 2;
    atomic<unsigned> range_[harts], present_[harts], account_;
    var<int> body_;
    lock base_lock_;
    bool idle_, over_; // under base_lock_
    parker worker_, rank_ended_;

    void before() {
        for (auto &r : range_) r.store(0, mo_relaxed, $);
        for (auto &p : present_) p.store(0, mo_relaxed, $);
        account_.store(one_hart, mo_relaxed, $); // the other hart is on its way, for an earlier region
        idle_ = over_ = false;
    }

    // ---- The master
    void distribute() {
        unsigned empty = 0;
        if (harts_of(account_.load(mo_relaxed, $)) > 1 && present_[1].load(mo_relaxed, $) &&
            range_[1].compare_exchange_strong(empty, 1u, mo_acq_rel, $)) // acq_rel[team-ranks]
            return;
        range_[0].store(1, mo_release, $); // release[team-ranks]
    }
    void ask_for_harts() {
        fence_unless(asks_without_fence); // seq_cst[team-present]
        if (present_[1].load(mo_relaxed, $)) return;
        if (wanted_of(account_.load(mo_relaxed, $)) != 0) return;
        want(account_, 1);
        base_lock_.acquire(); // base_scheduler::request
        const bool granted = idle_ && reserve(account_);
        if (granted) idle_ = false;
        base_lock_.release();
        if (granted) worker_.wake();
    }
    void region(int which) {
        body_($) = which;
        account_.fetch_add(one_hart, mo_acq_rel, $); // acq_rel[account]
        if (seeded(asks_before_it_fills)) ask_for_harts();
        distribute();
        if (!seeded(asks_before_it_fills)) ask_for_harts();
        rank_ended_.wait();
        want_none(account_);
        account_.fetch_sub(one_hart, mo_acq_rel, $); // acq_rel[account]
    }
    void master() {
        for (int i = 0; i < regions; ++i) region(i);
        base_lock_.acquire();
        over_ = true;
        const bool sleeps = idle_;
        base_lock_.release();
        if (sleeps) worker_.wake();
    }

    // ---- The other hart
    bool take(unsigned slot) {
        unsigned r = range_[slot].load(mo_relaxed, $);
        return r && range_[slot].compare_exchange_strong(r, 0u, mo_acq_rel, $); // acq_rel[team-ranks]
    }
    bool has_ranks() {
        return range_[1].load(mo_relaxed, $) || (!seeded(looks_at_its_own_slot_only) && range_[0].load(mo_relaxed, $));
    }
    void step(int &done) {
        bool found = false;
        do {
            present_[1].store(1, mo_relaxed, $);
            for (; take(1) || take(0); ++done) {
                RL_ASSERT(body_($) == done);
                rank_ended_.wake();
            }
            if (seeded(looks_before_it_is_absent)) found = has_ranks();
            present_[1].store(0, mo_relaxed, $);
            fence_unless(leaves_without_fence); // seq_cst[team-present]
            if (!seeded(looks_before_it_is_absent)) found = has_ranks();
        } while (found && !seeded(leaves_without_a_look));
    }
    // False: it is over.
    bool yields() {
        unsigned a = account_.load(mo_relaxed, $);
        for (;;) {
            const bool stay = wanted_of(a) != 0;
            if (!account_.compare_exchange_weak(a, a - (stay ? one_wanted : one_hart), mo_acq_rel, $, mo_relaxed,
                                                $)) // acq_rel[account]
                continue;
            if (stay) return true;
            break;
        }
        base_lock_.acquire();
        const bool over = over_, granted = !over && reserve(account_);
        idle_ = !over && !granted;
        base_lock_.release();
        if (over || granted) return granted;
        worker_.wait();
        base_lock_.acquire();
        const bool goes_on = !over_;
        base_lock_.release();
        return goes_on;
    }
    void thread(unsigned id) {
        if (id == 0) return master();
        int done = 0;
        do step(done);
        while (yields());
        RL_ASSERT(done == regions);
    }
};

const registration here{{"present",
                         {"leaves_without_fence", "asks_without_fence", "leaves_without_a_look",
                          "looks_before_it_is_absent", "asks_before_it_fills", "looks_at_its_own_slot_only"},
                         search<present>,
                         {1, 40000}}};

} // namespace
} // namespace model
