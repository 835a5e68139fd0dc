// Tasks, explicit and implicit, and taskgroups: their data, and what the rest of the core and the ABIs do with them.
// Protocols and proofs: README.md, "Tasks".
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "personality/openmp/icv.hpp"
#include "personality/openmp/ompt/hooks.hpp"
#include "personality/openmp/task_count.hpp"

namespace comity::openmp {

struct task;
struct taskgroup;
struct thread;
struct team;
struct dependence_table; // task_depend.cpp
struct dependence_node;

using task_function = void (*)(void *);
using copy_function = void (*)(void *to, void *from);

// A word that says how a task stands to those around it, so that a child's is its parent's and a little more.
enum task_shape : std::uint64_t {
    // In the low half: its depth, which is how many parents it has.
    shape_level = 1 + (std::uint64_t{1} << 32),   // one deeper, one more that runs at once inside another
    shape_nested = std::uint64_t{0xffffff} << 32, // how many tasks around it run at once, each inside the other,
    shape_final = std::uint64_t{1} << 55,         // and in the same field, so that it looks like very many
    // What its end has to look at beside the counts: nothing for most tasks, and never inherited.
    extra_again = std::uint64_t{1} << 56,    // untied: it has submitted itself once more
    extra_event = std::uint64_t{1} << 57,    // its end waits for an event
    extra_destroy = std::uint64_t{1} << 58,  // `destroy` is to be called
    extra_depends = std::uint64_t{1} << 59,  // it is in its parent's table
    extra_far_data = std::uint64_t{1} << 60, // `argument` is an allocation of its own
    shape_inherited = (std::uint64_t{1} << 56) - 1,
};

// Which of the two that make an end have happened.
enum task_event : std::uint8_t { event_fulfilled = 1, event_body_done = 2 };

// The memory of an explicit task is a pool's (task_memory.hpp): thieves may read what is atomic when it is another task
// already.
struct task {
    // With the block's header the first cache line: its runner writes it while others look elsewhere.
    std::atomic<task *> parent{nullptr}; // null: implicit
    std::atomic<std::uint64_t> shape{0}; // task_shape; thieves read the depth, who holds the task writes
    const icvs *icv = nullptr;           // shared, or `own`
    taskgroup *group = nullptr;          // the innermost around it; for its children
    owner_count mine;                    // its runner's
    dependence_table *table = nullptr;   // its children's; the runner's. Null in a free block

    // The second: those who run its children elsewhere write it.
    task_count children; // the queued ones; its owner is the runner
    openmp::team *team = nullptr;
    task_function function = nullptr;
    void *argument = nullptr;
    int priority = 0;
    bool copied = false;                // its data by the compiler's function
    std::atomic<std::uint8_t> event{0}; // task_event
    task *next = nullptr;               // link in a list of tasks; of an undeferred one: what its rank goes on with
    task_function destroy = nullptr;    // called with `argument` when the body has run for good
    dependence_node *node = nullptr;    // its own dependences

    // The third: what stays as it is while it runs.
    std::atomic<openmp::thread *> runner{nullptr}; // who executes it now; written by that rank
    icvs own;
    task *self = nullptr; // the last word: it stands before the data (task_of)

