// Parallel regions, implicit tasks, worksharing, and waiting in them.
#include "personality/openmp/check.hpp"
#include "personality/openmp/ompt/data.hpp"
#include "personality/openmp/work_share.hpp"

namespace comity::openmp::ompt {
namespace {

tool_data *current_data() noexcept { return &info_of(self->task).data; }
tool_data *region_data() noexcept { return &region_data_of(self->team); }

thread_state waiting_in(sync_kind kind) noexcept {
    switch (kind) {
    case sync_kind::barrier_explicit:
        return thread_state::wait_barrier_explicit;
    case sync_kind::barrier_parallel:
        return thread_state::wait_barrier_parallel;
    case sync_kind::barrier_workshare:
        return thread_state::wait_barrier_workshare;
    case sync_kind::barrier_teams:
        return thread_state::wait_barrier_teams;
    case sync_kind::taskwait:
        return thread_state::wait_taskwait;
    case sync_kind::taskgroup:
        return thread_state::wait_taskgroup;
    default:
        return thread_state::wait_barrier_implementation;
    }
}

// The region is over when the barrier at its end is: it has no data there.
tool_data *region_data_at(sync_kind kind, endpoint which) noexcept {
    const bool at_its_end = kind == sync_kind::barrier_parallel || kind == sync_kind::barrier_teams;
    return at_its_end && which == endpoint::end ? nullptr : region_data();
}

// Barriers of the program's and of its constructs.
bool is_barrier(sync_kind kind) noexcept {
    return kind == sync_kind::barrier_explicit || kind == sync_kind::barrier_workshare ||
           kind == sync_kind::barrier_implementation;
}

// What the check knows of a kind of work; false: nothing.
bool to_construct(work_kind kind, check::construct &found) noexcept {
    switch (kind) {
    case work_kind::loop:
        found = check::construct::loop;
        return true;
    case work_kind::sections:
        found = check::construct::sections;
        return true;
    case work_kind::single_executor:
    case work_kind::single_other:
        found = check::construct::single;
        return true;
    default:
        return false;
    }
}

void check_work(work_kind kind, endpoint which, const void *caller) noexcept {
    check::construct what{};
    if (!to_construct(kind, what)) return;
    if (which == endpoint::end) return check::left(what);
    check::may_enter(what, nullptr, caller);
    check::entered(what, nullptr, caller);
}

void tell_work(work_kind kind, endpoint which, std::uint64_t count, const void *caller) noexcept {
    tell<event::work>(kind, which, region_data(), current_data(), count, caller);
}

void begin_region(thread *parent, team *tm, unsigned requested, unsigned flags, call_site at) noexcept {
    if (check::on) check::region_begins(tm);
    task_info &around = info_of(parent->task);
    team_info &region = info_of(tm);
    region = {{}, at.caller, flags | parallel_team, false, nullptr, nullptr};
    enter_runtime(around, at.frame);
    tell<event::parallel_begin>(&around.data, &around.frame, &region.data, requested, static_cast<int>(region.flags),
                                at.caller);
}

void end_region(thread *parent, team *tm) noexcept {
    task_info &around = info_of(parent->task);
    team_info &region = info_of(tm);
    tell<event::parallel_end>(&region.data, &around.data, static_cast<int>(region.flags), region.caller);
    enter_runtime(around, nullptr);
}

} // namespace

inside::inside(call_site at) noexcept : task_(current()->task), before_(info_of(task_).frame.enter.pointer) {
    enter_runtime(info_of(task_), at.frame);
    note(at);
}

inside::~inside() { enter_runtime(info_of(task_), before_); }

void region_begins(thread *parent, team *tm, unsigned requested, bool sections, call_site at) noexcept {
    begin_region(parent, tm, requested, invoked_by_runtime, at);
    info_of(tm).sections = sections;
}

void region_ends(thread *parent, team *tm) noexcept {
    implicit_task_ends(tm->threads[0]);
    self = parent;
    end_region(parent, tm);
}

void implicit_task_begins(thread *t) noexcept {
    native_thread &n = mine();
    task_info &info = info_of(&t->implicit);
    info = {};
    info.flags = task_implicit | (t->size == 1 ? +task_undeferred : 0U);
    info.state_before = n.state;
    n.state = thread_state::undefined;
    tell<event::implicit_task>(endpoint::begin, &info_of(t->team).data, &info.data, t->size, t->rank,
                               int{task_implicit});
    const team_info &region = info_of(t->team);
    if (t->team->first_share)
        tell_work(region.sections ? work_kind::sections : work_kind::loop, endpoint::begin,
                  t->team->first_share->loop.count, region.caller);
}

[[gnu::noinline]] void call(thread *t, void (*function)(void *), void *data) noexcept {
    task_info &info = info_of(t->task);
    info.frame.exit.pointer = __builtin_frame_address(0);
    info.frame.exit_flags = frame_runtime | frame_is_pointer;
    function(data);
    info.frame.exit.pointer = nullptr;
    info.frame.exit_flags = 0;
}

// Only rank 0 comes from somewhere in the program, and goes back there.
void implicit_task_waits(thread *t) noexcept {
    if (check::on) check::rank_ends(t);
    if (t->size == 1) return;
    const void *caller = t->rank == 0 ? info_of(t->team).caller : nullptr;
    sync_region(sync_kind::barrier_parallel, endpoint::begin, caller);
    sync_wait(sync_kind::barrier_parallel, endpoint::begin, caller);
}

void implicit_task_ends(thread *t) noexcept {
    task_info &info = info_of(&t->implicit);
    if (t->size > 1) {
        const void *caller = t->rank == 0 ? info_of(t->team).caller : nullptr;
        sync_wait(sync_kind::barrier_parallel, endpoint::end, caller);
        sync_region(sync_kind::barrier_parallel, endpoint::end, caller);
    }
    tell<event::implicit_task>(endpoint::end, nullptr, &info.data, t->size, t->rank, int{task_implicit});
    mine().state = info.state_before;
}

void serial_region_begins(thread *t, call_site at) noexcept {
    thread *parent = t->team->parent;
    self = parent;
    begin_region(parent, t->team, 1, invoked_by_program, at);
    self = t;
    implicit_task_begins(t);
    task_info &info = info_of(&t->implicit);
    info.frame.exit.pointer = at.frame;
    info.frame.exit_flags = frame_application | frame_is_cfa;
}

void serial_region_ends(thread *t) noexcept {
    thread *parent = t->team->parent;
    self = t;
    info_of(&t->implicit).frame = {};
    implicit_task_ends(t);
    self = parent;
    end_region(parent, t->team);
}

void sync_region(sync_kind kind, endpoint which, const void *caller) noexcept {
    if (check::on && which == endpoint::begin && is_barrier(kind)) check::at_barrier(caller);
    tell<event::sync_region>(kind, which, region_data_at(kind, which), current_data(), caller);
}

void sync_wait(sync_kind kind, endpoint which, const void *caller) noexcept {
    if (which == endpoint::end) mine().state = thread_state::undefined;
    tell<event::sync_region_wait>(kind, which, region_data_at(kind, which), current_data(), caller);
    if (which == endpoint::begin) mine().state = waiting_in(kind);
}

void reduction(endpoint which, call_site at) noexcept {
    mine().state = which == endpoint::begin ? thread_state::reduction : thread_state::undefined;
    tell<event::reduction>(sync_kind::reduction, which, region_data(), current_data(), at.caller);
}

void flush(call_site at) noexcept { tell<event::flush>(&mine().data, at.caller); }

void work(work_kind kind, endpoint which, std::uint64_t count, call_site at) noexcept {
    if (check::on) check_work(kind, which, at.caller);
    tell_work(kind, which, count, at.caller);
}

void single(bool executes, call_site at) noexcept {
    if (executes) return work(work_kind::single_executor, endpoint::begin, 1, at);
    work(work_kind::single_other, endpoint::begin, 1, at);
    work(work_kind::single_other, endpoint::end, 1, at);
}

void masked(endpoint which, call_site at) noexcept {
    constexpr auto kind = check::construct::masked;
    if (check::on && which == endpoint::begin) {
        check::may_enter(kind, nullptr, at.caller);
        check::entered(kind, nullptr, at.caller);
    } else if (check::on) {
        check::left(kind);
    }
    tell<event::masked>(which, region_data(), current_data(), at.caller);
}

void chunk(dispatch_kind kind, std::uint64_t start, std::uint64_t iterations) noexcept {
    if (check::on && kind != dispatch_kind::taskloop_chunk)
        check::has_chunk(kind == dispatch_kind::section, info_of(self->team).caller);
    dispatch_chunk c{start, iterations};
    tool_data instance;
    if (kind == dispatch_kind::section)
        instance.pointer = nullptr; // where the section's code is, only the compiler knows
    else
        instance.pointer = &c;
    tell<event::dispatch>(region_data(), current_data(), kind, instance);
}

void cancelled(int flags, call_site at) noexcept {
    if (check::on && flags & (cancel_parallel | cancel_loop | cancel_sections))
        check::left_by_cancel(flags & cancel_parallel);
    tell<event::cancel>(current_data(), flags, at.caller);
}

void iteration(depend_kind kind, unsigned dimensions, const std::int64_t *values) noexcept {
    constexpr unsigned most = 32;
    dependence list[most];
    const unsigned count = dimensions < most ? dimensions : most;
    for (unsigned i = 0; i < count; ++i) {
        list[i].variable.value = static_cast<std::uint64_t>(values[i]);
        list[i].kind = kind;
    }
    tell<event::dependences>(current_data(), list, static_cast<int>(count));
}

void error(bool fatal, const char *text, std::size_t length, call_site at) noexcept {
    tell<event::error>(fatal ? 2 : 1, text, length, at.caller);
}

int control(int command, int modifier, void *argument, call_site at) noexcept {
    constexpr int no_tool = -2, no_callback = -1;
    if (!on() || !has_tool()) return no_tool;
    using returning = int (*)(std::uint64_t, std::uint64_t, void *, const void *);
    const auto function = reinterpret_cast<returning>(
        callbacks[static_cast<int>(event::control_tool)].load(std::memory_order_acquire)); // acquire[ompt-callback]
    if (!function) return no_callback;
    const inside in(at);
    return function(static_cast<std::uint64_t>(command), static_cast<std::uint64_t>(modifier), argument, at.caller);
}

} // namespace comity::openmp::ompt
