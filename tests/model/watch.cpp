// Regions that stand still: src/model/spmd/watch.cpp take_waiting, gang.cpp promote_member, promoted_ends,
// await_promoted, team.cpp join, run. Two ranks wait in the master's slot; a hart, the master and the watch, on behalf
// of a kernel thread each, take them. In the next region the master's hart runs both contexts, so what ran them before
// must be off their thread-local storage. And the watch's own end while a region begins (keep_watch, look).
#include "checker.hpp"

namespace model {
namespace {

enum bug {
    none,
    takes_blindly,
    promotes_before_it_notes,
    command_relaxed,
    end_relaxed,
    thread_idle_relaxed,
    does_not_wait_for_the_thread,
    begins_without_fence,
    ends_without_fence,
    ends_without_a_look,
    looks_before_it_is_off,
    ends_relaxed
};

struct watch : rl::test_suite<watch, 4> {
    static constexpr unsigned ranks = 2,
                              master_waiting = 0x80000000; // numbered from 0; the master's own is not modelled
    static unsigned begin(unsigned r) { return r & 0xff; }
    static unsigned end(unsigned r) { return r >> 8; }
    static unsigned pack(unsigned b, unsigned e) { return e << 8 | b; }
    atomic<unsigned> range_, unfinished_, any_promoted_, began_, over_;
    atomic<unsigned> command_; // to the kernel thread: 0 sleeps, 1 + rank, or 99: there will be none
    atomic<unsigned> idle_;
    var<int> body_, result_[ranks], tls_[ranks], promoted_[ranks];
    parker master_;
    int runs_[ranks];

    void before() {
        for (auto *a : {&range_, &unfinished_, &any_promoted_, &began_, &over_, &command_}) a->store(0, mo_relaxed, $);
        idle_.store(1, mo_relaxed, $);
        for (unsigned i = 0; i < ranks; ++i) {
            tls_[i]($) = promoted_[i]($) = result_[i]($) = 0;
            runs_[i] = 0;
        }
    }
    void run(unsigned rank) {
        RL_ASSERT(body_($) == 1);
        RL_ASSERT(++runs_[rank] == 1);
        tls_[rank]($) = 1;
        result_[rank]($) = 1;
    }
    void end_of_rank(rl::memory_order order) {
        if (unfinished_.fetch_sub(1, order, $) == (master_waiting | 1)) master_.wake(); // acq_rel[team-join]
    }
    // From the front, as harts do it, or the back, as the watch does.
    int claim(bool front) {
        unsigned r = range_.load(mo_acquire, $); // acquire[team-ranks]
        while (begin(r) < end(r)) {
            const unsigned rest = front ? pack(begin(r) + 1, end(r)) : pack(begin(r), end(r) - 1);
            const int rank = static_cast<int>(front ? begin(r) : end(r) - 1);
            if (!front && seeded(takes_blindly)) {
                range_.store(rest, mo_release, $);
                return rank;
            }
            if (range_.compare_exchange_weak(r, rest, mo_acq_rel, $, mo_acquire, $)) return rank; // acq_rel[team-ranks]
        }
        return -1;
    }
    void hart() {
        if (const int rank = claim(true); rank >= 0) {
            run(static_cast<unsigned>(rank));
            end_of_rank(mo_acq_rel);
        }
    }
    void note(unsigned rank) {
        promoted_[rank]($) = 1;
        any_promoted_.store(1, mo_relaxed, $);
    }
    void look() {
        const int rank = claim(false);
        if (rank < 0) return command_.store(99, mo_release, $);
        if (!seeded(promotes_before_it_notes)) note(static_cast<unsigned>(rank));
        idle_.store(0, mo_relaxed, $); // run_on_donor
        command_.store(1 + static_cast<unsigned>(rank), unless(command_relaxed, mo_release),
                       $); // release[donor-command]
        if (seeded(promotes_before_it_notes)) note(static_cast<unsigned>(rank));
    }
    void kernel_thread() {
        rl::linear_backoff b;
        unsigned what = 0;
        while ((what = command_.load(mo_acquire, $)) == 0) b.yield($); // acquire[donor-command]
        if (what == 99) return;
        run(what - 1);
        end_of_rank(unless(end_relaxed, mo_acq_rel));
        tls_[what - 1]($) = 2;                                      // on the way to sleep
        idle_.store(1, unless(thread_idle_relaxed, mo_release), $); // release[donor-idle]
    }
    void master() {
        body_($) = 1;
        unfinished_.store(ranks, mo_relaxed, $);
        range_.store(pack(0, ranks), mo_release, $); // release[team-ranks]
        if (rl::rand(2)) hart();                     // else body(0) waits for the others in a loop
        for (int rank; (rank = claim(true)) >= 0; end_of_rank(mo_acq_rel)) run(static_cast<unsigned>(rank));
        if (unfinished_.load(mo_acquire, $) != 0 &&                   // acquire[team-join]
            unfinished_.fetch_or(master_waiting, mo_acq_rel, $) != 0) // acq_rel[team-join]
            master_.wait();
        if (any_promoted_.load(mo_relaxed, $) && !seeded(does_not_wait_for_the_thread))
            for (auto &promoted : promoted_) {
                if (!promoted($)) continue;
                rl::linear_backoff b;
                while (idle_.load(mo_acquire, $) == 0) b.yield($); // acquire[donor-idle]
                promoted($) = 0;
            }
        for (unsigned i = 0; i < ranks; ++i) { // the next region
            RL_ASSERT(result_[i]($) == 1);
            tls_[i]($) = 3;
        }
    }
    void thread(unsigned id) {
        switch (id) {
        case 0:
            return master();
        case 1:
            return hart();
        case 2:
            return look();
        default:
            return kernel_thread();
        }
    }
};

struct watch_ends : rl::test_suite<watch_ends, 2> {
    atomic<unsigned> range_, watching_;
    bool kept_[2];
    var<int> next_look_; // who keeps watch arms it

