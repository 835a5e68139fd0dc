// A stream of Argobots sleeps, is woken by work, is asked to end, ends, is joined and freed:
// src/personality/argobots/schedulers.cpp (run_predefined, sleep, has_units, check_events, wake), waiting.cpp (waiter,
// sleepers), pools.cpp push, work.cpp make_ready and registry.cpp (join_stream, stream_ended). Thread 0 is the stream's
// hart; thread 1 makes ready the one work unit that is blocked; thread 2 joins the stream and frees it with its pool.
// Of the pool two variants: one of ours, and one of the program's own, which has a lock that we do not know.
#include "checker.hpp"

namespace model {
namespace {

enum bug {
    none,
    sleeps_without_fence,
    pushes_without_fence,
    enters_without_the_pools_lock,
    looks_before_it_enters,
    parks_by_store,
    unblocks_who_is_awake,
    stays_in_the_list,
    stops_without_the_blocked,
    counts_the_blocked_last,
    counts_off_before_it_pushes,
    sleeps_without_end_when_asked_to_stop,
    joins_by_store,
    ends_relaxed,
    asks_without_waking
};

// waiting.hpp. The core's part of it is a parker.
struct abt_waiter {
    static constexpr unsigned idle = 0, parked = 1, signalled = 2, timed_out = 3;
    atomic<unsigned> word_;
    var<int> there;  // 1: nobody but the waiter may end it
    parker unparked; // stands for unblock

