// Explicit tasks: made, scheduled, depending on each other.
#include <cstdlib>

#include "personality/openmp/ompt/data.hpp"
#include "personality/openmp/region.hpp"
#include "sys/message.hpp"

namespace comity::openmp::ompt {
namespace {

depend_kind kind_of(const dependence_request &r) noexcept {
    switch (r.kind) {
    case dependence_kind::in:
        return depend_kind::in;
    case dependence_kind::mutexinoutset:
        return depend_kind::mutexinoutset;
    case dependence_kind::inoutset:
        return depend_kind::inoutset;
    default:
        return r.location ? depend_kind::inout : depend_kind::inout_all_memory;
    }
}

void tell_dependences(tool_data *data, const dependence_list &depend) noexcept {
    if (!depend.count || !callback_for<event::dependences>()) return;
    auto *list = static_cast<dependence *>(std::malloc(depend.count * sizeof(dependence)));
    if (!list) sys::fatal("OpenMP", "no memory to tell a tool of %zu dependences", depend.count);
    for (std::size_t i = 0; i < depend.count; ++i) {
        list[i].variable.pointer = depend.first[i].location;
        list[i].kind = kind_of(depend.first[i]);
    }
    tell<event::dependences>(data, list, static_cast<int>(depend.count));
    std::free(list);
}

void tell_created(thread *t, tool_data *data, unsigned flags, const dependence_list &depend,
                  const void *caller) noexcept {
    task_info &maker = info_of(t->task);
    tell<event::task_create>(&maker.data, &maker.frame, data, static_cast<int>(flags), int{depend.count != 0}, caller);
    tell_dependences(data, depend);
}

} // namespace

void task_made(task *made, unsigned flags) noexcept {
    task_info &info = info_of(made);
    task *self_word = info.self; // task_of's
    info = {};
    info.self = self_word;
    info.flags = task_explicit | (flags & flag_untied ? +task_untied : 0U) | (made->is_final() ? +task_final : 0U) |
                 (flags & flag_mergeable ? +task_mergeable : 0U);
}

void task_created(thread *t, task *made, bool undeferred, const dependence_list &depend) noexcept {
    task_info &info = info_of(made);
    if (undeferred) info.flags |= task_undeferred;
    tell_created(t, &info.data, info.flags, depend, mine().noted.caller);
}

void task_begins(thread *t, task *what) noexcept {
    native_thread &n = mine();
    task_info &info = info_of(what);
    info.below = t->task;
    info.state_before = n.state;
    n.state = thread_state::undefined;
    tell<event::task_schedule>(&info_of(t->task).data, n.yields ? task_status::yield : task_status::switched,
                               &info.data);
    n.yields = false;
}

void task_ends(thread *t, task *what, task_status how) noexcept {
    (void)t;
    task_info &info = info_of(what);
    info.detached = how == task_status::detach;
    if (how != task_status::switched && how != task_status::detach) end_to_tool(what);
    tell<event::task_schedule>(&info.data, how, &info_of(info.below).data);
    mine().state = info.state_before;
}

void undeferred_begins(thread *t, task *what, call_site at) noexcept {
    task_info &around = info_of(t->task);
    around.frame.enter.pointer = at.frame;
    around.frame.enter_flags = frame_runtime | frame_is_cfa;
    note(at);
    task_created(t, what, true, {});
    task_begins(t, what);
    task_info &info = info_of(what);
    info.frame.exit.pointer = at.frame;
    info.frame.exit_flags = frame_application | frame_is_cfa;
}

void undeferred_ends(thread *t, task *what) noexcept {
    const bool open =
        what->has(extra_event) && !(what->event.load(std::memory_order_acquire) & event_fulfilled); // acquire[event]
    task_info &around = info_of(info_of(what).below);
    task_ends(t, what, open ? task_status::detach : end_of(t, what));
    around.frame.enter.pointer = nullptr;
    around.frame.enter_flags = 0;
}

task_status end_of(const thread *t, const task *what) noexcept {
    (void)what;
    return group_is_cancelled(t) ? task_status::cancel : task_status::complete;
}

void task_discarded(task *what) noexcept {
    end_to_tool(what);
    tell<event::cancel>(&info_of(what).data, cancel_taskgroup | cancel_discarded, nullptr);
}

void task_fulfilled(task *what) noexcept {
    // The body has run, and whoever made the task has gone: acq_rel[event].
    const bool late = what->event.load(std::memory_order_acquire) & event_body_done; // acquire[event]
    if (late) return detached_ends(what);
    tell<event::task_schedule>(&info_of(what).data, task_status::early_fulfill, nullptr);
}

// Its end has not been told if the body's was told as that of a task whose event is open, also where the event was told
// as fulfilled early meanwhile.
void detached_ends(task *what) noexcept {
    task_info &info = info_of(what);
    if (!info.detached) return;
    info.detached = false;
    end_to_tool(what);
    tell<event::task_schedule>(&info.data, task_status::late_fulfill, nullptr);
}

void task_waits_for(task *earlier, task *later) noexcept {
    if (tool_data *data = later ? &info_of(later).data : mine().waits)
        tell<event::task_dependence>(&info_of(earlier).data, data);
}

void yields(bool begin) noexcept { mine().yields = begin; }

void dependent_wait(thread *t, const dependence_list &depend, call_site at) noexcept {
    const inside in(at);
    tool_data data{};
    tell_created(t, &data, task_taskwait | task_undeferred | task_mergeable, depend, at.caller);
    native_thread &n = mine();
    tool_data *before = n.waits;
    n.waits = &data;
    const thread_state state_before = n.state;
    n.state = thread_state::wait_taskwait;
    await_dependences(t, depend);
    n.state = state_before;
    n.waits = before;
    tell<event::task_schedule>(&data, task_status::taskwait_complete, nullptr);
}

} // namespace comity::openmp::ompt
