// With one hart: a program's own thread that opened a scheduler of threads holds that hart also while it sleeps in the
// kernel, or loops, until one of those threads has done something. A watch moves the hart on. README.md, "One hart".
#pragma once

namespace comity::scheduler {

class work_stealing;

// The scheduler's links in the watch's list.
struct watched_scope {
    work_stealing *next_watched = nullptr, *previous_watched = nullptr;
    int watched_in = 0; // the process; 0: it is not watched. In the child of a fork the forking thread's alone are
};

// Opened by a kernel thread's own computation, in a process with one hart: looked at until forget_scope, which returns
// when the watch is not looking at it. Any thread; never switch.
void watch_scope(work_stealing *s) noexcept;
void forget_scope(work_stealing *s) noexcept;

} // namespace comity::scheduler
