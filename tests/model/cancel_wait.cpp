// Waits that a request to cancel the waiting thread ends: src/thread/cancel.cpp, in a list (src/sync/wait_list.cpp,
// `Woken`: while somebody wakes it) and in the word of a thread's end (src/thread/end_word.cpp).
#include "checker.hpp"

namespace model {
namespace {

enum bug {
    none,
    request_without_fence,
    waits_without_fence,
    leaves_without_fence,
    does_not_look_again,
    leaves_without_waiting,
    takes_without_marking,
    takes_what_was_taken,
    gives_up_before_it_enters,
    ends_by_store
};

constexpr unsigned requested = 1, taking = 2;

// Thread 0 waits, thread 1 makes the condition true, thread 2 cancels. What the waiter has announced is plain memory,
// which it uses for something else afterwards.
template <bool Woken> struct cancel_wait : rl::test_suite<cancel_wait<Woken>, 3> {
    lock list_lock;
    atomic<unsigned> state, waits, condition, count_, blocked;
    var<int> inside; // under list_lock
    var<int> place;
    parker resumed; // stands for block and unblock

    void before() {
        for (auto *word : {&state, &waits, &condition, &count_, &blocked}) word->store(0, mo_relaxed, $);
        inside($) = place($) = 0;
    }
    bool ready() { return condition.load(mo_acquire, $) != 0; }
    bool is_cancelled() { return (state.load(mo_relaxed, $) & requested) != 0; }

    bool enter() {
        list_lock.acquire();
        count_.store(count_.load(mo_relaxed, $) + 1, mo_relaxed, $);
        fence_unless(waits_without_fence); // seq_cst[wait-list] seq_cst[cancel]
        const bool wait = !ready() && (seeded(does_not_look_again) || !is_cancelled());
        if (wait) {
            inside($) = 1;
            blocked.store(1, mo_relaxed, $);
        } else
            count_.store(count_.load(mo_relaxed, $) - 1, mo_relaxed, $);
        list_lock.release();
        return wait;
    }
    void waiter() {
        place($) = 1;
        waits.store(1, mo_release, $); // announce_wait
        do {
            if (enter()) resumed.wait();
        } while (!ready() && !is_cancelled());
        waits.store(0, mo_relaxed, $);      // close_to_cancel
        fence_unless(leaves_without_fence); // seq_cst[cancel]
        while (!seeded(leaves_without_waiting) && (state.load(mo_acquire, $) & taking)) rl::yield(1, $);
        place($) = 2;
    }
    void resume() {
        RL_ASSERT(blocked.exchange(0, mo_relaxed, $) == 1); // once for each block
        resumed.wake();
    }
    bool take_out(bool always) {
        list_lock.acquire();
        const bool taken = inside($) != 0;
        if (taken && !always) {
            inside($) = 0;
            count_.store(count_.load(mo_relaxed, $) - 1, mo_relaxed, $);
        }
        list_lock.release();
        return taken;
    }
    void waker() {
        condition.store(1, mo_release, $);
        rl::atomic_thread_fence(mo_seq_cst, $); // seq_cst[wait-list]
        if (count_.load(mo_relaxed, $) != 0 && take_out(seeded(takes_what_was_taken))) resume();
    }
    void canceller() {
        state.fetch_or(seeded(takes_without_marking) ? requested : requested | taking, mo_acq_rel, $);
        fence_unless(request_without_fence); // seq_cst[cancel]
        bool taken = false;
        if (waits.load(mo_acquire, $) != 0) {
            RL_ASSERT(place($) == 1);
            taken = take_out(false);
        }
        state.fetch_and(~taking, mo_release, $);
        if (taken) resume();
    }
    void thread(unsigned id) {
        if (id == 0) waiter();
        if (id == 1 && Woken) waker();
        if (id == 2) canceller();
    }
};

enum class end { never, by_return, by_switch };

// Thread 0 joins thread 1, which ends or goes on for ever, and thread 2 cancels thread 0.
template <end End> struct cancel_join : rl::test_suite<cancel_join<End>, 3> {
    static constexpr unsigned open = 0, ended = 1, joiner = 2;
    atomic<unsigned> state, waits, word, blocked;
    var<int> place;
    parker resumed;

    void before() {
        for (auto *w : {&state, &waits, &word, &blocked}) w->store(0, mo_relaxed, $);
        place($) = 0;
    }
    bool is_cancelled() { return (state.load(mo_relaxed, $) & requested) != 0; }
    void stop() {
        unsigned before = open;
        blocked.store(1, mo_relaxed, $);
        if (word.compare_exchange_strong(before, joiner, mo_acq_rel, $))
            resumed.wait();
        else
            blocked.store(0, mo_relaxed, $);
    }
    void waits_for_end() {
        while (word.load(mo_acquire, $) == open && !is_cancelled()) {
            place($) = 1;
            waits.store(1, mo_release, $);
            fence_unless(waits_without_fence); // seq_cst[cancel]
            if (seeded(does_not_look_again) || !is_cancelled()) stop();
            waits.store(0, mo_relaxed, $);
            fence_unless(leaves_without_fence); // seq_cst[cancel]
            while (!seeded(leaves_without_waiting) && (state.load(mo_acquire, $) & taking)) rl::yield(1, $);
            place($) = 2;
        }
    }
    void resume() {
        RL_ASSERT(blocked.exchange(0, mo_relaxed, $) == 1);
        resumed.wake();
    }
    bool take_waiter() {
        RL_ASSERT(place($) == 1);
        for (;;) {
            unsigned now = word.load(mo_acquire, $);
            if (now == joiner) {
                if (word.compare_exchange_strong(now, open, mo_acq_rel, $)) return true;
            } else if (now != open || waits.load(mo_relaxed, $) == 0 || seeded(gives_up_before_it_enters)) {
                return false;
            }
            rl::yield(1, $);
        }
    }
    void canceller() {
        state.fetch_or(seeded(takes_without_marking) ? requested : requested | taking, mo_acq_rel, $);
        fence_unless(request_without_fence); // seq_cst[cancel]
        const bool taken = waits.load(mo_acquire, $) != 0 && take_waiter();
        state.fetch_and(~taking, mo_release, $);
        if (taken) resume();
    }
    // Goes on with who waits if there is somebody: end_for_waiter_here.
    void ends_by_switch() {
        unsigned now = word.load(mo_acquire, $);
        bool mine = now == joiner;
        if (mine && seeded(ends_by_store))
            word.store(ended, mo_release, $);
        else
            mine = mine && word.compare_exchange_strong(now, ended, mo_acq_rel, $);
        if (mine || word.exchange(ended, mo_acq_rel, $) == joiner) resume();
    }
    void thread(unsigned id) {
        if (id == 0) waits_for_end();
        if (id == 1 && End == end::by_return && word.exchange(ended, mo_acq_rel, $) == joiner) resume();
        if (id == 1 && End == end::by_switch) ends_by_switch();
        if (id == 2) canceller();
    }
};

const registration alone{{"cancel_wait",
                          {"request_without_fence", "waits_without_fence", "", "does_not_look_again",
                           "leaves_without_waiting", "takes_without_marking"},
                          search<cancel_wait<false>>,
                          {2, 20000}}};
const registration woken{
    {"cancel_wait_woken",
     {"", "", "leaves_without_fence", "", "leaves_without_waiting", "takes_without_marking", "takes_what_was_taken"},
     search<cancel_wait<true>>,
     {2, 20000}}};
const registration ended{
    {"cancel_join_ended",
     {"request_without_fence", "", "leaves_without_fence", "", "leaves_without_waiting", "takes_without_marking"},
     search<cancel_join<end::by_return>>,
     {2, 20000}}};
const registration switched{
    {"cancel_join_switched",
     {"", "", "leaves_without_fence", "", "leaves_without_waiting", "takes_without_marking", "", "", "ends_by_store"},
     search<cancel_join<end::by_switch>>,
     {2, 20000}}};
const registration endless{{"cancel_join",
                            {"request_without_fence", "waits_without_fence", "", "does_not_look_again",
                             "leaves_without_waiting", "takes_without_marking", "", "gives_up_before_it_enters"},
                            search<cancel_join<end::never>>,
                            {2, 20000}}};

} // namespace
} // namespace model
