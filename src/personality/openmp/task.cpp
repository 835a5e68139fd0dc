#include "personality/openmp/task.hpp"

#include <cstdlib>
#include <cstring>
#include <new>

#include "core/chaos.hpp"
#include "personality/openmp/region.hpp"
#include "personality/openmp/thread.hpp"
#include "sys/message.hpp"

namespace comity::openmp {

template <list_of Which> void task_list<Which>::add(task *t) noexcept {
    task *before = last_;
    while (before && before->priority < t->priority) before = before->links[Which].previous;
    task *after = before ? before->links[Which].next : first_;
    t->links[Which] = {before, after, true};
    (before ? before->links[Which].next : first_) = t;
    (after ? after->links[Which].previous : last_) = t;
}

template <list_of Which> void task_list<Which>::remove(task *t) noexcept {
    task_link &link = t->links[Which];
    if (!link.linked) return;
    (link.previous ? link.previous->links[Which].next : first_) = link.next;
    (link.next ? link.next->links[Which].previous : last_) = link.previous;
    link = {nullptr, nullptr, false};
}

namespace {

// A team holds at most this many unfinished tasks for each rank; then who makes one runs it at once.
constexpr unsigned tasks_per_rank = 64;

struct locked {
    team *tm;
    explicit locked(team *of) noexcept : tm(of) { tm->tasks_lock.lock(); }
    ~locked() { tm->tasks_lock.unlock(); }
};

void count_up(std::atomic<unsigned> &counter) noexcept { // under tasks_lock
    // Who waits for tasks looks at it without the lock: release[task-ready].
    counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_release);
}
void count_down(std::atomic<unsigned> &counter) noexcept { // under tasks_lock
    counter.store(counter.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
}

// ---- Under tasks_lock ------------------------------------------------------------------------------------------

void make_ready(task *t) noexcept {
    team *tm = t->team;
    tm->ready.add(t);
    count_up(tm->ready_count);
    t->parent->ready_children.add(t);
    count_up(t->parent->ready_children_count);
    if (t->parent->waits) t->parent->changed.wake_all();
    if (t->group) {
        t->group->ready.add(t);
        count_up(t->group->ready_count);
        if (t->group->waits) t->group->changed.wake_all();
    }
    tm->idle.wake_one();
}

void take(task *t) noexcept {
    team *tm = t->team;
    tm->ready.remove(t);
    count_down(tm->ready_count);
    t->parent->ready_children.remove(t);
    count_down(t->parent->ready_children_count);
    if (t->group) {
        t->group->ready.remove(t);
        count_down(t->group->ready_count);
    }
}

void drop_reference(task *t) noexcept {
    if (--t->references || !t->on_heap) return;
    free_dependences(t);
    std::free(t);
}

// One task less that somebody may wait for. Who sees the count at 0 sees the tasks' results, and may free what it is in
// at once, without the lock, unless he `waits`: then he comes for the lock first.
void count_out(std::atomic<unsigned> &unfinished, bool &waits, sync::wait_list &changed) noexcept {
    const unsigned left = unfinished.load(std::memory_order_relaxed) - 1;
    const bool somebody_waits = waits;
    unfinished.store(left, std::memory_order_release); // release[task-done]
    core::chaos_point();
    if (left == 0 && somebody_waits) changed.wake_all();
}

// The task's body has run and its event, if it has one, is fulfilled.
void complete(task *t) noexcept {
    release_dependences(t, make_ready);
    team *tm = t->team;
    task *parent = t->parent;
    const bool parent_is_gone = parent->references == 1; // it ended before its children did
    if (!parent_is_gone) --parent->references;
    count_out(parent->unfinished_children, parent->waits, parent->changed);
    if (parent_is_gone) drop_reference(parent);
    if (taskgroup *group = t->group) count_out(group->unfinished, group->waits, group->changed);
    drop_reference(t);
    // The creators add to this one without the lock: acq_rel[task-done].
    if (tm->unfinished.fetch_sub(1, std::memory_order_acq_rel) == 1 && tm->all_arrived) {
        tm->all_arrived = false;
        open_barrier(tm);
    }
}

// ---- Without it ----------------------------------------------------------------------------------------------

bool is_cancelled(const thread *t, const task *what) noexcept {
    for (const taskgroup *group = what->group; group; group = group->workshare ? group->outer : nullptr)
        if (group->cancelled.load(std::memory_order_relaxed)) return true;
    return t->team->cancelled.load(std::memory_order_relaxed);
}

void run_body(thread *t, task *what) noexcept {
    task *before = t->task;
    t->task = what;
    what->function(what->argument);
    t->task = before;
}

// A deferred task that was taken from the lists.
void execute(thread *t, task *what) noexcept {
    if (what->copied || !is_cancelled(t, what)) // a copy must be destroyed, which its body does
        run_body(t, what);
    {
        locked guard(t->team);
        if (--what->parts) return; // untied: it goes on elsewhere
    }
    if (what->destroy) what->destroy(what->argument);
    locked guard(t->team);
    what->body_done = true;
    if (!what->detached.load(std::memory_order_relaxed)) complete(what);
}

constexpr std::size_t round_up(std::size_t size, std::size_t to) { return (size + to - 1) / to * to; }

// A task with room for its data behind it.
task *allocate(std::size_t size, std::size_t alignment) noexcept {
    alignment = alignment > alignof(task) ? alignment : alignof(task);
    const std::size_t head = round_up(sizeof(task), alignment);
    void *memory = nullptr;
    if (alignment <= 16)
        memory = std::malloc(head + size);
    else if (::posix_memalign(&memory, alignment, head + size))
        memory = nullptr;
    if (!memory) sys::fatal("GOMP_task", "no memory for a task of %zu bytes", head + size);
    task *made = new (memory) task;
    made->argument = static_cast<char *>(memory) + head;
    made->on_heap = true;
    return made;
}

void inherit(const thread *t, task *child, unsigned flags) noexcept {
    task *parent = t->task;
    child->parent = parent;
    child->group = parent->group;
    child->team = t->team;
    child->final = parent->final || (flags & flag_final);
    child->untied = flags & flag_untied;
    if (parent->icv == &parent->own) { // it may change them, or be gone
        child->own = parent->own;
        child->icv = &child->own;
    } else {
        child->icv = parent->icv;
    }
}

void inherit(const thread *t, task *child, const task_request &request) noexcept {
    inherit(t, child, request.flags);
    child->function = request.function;
    if (request.flags & flag_priority) child->priority = limit_priority(request.priority);
}

void copy_data(thread *t, task *child, const task_request &request) noexcept {
    if (request.copy) {
        task *parent = t->task;
        t->task = child; // constructors run as part of the new task
        request.copy(child->argument, request.data);
        child->copied = true;
        t->task = parent;
    } else if (request.size) {
        std::memcpy(child->argument, request.data, request.size);
    }
    if (request.bounds) std::memcpy(child->argument, request.bounds, 2 * sizeof *request.bounds);
}

// The handle goes into the program's variable, and into its copy in the task's data, which stands first there.
void make_event(task *child, const task_request &request) noexcept {
    if (request.flags & flag_detach) {
        *request.event = attach_event(child);
        if (request.data) *static_cast<void **>(request.data) = child;
    }
}

void enqueue(thread *t, task *child, dependence_list depend) noexcept {
    child->deferred = true;
    child->parts = 1;
    team *tm = t->team;
    tm->unfinished.fetch_add(1, std::memory_order_relaxed); // arriving at the barrier publishes it
    if (!tm->makes_tasks.load(std::memory_order_relaxed)) tm->makes_tasks.store(true, std::memory_order_relaxed);
    locked guard(tm);
    count_up(t->task->unfinished_children);
    ++t->task->references;
    if (child->group) count_up(child->group->unfinished);
    add_dependences(t->task, child, depend);
    if (child->predecessors.load(std::memory_order_relaxed) == 0) make_ready(child);
}

void defer(thread *t, const task_request &request) noexcept {
    task *child = allocate(request.size, request.alignment);
    inherit(t, child, request);
    make_event(child, request);
    copy_data(t, child, request);
    enqueue(t, child, request.depend);
}

// if(0), in a final task, or too many: the task is run here and now, on the caller's data.
void run_undeferred(thread *t, const task_request &request) noexcept {
    await_dependences(t, request.depend);
    // Its children may outlive it, where there are others to run them.
    const bool heap = request.copy || t->team->size > 1;
    task on_stack;
    task *child = heap ? allocate(request.copy ? request.size : 0, request.alignment) : &on_stack;
    inherit(t, child, request);
    if (request.copy) {
        copy_data(t, child, request);
    } else {
        child->argument = request.data;
        if (request.bounds) std::memcpy(child->argument, request.bounds, 2 * sizeof *request.bounds);
    }
    run_body(t, child);
    if (child == &on_stack) {
        task *before = t->task;
        t->task = child;
        wait_for_children(t); // such as wait for events
        t->task = before;
        free_dependences(child);
        return;
    }
    locked guard(t->team);
    drop_reference(child);
}

// Is a task that the current one makes to be run at once?
bool runs_now(const thread *t) noexcept {
    const team *tm = t->team;
    const bool many = tm->unfinished.load(std::memory_order_relaxed) > tasks_per_rank * tm->size;
    return t->task->final || tm->size == 1 || many;
}

template <list_of Which> task *take_first(team *tm, task_list<Which> &from) noexcept {
    locked guard(tm);
    task *first = from.first();
    if (first) take(first);
    return first;
}

} // namespace

int limit_priority(int wanted) noexcept {
    return wanted < process.max_task_priority ? wanted : process.max_task_priority;
}

task *allocate_task(thread *t, std::size_t size, std::size_t alignment, unsigned flags) noexcept {
    task *made = allocate(size, alignment);
    inherit(t, made, flags);
    return made;
}

task *task_of(void *argument) noexcept {
    static_assert(sizeof(task) % 16 == 0);
    return reinterpret_cast<task *>(static_cast<char *>(argument) - sizeof(task));
}

task *attach_event(task *what) noexcept {
    what->detached.store(true, std::memory_order_relaxed);
    return what;
}

void submit_task(thread *t, task *what, dependence_list depend) noexcept {
    if (what == t->task) { // the next part of an untied task
        if (what->deferred) {
            locked guard(t->team);
            ++what->parts;
            make_ready(what);
        } else {
            ++what->parts;
        }
        return;
    }
    if (process.cancellation && is_cancelled(t, t->task)) {
        if (what->destroy) what->destroy(what->argument);
        std::free(what);
        return;
    }
    if (what->detached.load(std::memory_order_relaxed) || !runs_now(t)) {
        enqueue(t, what, depend);
        return;
    }
    await_dependences(t, depend);
    begin_undeferred(t, what);
    do {
        what->parts = 0;
        what->function(what->argument);
    } while (what->parts);
    complete_undeferred(t, what);
}

void begin_undeferred(thread *t, task *what) noexcept {
    what->before = t->task;
    t->task = what;
}

void complete_undeferred(thread *t, task *what) noexcept {
    if (what->destroy) what->destroy(what->argument);
    what->changed.wait([=] { return !what->detached.load(std::memory_order_acquire); }); // acquire[event-fulfilled]
    t->task = what->before;
    locked guard(t->team);
    drop_reference(what);
}

void create_task(thread *t, const task_request &request) noexcept {
    if (process.cancellation && is_cancelled(t, t->task)) return;
    const bool detach = request.flags & flag_detach;
    if (detach || !(request.run_now || runs_now(t)))
        defer(t, request);
    else
        run_undeferred(t, request);
    if (detach && (request.run_now || t->task->final)) wait_for_children(t);
}

bool run_a_task(thread *t) noexcept {
    team *tm = t->team;
    if (tm->ready_count.load(std::memory_order_relaxed) == 0) return false;
    task *first = take_first(tm, tm->ready);
    if (first) execute(t, first);
    return first;
}

void wait_for_children(thread *t) noexcept {
    wait_for_children_while(
        t, [](void *) { return true; }, nullptr);
}

void wait_for_children_while(thread *t, bool (*pending)(void *), void *data) noexcept {
    task *mine = t->task;
    team *tm = t->team;
    if (mine->unfinished_children.load(std::memory_order_acquire) == 0) // acquire[task-done]
        return;
    for (;;) {
        tm->tasks_lock.lock();
        mine->waits = false;
        if (mine->unfinished_children.load(std::memory_order_relaxed) == 0 || !pending(data)) {
            tm->tasks_lock.unlock();
            return;
        }
        task *child = mine->ready_children.first();
        if (child)
            take(child);
        else
            mine->waits = true;
        tm->tasks_lock.unlock();
        if (child)
            execute(t, child);
        else
            mine->changed.wait([=] {
                return mine->unfinished_children.load(std::memory_order_acquire) == 0 ||  // acquire[task-done]
                       mine->ready_children_count.load(std::memory_order_acquire) != 0 || // acquire[task-ready]
                       !pending(data);
            });
    }
}

void begin_group(thread *t) noexcept {
    auto *group = static_cast<taskgroup *>(std::malloc(sizeof(taskgroup)));
    if (!group) sys::fatal("GOMP_taskgroup_start", "no memory");
    new (group) taskgroup;
    group->outer = t->task->group;
    if (group->outer) group->reductions = group->outer->reductions; // a task in the inner group may take part in them
    t->task->group = group;
}

void end_group(thread *t) noexcept {
    taskgroup *group = t->task->group;
    if (!group) return; // its begin was in a region of an undeferred task that was cancelled
    team *tm = t->team;
    for (bool done = group->unfinished.load(std::memory_order_acquire) == 0; !done;) { // acquire[task-done]
        tm->tasks_lock.lock();
        group->waits = false;
        done = group->unfinished.load(std::memory_order_relaxed) == 0;
        task *member = group->ready.first();
        if (member)
            take(member);
        else
            group->waits = true;
        tm->tasks_lock.unlock();
        if (member)
            execute(t, member);
        else if (!done)
            group->changed.wait([=] {
                return group->unfinished.load(std::memory_order_acquire) == 0 || // acquire[task-done]
                       group->ready_count.load(std::memory_order_acquire) != 0;  // acquire[task-ready]
            });
    }
    t->task->group = group->outer;
    std::free(group);
}

void finish_tasks(thread *t) noexcept {
    team *tm = t->team;
    while (tm->unfinished.load(std::memory_order_acquire)) { // acquire[task-done]
        if (run_a_task(t)) continue;
        tm->idle.wait([=] {
            return tm->unfinished.load(std::memory_order_acquire) == 0 || // acquire[task-done]
                   tm->ready_count.load(std::memory_order_acquire) != 0;  // acquire[task-ready]
        });
    }
    locked guard(tm); // who finished the last one has let go of the team
}

void fulfill_event(task *t) noexcept {
    team *tm = t->team;
    locked guard(tm);
    t->detached.store(false, std::memory_order_release); // release[event-fulfilled]
    if (!t->deferred) t->changed.wake_all();
    if (!t->body_done) return;
    complete(t);
    if (tm->unfinished.load(std::memory_order_relaxed) == 0) tm->idle.wake_all(); // finish_tasks
}

} // namespace comity::openmp
