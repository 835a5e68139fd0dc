// Tasks, explicit and implicit, and taskgroups: their data, and what the rest of the core does with them.
// Lists and counts are guarded by the team's tasks_lock; what is atomic may be read without it.
// Protocol and proof: README.md, "Tasks".
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "personality/openmp/icv.hpp"
#include "sync/wait_list.hpp"

namespace comity::openmp {

struct task;
struct taskgroup;
struct thread;
struct team;
struct dependence_table; // task_depend.cpp
struct dependence;

using task_function = void (*)(void *);
using copy_function = void (*)(void *to, void *from);

// The lists that a task which may run is in, all three at once.
enum list_of : unsigned { list_of_team, list_of_parent, list_of_group, list_kinds };

struct task_link {
    task *previous, *next;
    bool linked;
};

// Tasks in the order in which they shall run: highest priority first; of the same priority oldest first.
template <list_of Which> class task_list {
public:
    bool empty() const noexcept { return !first_; }
    task *first() const noexcept { return first_; }
    void add(task *t) noexcept;
    void remove(task *t) noexcept; // nothing if it is not in the list

private:
    task *first_ = nullptr, *last_ = nullptr;
};

struct task {
    task *parent = nullptr;
    const icvs *icv = nullptr; // shared, or `own`
    taskgroup *group = nullptr;
    task_function function = nullptr;
    void *argument = nullptr;
    task_function destroy = nullptr; // called with `argument` when the body has run for good
    int priority = 0;
    bool final = false;
    bool untied = false;
    bool deferred = false;             // counted by its parent, its group and its team
    bool on_heap = false;              // freed when the last of it and its children is done
    bool waits = false;                // it waits on `changed`; under tasks_lock
    bool copied = false;               // its data by the compiler's function
    std::atomic<bool> detached{false}; // its event has not been fulfilled; down under tasks_lock
    bool body_done = false;            // only the event is missing
    unsigned parts = 0;                // of an untied task: how often its function is still to return; under tasks_lock
    openmp::task *before = nullptr;    // of an undeferred task: what its rank goes on with
    icvs own;

    task_link links[list_kinds] = {};
    task_list<list_of_parent> ready_children;
    std::atomic<unsigned> ready_children_count{0};
    std::atomic<unsigned> unfinished_children{0}; // deferred ones; up by the task itself, down under tasks_lock
    unsigned references = 1;                      // itself and each deferred child; under tasks_lock
    sync::wait_list changed;

    openmp::team *team = nullptr;      // of a deferred task, for omp_fulfill_event
    dependence_table *table = nullptr; // what its children depend on
    dependence *depends = nullptr;     // its own dependences, as its parent's table knows them
    unsigned depend_count = 0;
    std::atomic<unsigned> predecessors{0}; // unfinished tasks that it depends on; down under tasks_lock
    task **successors = nullptr;
    unsigned successor_count = 0, successor_capacity = 0;
};

struct taskgroup {
    taskgroup *outer = nullptr;
    task_list<list_of_group> ready;
    std::atomic<unsigned> ready_count{0};
    std::atomic<unsigned> unfinished{0}; // as unfinished_children
    std::atomic<bool> cancelled{false};
    bool waits = false;                   // under tasks_lock
    bool workshare = false;               // made by a worksharing construct with task reductions
    std::uintptr_t *reductions = nullptr; // task_reduction.cpp
    void *of_abi = nullptr;               // null at first; for the ABI's own kind of task reductions
    sync::wait_list changed;
};

// The numbers are the compilers'.
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
// 1. A child of the current task, with `size` bytes at `argument`; of the flags, final and untied count. The caller
// sets
//    `function`, with `argument` for its argument, perhaps `priority` (limit_priority) and `destroy`. Nobody knows it
//    yet.
task *allocate_task(thread *t, std::size_t size, std::size_t alignment, unsigned flags) noexcept;
// The task whose `argument` this is, allocated with an alignment of at most 16.
task *task_of(void *argument) noexcept;
// The handle of the task's event: from now on it is not complete before fulfill_event.
task *attach_event(task *what) noexcept;
// 2. Either this: queues it, or runs it at once. By the allocating task. For an untied task that runs also by the
//    task itself: its function will be called once more. May switch.
void submit_task(thread *t, task *what, dependence_list depend = {}) noexcept;
// 3. Or, for if(0) and the like, after await_dependences: the caller executes the body in between. May switch.
void begin_undeferred(thread *t, task *what) noexcept;
void complete_undeferred(thread *t, task *what) noexcept;

int limit_priority(int wanted) noexcept;
// Runs or awaits the current task's children. May switch.
void wait_for_children(thread *t) noexcept;
// The same, but only while pending(data) is true too; it may read atomics only. Whoever makes it false wakes `changed`
// of the task under tasks_lock if the task `waits`.
void wait_for_children_while(thread *t, bool (*pending)(void *), void *data) noexcept;
// Runs one task that may run now, if there is one. May switch.
bool run_a_task(thread *t) noexcept;
// Returns when all of the team's tasks are done. By rank 0 when the other ranks are gone. May switch.
void finish_tasks(thread *t) noexcept;
void fulfill_event(task *t) noexcept; // any thread

void begin_group(thread *t) noexcept;
void end_group(thread *t) noexcept; // runs or awaits the group's tasks; may switch

// task_depend.cpp; all under the team's tasks_lock but await_dependences.
// Enters the dependences of `child`, a child of `parent`; afterwards child->predecessors says how many tasks it waits
// for.
void add_dependences(task *parent, task *child, dependence_list depend) noexcept;
// The task is done: `ready` gets each task that waited for it alone.
void release_dependences(task *done, void (*ready)(task *)) noexcept;
void free_dependences(task *t) noexcept;
// Waits for those children of the current task that `depend` names. May switch.
void await_dependences(thread *t, dependence_list depend) noexcept;

// task_reduction.cpp
void register_reductions(thread *t, std::uintptr_t *data) noexcept;
void unregister_reductions(std::uintptr_t *data) noexcept;
void remap_reductions(thread *t, std::size_t count, std::size_t originals, void **pointers) noexcept;
void chain_reductions(std::uintptr_t *data, const std::uintptr_t *outer, std::uintptr_t *first,
                      unsigned ranks) noexcept;

} // namespace comity::openmp