    void before() {
        range_.store(0, mo_relaxed, $);
        watching_.store(1, mo_relaxed, $);
        kept_[0] = kept_[1] = false;
        next_look_($) = 0;
    }
    void keep_watch(unsigned id) {
        if (watching_.load(mo_relaxed, $)) return;
        if (watching_.exchange(1, mo_acquire, $)) return; // acquire[watching]
        kept_[id] = true;
        next_look_($) = 1;
    }
    void thread(unsigned id) {
        if (id == 0) {                          // distribute, ask_for_harts
            range_.store(1, mo_release, $);     // release[team-ranks]
            fence_unless(begins_without_fence); // seq_cst[team-present]
            return keep_watch(0);
        }
        bool waiting = seeded(looks_before_it_is_off) && range_.load(mo_relaxed, $) != 0;
        next_look_($) = 2;
        watching_.store(0, unless(ends_relaxed, mo_release), $); // release[watching]
        fence_unless(ends_without_fence);                        // seq_cst[team-present]
        if (!seeded(looks_before_it_is_off) && !seeded(ends_without_a_look)) waiting = range_.load(mo_relaxed, $) != 0;
        if (waiting) keep_watch(1);
    }
    void after() { RL_ASSERT(kept_[0] != kept_[1]); }
};

const registration promotes{{"watch",
                             {"takes_blindly", "promotes_before_it_notes", "command_relaxed", "end_relaxed",
                              "thread_idle_relaxed", "does_not_wait_for_the_thread"},
                             search<watch>,
                             {2, 30000}}};
const registration ends{{"watch_ends",
                         {"", "", "", "", "", "", "begins_without_fence", "ends_without_fence", "ends_without_a_look",
                          "looks_before_it_is_off", "ends_relaxed"},
                         search<watch_ends>,
                         {3, 10000}}};

} // namespace
} // namespace model
