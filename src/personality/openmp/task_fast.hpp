// The way of a task that runs at once, for the ABIs to inline: it costs little more than a call.
#pragma once

#include "personality/openmp/task.hpp"
#include "personality/openmp/thread.hpp"

namespace comity::openmp {

// A rank that has this many tasks in its deque, all of them closer to the root than the task that it makes, runs that
// one at once; and any if it has many more, for each rank of the team so many. (README.md, "Which task is queued".)
inline constexpr std::int64_t few_queued = 2, queued_per_rank = 64;
// Tasks that run at once inside each other: no deeper than this, for the stack's sake.
inline constexpr std::uint64_t most_nested = 100;

inline constexpr unsigned task_kind = block_pool::kind_for(sizeof(task)); // of its block, without data

// Does a child of the current task run at once, as far as it is free to? What the first look cannot tell, the second
// does.
bool runs_now_slowly(thread *t, const task *parent) noexcept;
inline bool runs_now(thread *t, const task *parent) noexcept {
    const std::uint64_t shape = parent->shape_now();
    if (static_cast<std::uint32_t>(shape) >= t->at_once_depth && (shape & shape_nested) < most_nested << 32 &&
        t->tasks.ready.is_untouched()) [[likely]]
        return true;
    return runs_now_slowly(t, parent);
}

// What all children of the current task have in common, in a fresh block.
[[gnu::always_inline]] inline task *begin_child(thread *t, unsigned kind, unsigned flags) noexcept {
    task *parent = t->task, *child = static_cast<task *>(t->tasks.memory.allocate(kind));
    child->parent.store(parent, std::memory_order_relaxed);
    const std::uint64_t shape = (parent->shape_now() & shape_inherited) + shape_level;
    child->shape.store(flags & flag_final ? shape | shape_final : shape, std::memory_order_relaxed);
    child->group = parent->group;
    child->mine = {};
    child->children.reset();
    if (parent->icv == &parent->own) [[unlikely]] { // it may change them, or be gone
        child->own = parent->own;
        child->icv = &child->own;
    } else {
        child->icv = parent->icv;
    }
    return child;
}

// What only a task needs that may be queued.
[[gnu::always_inline]] inline void prepare_to_queue(thread *t, task *made, void *argument) noexcept {
    made->copied = false;
    made->team = t->team;
    made->priority = 0;
    made->argument = argument;
    made->destroy = nullptr;
    static_cast<task **>(argument)[-1] = made;
}

// A child with room for `size` bytes of data right behind it, if so much has room in a block.
constexpr bool has_room_for(std::size_t size) noexcept { return sizeof(task) + size <= block_pool::most_room; }
[[gnu::always_inline]] inline task *make_child_with_data(thread *t, std::size_t size, unsigned flags) noexcept {
    task *child = begin_child(t, block_pool::kind_for(sizeof(task) + size), flags);
    prepare_to_queue(t, child, child + 1);
    return child;
}

// The block of a task that nobody knows any more: what hangs on it, then itself.
void free_task_and_more(thread *t, task *what) noexcept;
[[gnu::always_inline]] inline void free_task(thread *t, task *what) noexcept {
    if (what->table || what->has(extra_far_data)) [[unlikely]]
        return free_task_and_more(t, what);
    t->tasks.memory.free(what);
}

// The body of a task that was not queued has run. If it has unfinished children, they are left behind.
void leave_unqueued(thread *t, task *what) noexcept;
[[gnu::always_inline]] inline void finish_unqueued(thread *t, task *what) noexcept {
    if (!what->children.is_idle(what->mine)) [[unlikely]]
        return leave_unqueued(t, what);
    free_task(t, what);
}

// Runs body() as the current task's child `child`. May switch.
template <class Body> [[gnu::always_inline]] inline void run_child(thread *t, task *child, Body body) noexcept {
    task *parent = t->task;
    child->runner.store(t, std::memory_order_relaxed);
    t->task = child;
    body();
    t->task = parent;
    finish_unqueued(t, child);
}

// Runs function(data) as a child of the current task. May switch.
[[gnu::always_inline]] inline void run_at_once(thread *t, task_function function, void *data, unsigned flags) noexcept {
    run_child(t, begin_child(t, task_kind, flags), [=] { function(data); });
}

} // namespace comity::openmp
