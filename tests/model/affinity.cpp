// A context that one hart only may run, while that leaves: src/scheduler/affinity.cpp (line_up_kept, leaves,
// take_absent, stays_for_kept) and work_stealing.cpp (find_work, call_harts). A thread without a hart makes it ready;
// both harts find nothing else and leave, and whichever looks last must come to it, as the hart that it is for
// (base_scheduler::trade). The base scheduler is one lock, and whoever is granted a hart goes on in the thread that
// asked (demand.cpp, leave.cpp).
#include "account.hpp"

namespace model {
namespace {

using namespace account;

enum bug {
    none,
    leaves_without_fence,
    leaves_without_a_look,
    looks_before_it_leaves,
    calls_without_fence,
    stays_here_when_it_leaves,
    looks_for_no_absent_hart,
    takes_what_others_keep,
    leaves_though_it_is_elsewhere
};

struct affinity : rl::test_suite<affinity, 3> {
    static constexpr unsigned harts = 2;
    atomic<unsigned> account_, kept_, here_[harts], done_; // kept_: in the list of hart 0, under list_lock_
    lock list_lock_, base_lock_;
    unsigned idle_; // a bit for each hart, under base_lock_

    void before() {
        account_.store(harts * one_hart, mo_relaxed, $);
        for (auto *a : {&kept_, &done_}) a->store(0, mo_relaxed, $);
        for (auto &h : here_) h.store(1, mo_relaxed, $);
        idle_ = 0;
    }

    // ---- Comes
    void make_ready() {
        account_.fetch_add(one_pin, mo_acq_rel, $); // acq_rel[account]
        list_lock_.acquire();
        kept_.store(1, mo_relaxed, $);
        list_lock_.release();
        fence_unless(calls_without_fence); // seq_cst[team-leave]
        int granted = -1;
        if (wanted_of(account_.load(mo_relaxed, $)) == 0) {
            want(account_, 1);
            if (harts_of(account_.load(mo_relaxed, $)) < harts) granted = request();
        }
        account_.fetch_sub(one_pin, mo_acq_rel, $); // acq_rel[account]
        if (granted >= 0) hart(static_cast<unsigned>(granted));
    }
    int request() {
        base_lock_.acquire();
        int granted = -1;
        for (unsigned h = harts; h-- > 0 && granted < 0;)
            if (idle_ & 1u << h && reserve(account_)) granted = static_cast<int>(h);
        if (granted >= 0) idle_ &= ~(1u << granted);
        base_lock_.release();
        return granted;
    }

    // ---- Is found
    bool take_own(unsigned h) {
        if (h != 0 && !seeded(takes_what_others_keep)) return false;
        if (kept_.load(mo_relaxed, $) == 0) return false;
        list_lock_.acquire();
        const bool found = kept_.load(mo_relaxed, $);
        kept_.store(0, mo_relaxed, $);
        list_lock_.release();
        RL_ASSERT(!found || h == 0);
        return found;
    }
    void leaves(unsigned h) {
        if (!seeded(stays_here_when_it_leaves)) here_[h].store(0, mo_relaxed, $);
        fence_unless(leaves_without_fence); // seq_cst[team-leave]
    }
    bool trade(unsigned &h, unsigned other) {
        base_lock_.acquire();
        const bool claimed = idle_ & 1u << other;
        if (claimed) idle_ = (idle_ & ~(1u << other)) | 1u << h;
        base_lock_.release();
        if (claimed) h = other;
        return claimed;
    }
    enum class found { nothing, elsewhere, as_another };
    found take_absent(unsigned &h) {
        if (h == 0 || seeded(looks_for_no_absent_hart)) return found::nothing;
        if (kept_.load(mo_relaxed, $) == 0 || here_[0].load(mo_relaxed, $)) return found::nothing;
        leaves(h);
        const bool traded = trade(h, 0);
        here_[h].store(1, mo_relaxed, $);
        return traded ? found::as_another : found::elsewhere;
    }
    // False: the hart may go.
    bool stays_for_kept(unsigned &h) {
        const found absent = take_absent(h);
        if (absent == found::as_another) return true;
        const bool seen = h == 0 && kept_.load(mo_relaxed, $);
        leaves(h);
        const bool ready = seeded(looks_before_it_leaves) ? seen : h == 0 && kept_.load(mo_relaxed, $);
        if ((!ready || seeded(leaves_without_a_look)) &&
            (absent == found::nothing || seeded(leaves_though_it_is_elsewhere)))
            return false;
        here_[h].store(1, mo_relaxed, $);
        return true;
    }
    void hart(unsigned h) {
        here_[h].store(1, mo_relaxed, $); // work_of
        for (rl::linear_backoff b;;) {
            if (take_own(h)) done_.fetch_add(1, mo_relaxed, $);
            if (stays_for_kept(h)) {
                b.yield($);
                continue;
            }
            unsigned a = account_.load(mo_relaxed, $);
            for (;;) { // core::yield
                const bool stay = wanted_of(a) != 0;
                if (!account_.compare_exchange_weak(a, a - (stay ? one_wanted : one_hart), mo_acq_rel, $, mo_relaxed,
                                                    $)) // acq_rel[account]
                    continue;
                if (stay) break;
                base_lock_.acquire();
                const bool granted = reserve(account_);
                if (!granted) idle_ |= 1u << h;
                base_lock_.release();
                if (!granted) return;
                break;
            }
            rl::atomic_thread_fence(mo_seq_cst, $); // seq_cst[team-leave]
            here_[h].store(1, mo_relaxed, $);       // become
        }
    }
    void thread(unsigned id) { id == harts ? make_ready() : hart(id); }
    void after() {
        RL_ASSERT(harts_of(account_.load(mo_relaxed, $)) == 0);
        RL_ASSERT(done_.load(mo_relaxed, $) == 1);
    }
};

const registration here{{"affinity",
                         {"leaves_without_fence", "leaves_without_a_look", "looks_before_it_leaves",
                          "calls_without_fence", "stays_here_when_it_leaves", "looks_for_no_absent_hart",
                          "takes_what_others_keep", "leaves_though_it_is_elsewhere"},
                         search<affinity>,
                         {1, 40000}}};

} // namespace
} // namespace model
