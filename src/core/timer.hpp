// Deadlines: the one place where computations that must go on at a certain time are kept. A kernel thread of Comity's
// own, made with the first deadline, sleeps until the earliest one; it holds no hart and runs nothing but `expired`.
//
// Protocol and proof: README.md, "Deadlines".
#pragma once

#include "sys/shared.hpp"

#include <cstdint>

namespace comity::core {

struct context;

// One deadline, in memory of the owner's.
struct timer {
    std::int64_t at = 0; // sys::now_ns; any value
    // The deadline has passed: takes back what it ends, and returns the context that has to be unblocked for it, or
    // null. Runs on the timers' thread under their lock: a few instructions, and no lock under which somebody calls arm
    // or cancel. Afterwards nothing refers to the timer.
    context *(*expired)(timer *) noexcept = nullptr;
    // Instead of `expired`: runs on the timers' thread without its lock, so it may take a while and arm the timer
    // again. Such a timer is never cancelled.
    void (*serve)(timer *) noexcept = nullptr;

    bool queued = false; // from here on: the heap's, under the lock, which is held at a fork
    std::uint32_t rank = 0;
    timer *up = nullptr, *left = nullptr, *right = nullptr;
};

// A leftist heap: the earliest on top, each operation in O(log n), no memory of its own.
class timer_heap {
public:
    [[nodiscard]] timer *earliest() const noexcept { return top_; }
    void add(timer *t) noexcept;
    void remove(timer *t) noexcept;

private:
    static timer *merge(timer *a, timer *b) noexcept;
    timer *top_ = nullptr;
};

// `expired` will be called once, at the deadline or soon after, unless it is cancelled before. False: no kernel thread
// is to be had that could wait for it, and nothing happened. Any thread; never switches.
[[nodiscard]] COMITY_SHARED bool arm(timer &t) noexcept;

// A fork holds the timers' lock from now on, inside of what handlers do that are registered later: those may wait for
// threads that arm a timer. Any thread.
void hold_timers_in_forks() noexcept;

// The timers' thread, which is there, ends, until a deadline is set or it is started again for those that there are.
// One caller at a time.
bool are_timers_there() noexcept;
void end_timers_thread() noexcept;
void start_timers_again() noexcept;

// In the child of a fork: is the timer, which was armed in the parent, still so? Until the timers' thread is there.
COMITY_SHARED bool is_armed_in_child(const timer &t) noexcept;

// In the child of a fork, where nobody waits who is not there: only timers that serve are kept. Before the timers'
// thread is there.
COMITY_SHARED void forget_waits() noexcept;

// In the child of a fork, before all other handlers may arm one: what was begun without handlers is dropped.
void timers_after_fork() noexcept;

// After it nothing refers to the timer. True: it was still queued, and `expired` will not be called. False: `expired`
// has returned. Any thread but the timers'; never switches.
COMITY_SHARED bool cancel(timer &t) noexcept;

} // namespace comity::core