    void prepare() {
        there($) = 1;
        word_.store(idle, mo_relaxed, $);
    }
    // True: the caller must unblock it.
    bool end(unsigned how, bool &unblocks) {
        RL_ASSERT(there($) == 1);
        unsigned before = word_.load(mo_relaxed, $);
        unblocks = false;
        do {
            if (before >= signalled) return false;
        } while (!word_.compare_exchange_weak(before, how, mo_acq_rel, $)); // acq_rel[abt-waiter]
        unblocks = before == parked || seeded(unblocks_who_is_awake);
        return true;
    }
    void wait(bool timed) {
        bool unblocks = false;
        if (timed && rl::rand(2)) end(timed_out, unblocks); // the deadline has passed already
        unsigned expected = idle;
        if (seeded(parks_by_store))
            word_.store(parked, mo_release, $);
        else if (!word_.compare_exchange_strong(expected, parked, mo_acq_rel, $)) // acq_rel[abt-waiter]
            return;
        if (timed) { // or does so now, or later
            rl::linear_backoff b;
            if (rl::rand(2)) b.yield($);
            if (end(timed_out, unblocks)) return;
        }
        unparked.wait();
        RL_ASSERT(word_.load(mo_relaxed, $) >= signalled);
    }
    void gone() { there($) = 0; }
};

template <bool Ours> struct abt_stream : rl::test_suite<abt_stream<Ours>, 3> {
    static constexpr unsigned finish = 1, ended = 2;
    // The pool
    lock pool_lock_, asleep_lock_;
    atomic<unsigned> size_, blocked_, asleep_; // asleep_: how many are in the list of sleepers
    bool in_list_;                             // under asleep_lock_
    // The stream
    lock stream_lock_;
    bool sleeping_; // under stream_lock_
    atomic<unsigned> stream_requests_, requests_, joiner_;
    abt_waiter sleeper_, join_;
    parker ran_;             // who joins the stream may wait for the work unit before
    var<int> memory, result; // 1: the stream and the pool are there; what the stream did last
    int done_;               // by the stream

    void before() {
        for (auto *a : {&size_, &asleep_, &stream_requests_, &requests_, &joiner_}) a->store(0, mo_relaxed, $);
        blocked_.store(1, mo_relaxed, $);
        in_list_ = sleeping_ = false;
        done_ = 0;
        memory($) = 1;
        result($) = 0;
    }
    void use() { RL_ASSERT(memory($) == 1); }

    // ---- Pools and their sleepers
    bool is_empty() {
        use();
        return size_.load(mo_relaxed, $) == 0;
    }
    bool pop() {
        if (is_empty()) return false;
        pool_lock_.acquire();
        const unsigned n = size_.load(mo_relaxed, $);
        if (n) size_.store(n - 1, mo_relaxed, $);
        pool_lock_.release();
        return n;
    }
    void wake_one() {
        if (!seeded(pushes_without_fence)) rl::atomic_thread_fence(mo_seq_cst, $); // seq_cst[abt-sleep]
        if (asleep_.load(mo_relaxed, $) == 0) return;
        bool unblocks = false;
        asleep_lock_.acquire();
        const bool woken = in_list_ && sleeper_.end(abt_waiter::signalled, unblocks);
        asleep_lock_.release();
        if (woken && unblocks) sleeper_.unparked.wake();
    }
    void push() {
        use();
        pool_lock_.acquire();
        size_.store(size_.load(mo_relaxed, $) + 1, mo_relaxed, $);
        const bool wake = !Ours || asleep_.load(mo_relaxed, $) != 0;
        pool_lock_.release();
        if (wake) wake_one();
    }
    void enter_sleep() {
        const bool locked = Ours && !seeded(enters_without_the_pools_lock);
        if (locked) pool_lock_.acquire();
        asleep_lock_.acquire();
        in_list_ = true;
        asleep_.store(asleep_.load(mo_relaxed, $) + 1, mo_relaxed, $);
        asleep_lock_.release();
        if (locked) pool_lock_.release();
    }
    void leave_sleep() {
        if (seeded(stays_in_the_list)) return;
        asleep_lock_.acquire();
        in_list_ = false;
        asleep_.store(asleep_.load(mo_relaxed, $) - 1, mo_relaxed, $);
        asleep_lock_.release();
    }

    // ---- The stream
    bool has_units() {
        use();
        if (seeded(counts_the_blocked_last)) return !is_empty() || blocked_.load(mo_acquire, $) != 0;
        if (!seeded(stops_without_the_blocked) && blocked_.load(mo_acquire, $) != 0)
            return true; // acquire[abt-blocked]
        return !is_empty();
    }
    bool has_to_stop() {
        return requests_.load(mo_acquire, $) & finish && !has_units(); // acquire[abt-request]
    }
    void check_events() {
        if (const unsigned asked = stream_requests_.load(mo_relaxed, $)) {
            stream_requests_.fetch_and(~asked, mo_acquire, $); // acquire[abt-request]
            requests_.fetch_or(asked, mo_relaxed, $);
        }
    }
    bool has_something() { return !is_empty() || stream_requests_.load(mo_relaxed, $) || has_to_stop(); }
    void sleep() {
        const bool timed =
            requests_.load(mo_relaxed, $) & finish && !seeded(sleeps_without_end_when_asked_to_stop); // nap_of
        sleeper_.prepare();
        const bool seen = seeded(looks_before_it_enters) && has_something();
        enter_sleep();
        stream_lock_.acquire();
        sleeping_ = true;
        stream_lock_.release();
        if (!seeded(sleeps_without_fence)) rl::atomic_thread_fence(mo_seq_cst, $); // seq_cst[abt-sleep]
        bool unblocks = false;
        if (seeded(looks_before_it_enters) ? seen : has_something()) sleeper_.end(abt_waiter::signalled, unblocks);
        sleeper_.wait(timed);
        stream_lock_.acquire();
        sleeping_ = false;
        stream_lock_.release();
        leave_sleep();
        sleeper_.gone();
    }
    void stream() {
        rl::linear_backoff b;
        for (;;) {
            const bool found = pop();
            if (found) {
                ++done_;
                result($) = done_;
                ran_.wake();
            }
            check_events();
            if (has_to_stop()) break;
            if (found) continue;
            sleep();
            b.yield($);
        }
        bool unblocks = false;                                                   // stream_ended
        if (joiner_.exchange(ended, unless(ends_relaxed, mo_acq_rel), $) == 1 && // acq_rel[abt-join]
            join_.end(abt_waiter::signalled, unblocks) && unblocks)
            join_.unparked.wake();
    }

    // ---- Others
    void make_ready() {
        use();
        if (seeded(counts_off_before_it_pushes)) blocked_.fetch_sub(1, mo_release, $);
        push();
        if (!seeded(counts_off_before_it_pushes)) blocked_.fetch_sub(1, mo_release, $); // release[abt-blocked]
    }
    void wake_stream() {
        rl::atomic_thread_fence(mo_seq_cst, $); // seq_cst[abt-sleep]
        bool unblocks = false;
        stream_lock_.acquire();
        const bool woken = sleeping_ && sleeper_.end(abt_waiter::signalled, unblocks);
        stream_lock_.release();
        if (woken && unblocks) sleeper_.unparked.wake();
    }
    void join() {
        if (rl::rand(2)) ran_.wait();
        stream_requests_.fetch_or(finish, mo_release, $); // release[abt-request]
        if (!seeded(asks_without_waking)) wake_stream();
        if (joiner_.load(mo_acquire, $) != ended) { // acquire[abt-join]
            unsigned nobody = 0;
            join_.prepare();
            if (seeded(joins_by_store)) {
                joiner_.store(1, mo_release, $);
                join_.wait(false);
            } else if (joiner_.compare_exchange_strong(nobody, 1u, mo_acq_rel, $)) { // acq_rel[abt-join]
                join_.wait(false);
            }
            join_.gone();
        }
        RL_ASSERT(result($) == 1);
        memory($) = 0; // free_stream
    }
    void thread(unsigned id) { id == 0 ? stream() : id == 1 ? make_ready() : join(); }
};

const registration ours{
    {"abt_stream",
     {"", "", "enters_without_the_pools_lock", "looks_before_it_enters", "parks_by_store", "unblocks_who_is_awake",
      "stays_in_the_list", "stops_without_the_blocked", "counts_the_blocked_last", "counts_off_before_it_pushes",
      "sleeps_without_end_when_asked_to_stop", "joins_by_store", "ends_relaxed", "asks_without_waking"},
     search<abt_stream<true>>,
     {1, 20000}}};
const registration users{{"abt_stream_of_a_users_pool",
                          {"sleeps_without_fence", "pushes_without_fence", "", "looks_before_it_enters"},
                          search<abt_stream<false>>,
                          {1, 20000}}};

} // namespace
} // namespace model
