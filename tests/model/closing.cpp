// The end of a scheduler of units: src/scheduler/work_stealing.cpp close and tell_closer, src/pool/unit.hpp
// add_created, add_ended and all_ended. Two harts run a unit that creates another one; whichever finds nothing more
// looks whether that was all, and goes. The registrant waits on a hart of its own.
#include "checker.hpp"

namespace model {
namespace {

enum bug {
    none,
    closes_without_fence,
    tells_without_fence,
    closes_and_looks_never,
    tells_without_an_exchange,
    sums_created_first,
    ended_relaxed,
    ends_before_it_creates,
    closes_relaxed
};

struct closing : rl::test_suite<closing, 3> {
    static constexpr unsigned harts = 2;
    atomic<unsigned> created_[harts], ended_[harts], parents_, children_, closing_, done_;
    parker registrant_;
    var<int> parked_;        // the registrant's context, which whoever clears closing_ may resume
    int unblocked_, waited_; // how often; by whoever has cleared closing_, and by the registrant

    void before() {
        for (auto *a : {&created_[0], &created_[1], &ended_[0], &ended_[1], &children_, &closing_, &done_})
            a->store(0, mo_relaxed, $);
        created_[0].store(1, mo_relaxed, $);
        parents_.store(1, mo_relaxed, $);
        unblocked_ = waited_ = 0;
        parked_($) = 0;
    }
    bool all_ended() {
        unsigned made = 0, gone = 0;
        if (seeded(sums_created_first))
            for (auto &n : created_) made += n.load(mo_relaxed, $);
        for (auto &n : ended_) gone += n.load(mo_acquire, $); // acquire[unit-ended]
        if (!seeded(sums_created_first))
            for (auto &n : created_) made += n.load(mo_relaxed, $);
        return made == gone;
    }
    void tell_closer() {
        if (!seeded(tells_without_fence)) rl::atomic_thread_fence(mo_seq_cst, $); // seq_cst[closing]
        if (!closing_.load(mo_relaxed, $) || !all_ended()) return;
        if (seeded(tells_without_an_exchange))
            closing_.store(0, mo_release, $);
        else if (!closing_.exchange(0, mo_acq_rel, $)) // acq_rel[closing-mark]
            return;
        ++unblocked_;
        RL_ASSERT(parked_($) == 1);
        parked_($) = 0;
        registrant_.wake();
    }
    void close() {
        while (!all_ended()) {
            parked_($) = 1;
            closing_.store(1, unless(closes_relaxed, mo_release), $);                  // release[closing-mark]
            if (!seeded(closes_without_fence)) rl::atomic_thread_fence(mo_seq_cst, $); // seq_cst[closing]
            // Its own hart finds nothing, or leaves work to others and goes.
            const bool queued = parents_.load(mo_relaxed, $) || children_.load(mo_relaxed, $);
            const bool gives_way = queued && rl::rand(2);
            if (!gives_way && !seeded(closes_and_looks_never)) tell_closer();
            registrant_.wait();
            ++waited_;
        }
        RL_ASSERT(done_.load(mo_relaxed, $) == 2);
    }

    bool take(atomic<unsigned> &queue) {
        return queue.load(mo_relaxed, $) && queue.exchange(0, mo_acquire, $); // acquire[deque-bottom]
    }
    void add_ended(unsigned hart) {
        done_.fetch_add(1, mo_relaxed, $);
        ended_[hart].store(ended_[hart].load(mo_relaxed, $) + 1, unless(ended_relaxed, mo_release),
                           $); // release[unit-ended]
    }
    void hart(unsigned h) {
        for (;;) {
            if (take(parents_)) {
                if (seeded(ends_before_it_creates)) add_ended(h);
                created_[h].store(created_[h].load(mo_relaxed, $) + 1, mo_relaxed, $);
                children_.store(1, mo_release, $); // release[deque-bottom]
                if (!seeded(ends_before_it_creates)) add_ended(h);
            } else if (take(children_)) {
                add_ended(h);
            } else {
                return tell_closer();
            }
        }
    }
    void thread(unsigned id) { id == 2 ? close() : hart(id); }
    void after() { RL_ASSERT(unblocked_ == waited_); }
};

const registration here{
    {"closing",
     {"closes_without_fence", "tells_without_fence", "closes_and_looks_never", "tells_without_an_exchange",
      "sums_created_first", "ended_relaxed", "ends_before_it_creates", "closes_relaxed"},
     search<closing>,
     {1, 100000}}};

} // namespace
} // namespace model
