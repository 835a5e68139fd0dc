// Threads in a scheduler that runs them by who created whom (unit_scheduler::goes_by_descent).
#pragma once

#include "thread/thread.hpp"

namespace comity {

// The scheduler will be told of its end. Before the scheduler gets it.
void track(thread *t) noexcept;
// What a launch comes to, instead of a push: on a hart of the scheduler. 0 or an error number. May switch.
int begin_by_descent(thread *t, unit_scheduler *s) noexcept;
// A thread of a child-first technique has been started, and its creator is off its stack. Never switches.
void give_way_by_descent(thread *t, core::context *creator) noexcept;
// It is about to end, or could not start.
void end_tracked(thread *t) noexcept;

} // namespace comity