    std::uint64_t shape_now() const noexcept { return shape.load(std::memory_order_relaxed); }
    std::uint32_t depth() const noexcept { return static_cast<std::uint32_t>(shape_now()); }
    bool is_final() const noexcept { return shape_now() & shape_final; }
    bool has(std::uint64_t extras) const noexcept { return shape_now() & extras; }
    void set(std::uint64_t bits) noexcept { shape.store(shape_now() | bits, std::memory_order_relaxed); }
    void clear(std::uint64_t bits) noexcept { shape.store(shape_now() & ~bits, std::memory_order_relaxed); }
    task *parent_task() const noexcept { return parent.load(std::memory_order_relaxed); }
};
static_assert(sizeof(task) % 16 == 0 && offsetof(task, self) + sizeof(task *) == sizeof(task));

// Its members are tasks that were made in it, at whatever depth. Its owner waits for those of its own children that are
// members, each with all its descendants.
struct taskgroup {
    taskgroup *outer = nullptr;
    task *owner = nullptr; // null: of a region; nobody waits for it
    owner_count mine;
    task_count members; // the owner's children in it
    std::atomic<bool> cancelled{false};
    bool workshare = false;               // made by a worksharing construct with task reductions
    std::uintptr_t *reductions = nullptr; // task_reduction.cpp
    void *of_abi = nullptr;               // null at first; for the ABI's own kind of task reductions
};

// The numbers are gcc's; other ABIs translate.
enum task_flag : unsigned {
    flag_untied = 1u << 0,
    flag_final = 1u << 1,
    flag_mergeable = 1u << 2,
    flag_depend = 1u << 3,
    flag_priority = 1u << 4,
    flag_up = 1u << 8,
    flag_grainsize = 1u << 9,
    flag_if = 1u << 10,
    flag_nogroup = 1u << 11,
    flag_reduction = 1u << 12,
    flag_detach = 1u << 13,
    flag_strict = 1u << 14,
};

// One entry of a depend clause, iterators expanded. An object made by depobj stands here as what it holds.
enum class dependence_kind : std::uint8_t { in, out, inout = out, mutexinoutset, inoutset };
struct dependence_request {
    void *location; // null: omp_all_memory
    dependence_kind kind;
};
struct dependence_list {
    const dependence_request *first = nullptr;
    std::size_t count = 0;
};

// What a construct says of the task that it makes, where the compiler lets the runtime copy the task's data.
struct task_request {
    task_function function;
    void *data;
    copy_function copy; // null: copy `size` bytes
    std::size_t size, alignment;
    unsigned flags;
    bool run_now = false; // if(0)
    dependence_list depend = {};
    int priority = 0;                      // with flag_priority
    void **event = nullptr;                // with flag_detach: where the event's handle goes
    const std::uint64_t *bounds = nullptr; // of a taskloop: two words for the beginning of the task's own data
};

// Makes a task: queues it, or runs it at once. May switch.
void create_task(thread *t, const task_request &request) noexcept;

// The same in steps, where the compiler fills the task's memory itself.
// 1. A child of the current task, with `size` bytes at `argument`; of the flags, final counts. The caller
//    sets `function`, perhaps `priority` (limit_priority) and `destroy`. Nobody knows it yet.
task *allocate_task(thread *t, std::size_t size, std::size_t alignment, unsigned flags) noexcept;
// The task whose `argument` this is.
inline task *task_of(void *argument) noexcept { return static_cast<task **>(argument)[-1]; }
// The handle of the task's event: from now on it is not complete before fulfill_event.
task *attach_event(task *what) noexcept;
// 2. Either this: queues it, or runs it at once. By the allocating task. For an untied task that runs also by the
//    task itself: its function will be called once more. `at`: where the program makes it. May switch.
void submit_task(thread *t, task *what, dependence_list depend = {}, ompt::call_site at = {}) noexcept;
// 3. Or, for if(0) and the like, after await_dependences: the caller executes the body in between. May switch.
void begin_undeferred(thread *t, task *what) noexcept;
void complete_undeferred(thread *t, task *what) noexcept;

int limit_priority(int wanted) noexcept;

// Runs or awaits the current task's children. May switch.
void wait_for_children(thread *t) noexcept;
// The same, but only while pending(data) is true too; it may read atomics only. Whoever makes it false wakes
// `tasks.changed` of the rank.
void wait_for_children_while(thread *t, bool (*pending)(void *), void *data) noexcept;
// taskyield: runs another task that may run here, or lets other ranks run. May switch.
void yield_task(thread *t) noexcept;
// Runs one task of the team, if there is one that may run now. Where no task is suspended but in a barrier. May switch.
bool run_a_task(thread *t) noexcept;
// It shall leave other ranks' tasks alone for a while: no looking for any, but pass_a_moment and look for what it waits
// for.
bool pauses(thread *t) noexcept;
void pass_a_moment() noexcept;
// Is there perhaps one? A look at what the team's ranks have queued.
bool sees_tasks(const team *tm) noexcept;
// Returns when all of the team's tasks are done. By rank 0 when the other ranks are gone. May switch.
void finish_tasks(thread *t) noexcept;
// After that: returns when nobody outside the team is about to touch it.
void await_visitors(const team *tm) noexcept;
void fulfill_event(task *what) noexcept; // any thread

// The rank has come to the barrier. True: it counts as arrived. False: it will, when all descendants of its implicit
// task are done; whoever sees that calls count_arrival (region.hpp).
bool arrive_with_tasks(thread *t) noexcept;
// It has passed the barrier.
void leave_barrier_with_tasks(thread *t) noexcept;

void begin_group(thread *t) noexcept;
void end_group(thread *t) noexcept; // runs or awaits the group's tasks; may switch

// task_depend.cpp
// Enters the dependences of `child`, a child of `parent` that nobody else knows yet. True: it may run.
// Before that, as early as may be: fetches what it will look at, which other ranks had last.
void expect_dependences(const task *parent, dependence_list depend) noexcept;
bool add_dependences(thread *t, task *parent, task *child, dependence_list depend) noexcept;
// The task is done: ready(t, x) for each that waited for it alone.
void release_dependences(thread *t, task *done, void (*ready)(thread *, task *)) noexcept;
// Before a tool is told that the task has ended: no later one names it to the tool any more. May switch.
void end_to_tool(task *what) noexcept;
// Its table, which nobody is in any more. `t`: the calling rank; null: none.
void free_dependences(thread *t, task *parent) noexcept;
// Waits for those children of the current task that `depend` names. May switch.
void await_dependences(thread *t, dependence_list depend) noexcept;

// task_reduction.cpp
void register_reductions(thread *t, std::uintptr_t *data) noexcept;
void unregister_reductions(std::uintptr_t *data) noexcept;
void remap_reductions(thread *t, std::size_t count, std::size_t originals, void **pointers) noexcept;
void chain_reductions(std::uintptr_t *data, const std::uintptr_t *outer, std::uintptr_t *first,
                      unsigned ranks) noexcept;

} // namespace comity::openmp
