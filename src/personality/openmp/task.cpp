// Tasks: making them, running them, and what their end means for those around them.
#include "personality/openmp/task.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>
#include <optional>

#include "core/chaos.hpp"
#include "personality/openmp/region.hpp"
#include "personality/openmp/task_fast.hpp"
#include "personality/openmp/task_run.hpp"
#include "personality/openmp/thread.hpp"
#include "sys/message.hpp"

namespace comity::openmp {
namespace {

bool is_cancelled(const thread *t, const taskgroup *group) noexcept {
    for (; group; group = group->workshare ? group->outer : nullptr)
        if (group->cancelled.load(std::memory_order_relaxed)) return true;
    return t->team->cancelled.load(std::memory_order_relaxed);
}

// ---- Memory

// Data that is too large for a pool, or aligned to more; before it two words: where the memory begins, which
// free_task_and_more reads, and the task.
void *allocate_far(std::size_t size, std::size_t alignment) noexcept {
    alignment = std::max(alignment, std::size_t{16});
    void *memory = nullptr;
    if (::posix_memalign(&memory, alignment, alignment + size))
        sys::fatal("OpenMP", "no memory for a task of %zu bytes", size);
    void **data = reinterpret_cast<void **>(static_cast<char *>(memory) + alignment);
    data[-2] = memory;
    return data;
}

// The same for a tool, which has `room` behind the task.
[[gnu::noinline]] task *make_child_for_tool(thread *t, std::size_t size, std::size_t alignment, unsigned flags,
                                            std::size_t room) noexcept {
    const bool far = sizeof(task) + room + size > block_pool::most_room || alignment > 16;
    task *child = begin_child(t, block_pool::kind_for(sizeof(task) + room + (far ? 0 : size)), flags);
    prepare_to_queue(t, child, far ? allocate_far(size, alignment) : reinterpret_cast<char *>(child + 1) + room);
    if (far) child->set(extra_far_data);
    ompt::task_made(child, flags);
    return child;
}

task *make_child(thread *t, std::size_t size, std::size_t alignment, unsigned flags) noexcept {
    if (const std::size_t room = ompt::task_room) [[unlikely]]
        return make_child_for_tool(t, size, alignment, flags, room);
    if (has_room_for(size) && alignment <= 16) [[likely]]
        return make_child_with_data(t, size, flags);
    task *child = begin_child(t, task_kind, flags);
    prepare_to_queue(t, child, allocate_far(size, alignment));
    child->set(extra_far_data);
    return child;
}

// ---- Its end

bool counts_in_group(const task *what) noexcept { return what->group && what->group->owner == what->parent_task(); }

void wake(const task *owner) noexcept {
    // It still waits, or it has gone on already; then this is some rank of the team, for which a call too many is
    // nothing.
    if (thread *runner = owner->runner.load(std::memory_order_relaxed)) runner->tasks.changed.wake_all();
}

void finish_in_group(thread *t, const task *what) noexcept {
    task *owner = what->parent_task();
    task_count &members = what->group->members;
    if (owner->runner.load(std::memory_order_relaxed) == t)
        ++what->group->mine.here;
    else if (members.finish_elsewhere(false) == task_count::effect::wakes_owner)
        wake(owner);
}

const thread *rank_of(const task *implicit) noexcept {
    return reinterpret_cast<const thread *>(reinterpret_cast<const char *>(implicit) - offsetof(thread, implicit));
}

// The task and all its descendants are done; its parent keeps it, or it is implicit. Goes on with those for whom this
// was the last.
void release(thread *t, task *what) noexcept {
    for (;;) {
        task *parent = what->parent_task();
        if (!parent) {
            (void)count_arrival(rank_of(what));
            return;
        }
        if (counts_in_group(what)) finish_in_group(t, what);
        free_task(t, what);
        if (!parent->children.drop_kept()) return;
        what = parent;
    }
}

// Who executes it goes, but it has unfinished children. Its parent keeps it.
void leave_children_behind(thread *t, task *what) noexcept {
    what->runner.store(nullptr, std::memory_order_relaxed);
    if (what->children.leave(what->mine)) release(t, what);
}

// The usual cases are in complete.
[[gnu::noinline]] void complete_for_others(thread *t, task *what, bool idle) noexcept {
    task *parent = what->parent_task();
    if (idle && counts_in_group(what)) finish_in_group(t, what);
    const task_count::effect effect = parent->children.finish_elsewhere(!idle);
    if (effect == task_count::effect::wakes_owner) wake(parent);
    if (idle)
        free_task(t, what);
    else
        leave_children_behind(t, what);
    if (effect == task_count::effect::was_last) release(t, parent);
}

void run_function(thread *t, task *what) noexcept {
    task *before = t->task;
    what->runner.store(t, std::memory_order_relaxed);
    t->task = what;
    what->function(what->argument);
    t->task = before;
}

// The same for a tool; `how` its body ended.
void tell_end(thread *t, task *what) noexcept {
    if (what->has(extra_again)) ompt::task_ends(t, what, ompt::task_status::switched);
    // After the tool was told that the event was fulfilled: acquire[event].
    else if (what->has(extra_event) && !(what->event.load(std::memory_order_acquire) & event_fulfilled))
        ompt::task_ends(t, what, ompt::task_status::detach);
    else
        ompt::task_ends(t, what, ompt::end_of(t, what));
}

void run_watched(thread *t, task *what) noexcept {
    task *before = t->task;
    what->runner.store(t, std::memory_order_relaxed);
    ompt::task_begins(t, what);
    t->task = what;
    ompt::call(t, what->function, what->argument);
    tell_end(t, what);
    t->task = before;
}

// With cancellation, or a tool.
[[gnu::noinline]] void run_carefully(thread *t, task *what) noexcept {
    // A copy must be destroyed, which its body does.
    if (process.cancellation && !what->copied && is_cancelled(t, what->group)) {
        if (ompt::on()) ompt::task_discarded(what);
        what->clear(extra_again);
    } else if (ompt::on()) {
        run_watched(t, what);
    } else {
        run_function(t, what);
    }
}

// The body of a task with an event has run. True: its end is here.
bool body_is_done(task *what) noexcept {
    what->runner.store(nullptr, std::memory_order_relaxed);
    // What the body did is seen by who completes it: acq_rel[event].
    const bool ends = what->event.fetch_or(event_body_done, std::memory_order_acq_rel) & event_fulfilled;
    if (ends && ompt::on()) ompt::detached_ends(what);
    return ends;
}

// True: its end is here.
[[gnu::noinline]] bool end_with_extras(thread *t, task *what) noexcept {
    if (what->has(extra_again)) {
        what->clear(extra_again);
        what->runner.store(nullptr, std::memory_order_relaxed);
        make_ready(t, what);
        return false;
    }
    if (what->has(extra_destroy)) what->destroy(what->argument);
    return !what->has(extra_event) || body_is_done(what);
}

// ---- Making them

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

// The current task's child will end later: its parent counts it, and its group.
void count_child(thread *t, const task *child) noexcept {
    task *parent = t->task;
    parent->children.rebase_sometimes(parent->mine);
    ++parent->mine.made;
    if (counts_in_group(child)) ++child->group->mine.made;
    if (!t->made_tasks) {
        t->made_tasks = true;
        if (!t->team->makes_tasks.load(std::memory_order_relaxed))
            t->team->makes_tasks.store(true, std::memory_order_relaxed);
    }
}

void enqueue(thread *t, task *child, dependence_list depend) noexcept {
    task *parent = t->task;
    t->tasks.memory.prepare_next_like(child);
    child->clear(shape_nested & ~shape_final); // it begins on another's stack
    count_child(t, child);
    if (depend.count) [[unlikely]] {
        if (!add_dependences(t, parent, child, depend)) return;
        if (runs_now(t, parent)) {
            child->set(parent->shape_now() & shape_nested);
            return run_task(t, child);
        }
    }
    make_ready(t, child);
}

// Its maker shall not stand still for what it depends on.
bool waits_by_itself(const thread *t, dependence_list depend) noexcept {
    return depend.count && !t->task->is_final() && t->team->parent;
}

[[gnu::noinline]] void defer(thread *t, const task_request &request) noexcept {
    if (request.depend.count) expect_dependences(t->task, request.depend);
    task *child = make_child(t, request.size, request.alignment, request.flags);
    child->function = request.function;
    if (request.flags & flag_priority) child->priority = limit_priority(request.priority);
    // The handle goes into the program's variable, and into its copy in the task's data, which stands first there.
    if (request.flags & flag_detach) {
        *request.event = attach_event(child);
        if (request.data) *static_cast<void **>(request.data) = child;
    }
    copy_data(t, child, request);
    if (process.careful && ompt::on()) ompt::task_created(t, child, false, request.depend);
    enqueue(t, child, request.depend);
}

// Of a task that does not wait for a rank: as the specification has it, not as we choose.
bool is_undeferred(const thread *t, bool run_now) noexcept { return run_now || t->task->is_final() || t->size == 1; }

// Runs `function` as a child that has its data, if it needs any.
void run_made(thread *t, task *child, const task_request &request, void *data) noexcept {
    const bool watched = process.careful && ompt::on();
    if (watched) ompt::task_created(t, child, is_undeferred(t, request.run_now), request.depend);
    if (request.depend.count) await_dependences(t, request.depend);
    if (watched) ompt::task_begins(t, child);
    begin_undeferred(t, child);
    if (watched) {
        ompt::call(t, request.function, data);
        ompt::task_ends(t, child, ompt::end_of(t, child));
    } else {
        request.function(data);
    }
    complete_undeferred(t, child);
}

// On the caller's data, if it need not be copied.
[[gnu::noinline]] void run_at_once(thread *t, const task_request &request) noexcept {
    if (request.copy) {
        if (request.depend.count) await_dependences(t, request.depend); // what is copied may be their result
        task *child = make_child(t, request.size, request.alignment, request.flags);
        copy_data(t, child, request);
        return run_made(t, child, request, child->argument);
    }
    if (request.bounds) std::memcpy(request.data, request.bounds, 2 * sizeof *request.bounds);
    if (process.careful && ompt::on()) {
        run_made(t, make_child(t, 0, 1, request.flags), request, request.data);
    } else {
        if (request.depend.count) await_dependences(t, request.depend);
        run_at_once(t, request.function, request.data, request.flags);
    }
}

} // namespace

bool runs_now_slowly(thread *t, const task *parent) noexcept {
    if (parent->is_final()) return true;
    const bool nested = (parent->shape_now() & shape_nested) >= most_nested << 32;
    // Outside all regions there is no barrier that would run what is queued.
    if (t->size == 1) return !nested || !t->team->parent;
    const std::int64_t queued = t->tasks.ready.look();
    if (queued < few_queued) t->at_once_depth = never_at_once;
    return (parent->depth() >= t->at_once_depth && !nested) ||
           queued >= std::min<std::int64_t>(queued_per_rank * t->size, 256);
}

void free_task_and_more(thread *t, task *what) noexcept {
    if (what->table) free_dependences(t, what);
    if (what->has(extra_far_data)) std::free(static_cast<void **>(what->argument)[-2]);
    t->tasks.memory.free(what);
}

void leave_unqueued(thread *t, task *what) noexcept {
    what->parent_task()->children.keep();
    if (counts_in_group(what)) ++what->group->mine.made;
    leave_children_behind(t, what);
}

void complete(thread *t, task *what, void (*ready)(thread *, task *)) noexcept {
    if (what->has(extra_depends)) [[unlikely]]
        release_dependences(t, what, ready);
    const bool idle = what->children.is_idle(what->mine);
    task *parent = what->parent_task();
    if (!idle || parent->runner.load(std::memory_order_relaxed) != t) return complete_for_others(t, what, idle);
    if (counts_in_group(what)) ++what->group->mine.here;
    ++parent->mine.here;
    free_task(t, what);
}

void run_task(thread *t, task *what) noexcept {
    if (!process.careful) [[likely]]
        run_function(t, what);
    else
        run_carefully(t, what);
    if (what->has(extra_again | extra_event | extra_destroy)) [[unlikely]]
        if (!end_with_extras(t, what)) return;
    complete(t, what);
}

void make_ready(thread *t, task *what) noexcept {
    if (what->priority > 0) [[unlikely]]
        return make_ready_for_others(t, what);
    if (!push_own(t, what)) [[unlikely]] // no memory for a longer deque
        return run_task(t, what);
    if (t->team->size > 1) call_for_help(t->team, what);
}

int limit_priority(int wanted) noexcept {
    return wanted < process.max_task_priority ? wanted : process.max_task_priority;
}

// A task with an event stands in a queue, since it may end later than its body; outside all regions no barrier comes
// that would run it.
static void run_queued_outside_regions(thread *t) noexcept {
    if (t->size != 1 || t->team->parent) return;
    while (task *what = find_task(t, t->task)) run_task(t, what);
}

void create_task(thread *t, const task_request &request) noexcept {
    if (process.cancellation && is_cancelled(t, t->task->group)) return;
    const bool detach = request.flags & flag_detach;
    if (!detach && (request.run_now || (runs_now(t, t->task) && !waits_by_itself(t, request.depend))))
        return run_at_once(t, request);
    const bool is_awaited = detach && (request.run_now || t->task->is_final());
    if (is_awaited) { // it alone: its siblings may wait for what this one's maker does next
        begin_group(t);
        t->task->group->workshare = true; // not the program's
    }
    defer(t, request);
    if (is_awaited) return end_group(t);
    if (detach) run_queued_outside_regions(t);
}

task *allocate_task(thread *t, std::size_t size, std::size_t alignment, unsigned flags) noexcept {
    return make_child(t, size, alignment, flags);
}

task *attach_event(task *what) noexcept {
    what->set(extra_event);
    what->event.store(0, std::memory_order_relaxed);
    return what;
}

// Of LLVM's: it was made, in its group, before it was known that it has one.
static void end_queued_with_event(thread *t) noexcept {
    if (t->task->is_final()) return wait_for_children(t);
    run_queued_outside_regions(t);
}

[[gnu::noinline]] static void submit_carefully(thread *t, task *what, dependence_list depend,
                                               ompt::call_site at) noexcept;

void submit_task(thread *t, task *what, dependence_list depend, ompt::call_site at) noexcept {
    if (what == t->task) { // the next part of an untied task; it is queued when this one has returned
        what->set(extra_again);
        return;
    }
    if (what->destroy) what->set(extra_destroy);
    if (process.careful) [[unlikely]]
        return submit_carefully(t, what, depend, at);
    const bool event = what->has(extra_event);
    if (event || waits_by_itself(t, depend) || !runs_now(t, t->task)) {
        enqueue(t, what, depend);
        if (event) end_queued_with_event(t);
        return;
    }
    if (depend.count) await_dependences(t, depend);
    begin_undeferred(t, what);
    do {
        what->clear(extra_again);
        what->function(what->argument);
    } while (what->has(extra_again));
    complete_undeferred(t, what);
}

[[gnu::noinline]] static void submit_carefully(thread *t, task *what, dependence_list depend,
                                               ompt::call_site at) noexcept {
    if (process.cancellation && is_cancelled(t, what->group)) {
        if (what->destroy) what->destroy(what->argument);
        return free_task(t, what);
    }
    const bool event = what->has(extra_event), watched = ompt::on();
    std::optional<ompt::inside> in;
    if (watched) in.emplace(at);
    const bool queued = event || waits_by_itself(t, depend) || !runs_now(t, t->task);
    if (watched) ompt::task_created(t, what, !queued && is_undeferred(t, false), depend);
    if (queued) {
        enqueue(t, what, depend);
        if (event) end_queued_with_event(t);
        return;
    }
    await_dependences(t, depend);
    if (watched) ompt::task_begins(t, what);
    begin_undeferred(t, what);
    do {
        what->clear(extra_again);
        if (watched)
            ompt::call(t, what->function, what->argument);
        else
            what->function(what->argument);
    } while (what->has(extra_again));
    if (watched) ompt::task_ends(t, what, ompt::end_of(t, what));
    complete_undeferred(t, what);
}

void begin_undeferred(thread *t, task *what) noexcept {
    what->next = t->task;
    what->runner.store(t, std::memory_order_relaxed);
    t->task = what;
}

void complete_undeferred(thread *t, task *what) noexcept {
    if (what->destroy) what->destroy(what->argument);
    t->task = what->next;
    if (what->has(extra_event)) [[unlikely]] { // its maker goes on, and it ends with its event like a queued one
        count_child(t, what);
        if (!body_is_done(what)) return;
        return complete(t, what);
    }
    finish_unqueued(t, what);
}

} // namespace comity::openmp
