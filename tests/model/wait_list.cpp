// The wait list: src/sync/wait_list.cpp. Two contexts wait until a ticket can be had; the third thread makes the
// tickets, one by one with wake_one, or both with wake_all; or one by one with wake, under the list's lock, and whoever
// gets the last one destroys the list.
#include "checker.hpp"

namespace model {
namespace {

enum bug { none, enqueue_without_fence, wake_without_fence, no_second_look, count_after_the_look, wakes_half };
enum change_bug { changes_first = 1, changes_last, enters_blindly, destroys_at_once, unlock_relaxed };

template <bool All> struct wait_list : rl::test_suite<wait_list<All>, 3> {
    atomic<unsigned> count_, tickets;
    lock lock_;
    int list[2], length; // under lock_
    parker resumed[2];   // stands for block and unblock
    var<int> payload;

    void before() {
        count_.store(0, mo_relaxed, $);
        tickets.store(0, mo_relaxed, $);
        length = 0;
    }
    bool ready() { return tickets.load(mo_acquire, $) != 0; }
    bool enqueue(int c) {
        lock_.acquire();
        if (!seeded(count_after_the_look)) count_.store(count_.load(mo_relaxed, $) + 1, mo_relaxed, $);
        fence_unless(enqueue_without_fence); // seq_cst[wait-list]
        const bool wait = seeded(no_second_look) || !ready();
        if (seeded(count_after_the_look)) count_.store(count_.load(mo_relaxed, $) + 1, mo_relaxed, $);
        if (wait)
            list[length++] = c;
        else
            count_.store(count_.load(mo_relaxed, $) - 1, mo_relaxed, $);
        lock_.release();
        return wait;
    }
    void wait(int me) {
        while (!ready())
            if (enqueue(me)) resumed[me].wait();
    }
    void wake_all() {
        fence_unless(wake_without_fence); // seq_cst[wait-list]
        if (count_.load(mo_relaxed, $) == 0) return;
        lock_.acquire();
        int first[2], n = length;
        for (int i = 0; i < n; ++i) first[i] = list[i];
        length = 0;
        count_.store(0, mo_relaxed, $);
        lock_.release();
        for (int i = 0; i < (seeded(wakes_half) ? n / 2 : n); ++i) resumed[first[i]].wake();
    }
    void wake_one() {
        fence_unless(wake_without_fence); // seq_cst[wait-list]
        if (count_.load(mo_relaxed, $) == 0) return;
        int c = -1;
        lock_.acquire();
        if (length) {
            c = list[0];
            list[0] = list[1];
            --length;
            count_.store(count_.load(mo_relaxed, $) - 1, mo_relaxed, $);
        }
        lock_.release();
        if (c >= 0) resumed[c].wake();
    }
    void thread(unsigned id) {
        if (id < 2) {
            for (;;) { // a ticket for each: who finds it taken waits again
                wait(static_cast<int>(id));
                unsigned n = tickets.load(mo_relaxed, $);
                if (n && tickets.compare_exchange_strong(n, n - 1, mo_acq_rel, $)) break;
            }
            RL_ASSERT(payload($) == 1);
        } else {
            payload($) = 1;
            if (All) {
                tickets.store(2, mo_release, $);
                wake_all();
            } else {
                for (int i = 0; i < 2; ++i) {
                    tickets.fetch_add(1, mo_release, $);
                    wake_one();
                }
            }
        }
    }
};

struct change_and_wake : rl::test_suite<change_and_wake, 3> {
    atomic<unsigned> tickets, held_, left;
    lock lock_;          // held_: what destruction looks at
    int list[2], length; // under lock_
    parker resumed[2];
    var<int> payload, object; // object: the list's memory, which somebody may reuse

    void before() {
        tickets.store(0, mo_relaxed, $);
        held_.store(0, mo_relaxed, $);
        left.store(0, mo_relaxed, $);
        length = 0;
        payload($) = object($) = 0;
    }
    void take_lock() {
        lock_.acquire();
        held_.store(1, mo_relaxed, $);
    }
    void leave_lock() {
        RL_ASSERT(object($) == 0);
        held_.store(0, unless(unlock_relaxed, mo_release), $); // release[spinlock]
        lock_.release();
    }
    bool enqueue(int c) {
        take_lock();
        const bool wait = seeded(enters_blindly) || tickets.load(mo_acquire, $) == 0;
        if (wait) list[length++] = c;
        leave_lock();
        return wait;
    }
    void wait(int me) {
        while (tickets.load(mo_acquire, $) == 0)
            if (enqueue(me)) resumed[me].wait();
    }
    void wake() {
        if (seeded(changes_first)) tickets.fetch_add(1, mo_release, $);
        int c = -1;
        take_lock();
        if (!seeded(changes_first) && !seeded(changes_last)) tickets.fetch_add(1, mo_release, $);
        if (length) {
            c = list[0];
            list[0] = list[1];
            --length;
        }
        leave_lock();
        if (seeded(changes_last)) tickets.fetch_add(1, mo_release, $);
        if (c >= 0) resumed[c].wake();
    }
    void thread(unsigned id) {
        if (id == 2) {
            payload($) = 1;
            wake();
            return wake();
        }
        for (;;) {
            wait(static_cast<int>(id));
            unsigned n = tickets.load(mo_relaxed, $);
            if (n && tickets.compare_exchange_strong(n, n - 1, mo_acq_rel, $)) break;
        }
        RL_ASSERT(payload($) == 1);
        if (left.fetch_add(1, mo_acq_rel, $) != 1) return;
        rl::linear_backoff b;
        while (!seeded(destroys_at_once) && held_.load(mo_acquire, $) != 0) b.yield($); // acquire[spinlock]
        object($) = 1;
    }
};

const registration all{
    {"wait_list_all",
     {"enqueue_without_fence", "wake_without_fence", "no_second_look", "count_after_the_look", "wakes_half"},
     search<wait_list<true>>,
     {2, 20000}}};
const registration one{{"wait_list_one",
                        {"enqueue_without_fence", "wake_without_fence", "no_second_look", "count_after_the_look"},
                        search<wait_list<false>>,
                        {2, 20000}}};
const registration change{{"wait_list_change",
                           {"changes_first", "changes_last", "enters_blindly", "destroys_at_once", "unlock_relaxed"},
                           search<change_and_wake>,
                           {2, 20000}}};

} // namespace
} // namespace model
