// With one hart: a program's own thread that opened a scheduler of threads holds that hart also while it sleeps in the
// kernel, or loops, until one of those threads has done something. A watch moves the hart on; with several it calls
// them to work that was left behind. README.md, "One hart", "Protocol: no work is left behind".
#pragma once

namespace comity::scheduler {

class work_stealing;

// The scheduler's links in the watch's list.
struct watched_scope {
    work_stealing *next_watched = nullptr, *previous_watched = nullptr;
    int watched_in = 0; // the process; 0: it is not watched. In the child of a fork the forking thread's alone are
};

// Opened by a kernel thread's own computation: looked at until forget_scope, which returns
// when the watch is not looking at it. Any thread; never switch.
void watch_scope(work_stealing *s) noexcept;
void forget_scope(work_stealing *s) noexcept;

} // namespace comity::scheduler
