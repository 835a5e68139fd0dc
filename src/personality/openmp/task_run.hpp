// Inside the task engine: what its files call of each other.
#pragma once

#include "personality/openmp/task.hpp"
#include "personality/openmp/task_fast.hpp"
#include "personality/openmp/thread.hpp"

namespace comity::openmp {

// Runs a deferred task that was taken out of a queue, to its end. May switch.
void run_task(thread *t, task *what) noexcept;
// The task may run now: queues it with the rank's own and tells somebody who waits for tasks.
void make_ready(thread *t, task *what) noexcept;
// The same where the rank itself may have to leave it alone (README.md, "Which task may run").
void make_ready_for_others(thread *t, task *what) noexcept;
// The body has run and the event, if there was one, is fulfilled; `ready` gets the tasks that depend on it.
void complete(thread *t, task *what, void (*ready)(thread *, task *) = make_ready) noexcept;
// A task for the rank to run now, taken out of its queue: one that descends from `under`; null: any. Or null.
task *find_task(thread *t, const task *under) noexcept;

// Into the rank's own deque. False: no memory for a longer one.
inline bool push_own(thread *t, task *what) noexcept {
    pool::deque<task> &ready = t->tasks.ready;
    if (t->at_once_depth == never_at_once && ready.most_size() >= few_queued - 1) t->at_once_depth = what->depth();
    return ready.push(what);
}

// Does it descend from `under`, so that a rank which waits in that one may run it? Looks at no more than so many of
// those around it. Who does not hold the task may ask too: if it is another one by now, what is read is of some task of
// the team, or of a free block whose parent is the next one; then the answer does not matter, but the way must end.
bool descends(const task *what, const task *under, unsigned most_steps = ~0U) noexcept;

// Somebody has queued `what`, which may be null: wakes somebody who can do something about it. By a rank.
void call_for_help(team *tm, const task *what) noexcept;

} // namespace comity::openmp
