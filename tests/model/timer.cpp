// Deadlines: src/core/timer.cpp arm, cancel, serve, with a waiter of src/sync/wait_list.cpp, whose deadline passes
// while somebody wakes it, or nobody does. A deadline is over as soon as it is armed, which the timers' thread may find
// late.
#include "checker.hpp"

namespace model {
namespace {

enum bug {
    none,
    bell_is_rung_blindly,
    sleeps_without_the_bell,
    cancels_without_the_lock,
    expires_without_a_mark,
    expires_what_was_taken,
    served_after_the_lock
};

// Thread 0 waits with a deadline, thread 1 wakes it, thread 2 is the timers' thread. The waiter's place is plain
// memory, which it uses for something else afterwards.
template <bool Woken> struct timer : rl::test_suite<timer<Woken>, 3> {
    lock heap_lock, list_lock;
    atomic<unsigned> queued;       // the heap: the waiter's deadline; under heap_lock
    atomic<unsigned> bell, sleeps; // sleeps: the thread will not look before the bell rings; under heap_lock
    atomic<unsigned> condition, count_, expired, blocked;
    var<int> inside;       // under list_lock
    var<int> place, ended; // the place's memory, which the waiter uses for something else; under heap_lock
    parker resumed;        // stands for block and unblock
    futex bell_futex;

    void before() {
        queued.store(0, mo_relaxed, $);
        bell.store(0, mo_relaxed, $);
        sleeps.store(0, mo_relaxed, $);
        expired.store(0, mo_relaxed, $);
        blocked.store(0, mo_relaxed, $);
        condition.store(0, mo_relaxed, $);
        count_.store(0, mo_relaxed, $);
        inside($) = place($) = ended($) = 0;
    }
    bool ready() { return condition.load(mo_acquire, $) != 0; }

    void arm() {
        heap_lock.acquire();
        queued.store(1, mo_relaxed, $);
        const bool ring = sleeps.load(mo_relaxed, $) != 0;
        if (ring) {
            sleeps.store(0, mo_relaxed, $);
            if (!seeded(bell_is_rung_blindly)) bell.store(bell.load(mo_relaxed, $) + 1, mo_relaxed, $);
        }
        heap_lock.release();
        if (ring) bell_futex.wake();
    }
    void cancel() {
        if (seeded(cancels_without_the_lock)) {
            queued.store(0, mo_relaxed, $);
            return;
        }
        heap_lock.acquire();
        queued.store(0, mo_relaxed, $);
        heap_lock.release();
    }
    bool enter() {
        list_lock.acquire();
        count_.store(count_.load(mo_relaxed, $) + 1, mo_relaxed, $);
        rl::atomic_thread_fence(mo_seq_cst, $); // seq_cst[wait-list]
        const bool wait = expired.load(mo_relaxed, $) == 0 && !ready();
        if (wait) {
            inside($) = 1;
            blocked.store(1, mo_relaxed, $);
        } else
            count_.store(count_.load(mo_relaxed, $) - 1, mo_relaxed, $);
        list_lock.release();
        return wait;
    }
    void waiter() {
        arm();
        bool good = ready(), over = false;
        while (!good && !over) {
            if (enter()) resumed.wait();
            good = ready();
            over = expired.load(mo_relaxed, $) != 0;
        }
        cancel();
        RL_ASSERT(Woken || over);
        place($) = 1; // the stack frame is gone
        heap_lock.acquire();
        ended($) = 1;
        bell.store(bell.load(mo_relaxed, $) + 1, mo_relaxed, $);
        heap_lock.release();
        bell_futex.wake();
    }
    void resume() {
        RL_ASSERT(blocked.exchange(0, mo_relaxed, $) == 1); // once for each block
        resumed.wake();
    }
    void waker() {
        condition.store(1, mo_release, $);
        rl::atomic_thread_fence(mo_seq_cst, $); // seq_cst[wait-list]
        if (count_.load(mo_relaxed, $) == 0) return;
        list_lock.acquire();
        const bool taken = inside($) != 0;
        if (taken && !seeded(expires_what_was_taken)) {
            inside($) = 0;
            count_.store(count_.load(mo_relaxed, $) - 1, mo_relaxed, $);
        }
        list_lock.release();
        if (taken) resume();
    }
    // Returns whether somebody has to be resumed.
    bool expire() {
        RL_ASSERT(place($) == 0);
        list_lock.acquire();
        if (!seeded(expires_without_a_mark)) expired.store(1, mo_relaxed, $);
        const bool wakes = inside($) != 0;
        if (wakes) {
            inside($) = 0;
            count_.store(count_.load(mo_relaxed, $) - 1, mo_relaxed, $);
        }
        list_lock.release();
        return wakes;
    }
    void timers() {
        for (;;) {
            bool wakes = false;
            heap_lock.acquire();
            const bool end = ended($) != 0;
            const bool over = queued.load(mo_relaxed, $) != 0;
            if (over) {
                queued.store(0, mo_relaxed, $);
                if (!seeded(served_after_the_lock)) wakes = expire();
            }
            sleeps.store(!over, mo_relaxed, $);
            const unsigned rung = bell.load(mo_relaxed, $);
            heap_lock.release();
            if (over && seeded(served_after_the_lock)) wakes = expire();
            if (wakes) resume();
            if (end) return;
            if (!over) bell_futex.wait(bell, seeded(sleeps_without_the_bell) ? bell.load(mo_relaxed, $) : rung);
        }
    }
    void thread(unsigned id) {
        if (id == 0) waiter();
        if (id == 1 && Woken) waker();
        if (id == 2) timers();
    }
};

const registration woken{{"timer_woken",
                          {"", "", "cancels_without_the_lock", "", "expires_what_was_taken", "served_after_the_lock"},
                          search<timer<true>>,
                          {2, 20000}}};
const registration over{{"timer_over",
                         {"bell_is_rung_blindly", "sleeps_without_the_bell", "", "expires_without_a_mark"},
                         search<timer<false>>,
                         {2, 20000}}};

} // namespace
} // namespace model
