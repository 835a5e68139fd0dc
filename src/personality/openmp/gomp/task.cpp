// task, taskloop, taskwait, taskgroup, taskyield and task reductions.
#include <cstring>
#include <optional>

#include "personality/openmp/gomp/abi.hpp"
#include "personality/openmp/gomp/depend.hpp"
#include "personality/openmp/ompt/hooks.hpp"
#include "personality/openmp/task.hpp"
#include "personality/openmp/task_fast.hpp"
#include "personality/openmp/task_loop.hpp"
#include "personality/openmp/thread.hpp"
#include "personality/openmp/work_share.hpp"

using namespace comity::openmp;
using ull = unsigned long long;

namespace {

// The same arguments as GOMP_task's, so that calling it costs a jump.
[[gnu::noinline]] void make_task(task_function function, void *data, copy_function copy, long size, long alignment,
                                 bool condition, unsigned flags, void **depend, int priority, void *event) noexcept {
    const ompt::call_site at = COMITY_OMPT_HERE; // as it was reached by a jump: GOMP_task's caller
    std::optional<ompt::inside> in;
    if (ompt::on()) in.emplace(at);
    task_request request{function, data, copy, static_cast<std::size_t>(size), static_cast<std::size_t>(alignment),
                         flags};
    request.run_now = !condition;
    request.priority = priority;
    request.event = static_cast<void **>(event);
    if (flags & flag_depend) [[unlikely]] {
        const gomp_dependences dependences(depend);
        request.depend = dependences;
        return create_task(current(), request);
    }
    create_task(current(), request);
}

} // namespace

COMITY_GOMP void GOMP_task(task_function function, void *data, copy_function copy, long size, long alignment,
                           bool condition, unsigned flags, void **depend, int priority, void *event) noexcept {
    thread *t = current();
    if (!copy && !(flags & (flag_depend | flag_detach)) && !process.careful && (!condition || runs_now(t, t->task)))
        return run_at_once(t, function, data, flags);
    return make_task(function, data, copy, size, alignment, condition, flags, depend, priority, event);
}

COMITY_GOMP void GOMP_taskwait() noexcept {
    ompt::either(
        [](ompt::call_site at) { ompt::synchronize(ompt::sync_kind::taskwait, at, [] { wait_for_children(self); }); },
        [] { wait_for_children(current()); }, COMITY_OMPT_HERE);
}
COMITY_GOMP void GOMP_taskwait_depend(void **depend) noexcept {
    if (ompt::on()) return ompt::dependent_wait(self, gomp_dependences(depend), COMITY_OMPT_HERE);
    await_dependences(current(), gomp_dependences(depend));
}
COMITY_GOMP void GOMP_taskyield() noexcept {
    ompt::either([](ompt::call_site at) { ompt::yield(at, [] { yield_task(self); }); }, [] { yield_task(current()); },
                 COMITY_OMPT_HERE);
}
COMITY_GOMP void GOMP_taskgroup_start() noexcept {
    if (ompt::on()) ompt::sync_region(ompt::sync_kind::taskgroup, ompt::endpoint::begin, COMITY_OMPT_HERE.caller);
    begin_group(current());
}
COMITY_GOMP void GOMP_taskgroup_end() noexcept {
    ompt::either([](ompt::call_site at) { ompt::end_taskgroup(at, [] { end_group(self); }); },
                 [] { end_group(current()); }, COMITY_OMPT_HERE);
}

COMITY_GOMP void GOMP_taskgroup_reduction_register(std::uintptr_t *data) noexcept {
    register_reductions(current(), data);
}
COMITY_GOMP void GOMP_taskgroup_reduction_unregister(std::uintptr_t *data) noexcept { unregister_reductions(data); }
COMITY_GOMP void GOMP_task_reduction_remap(std::size_t count, std::size_t originals, void **pointers) noexcept {
    remap_reductions(current(), count, originals, pointers);
}

namespace {

struct taskloop {
    task_request request; // of each task; its data begins with the bounds of its iterations
    loop l;
};

void run_taskloop(thread *t, taskloop &given, unsigned long wanted, ompt::call_site at) noexcept {
    const loop &l = given.l;
    task_request &request = given.request;
    const bool group = !(request.flags & flag_nogroup);
    if (l.count == 0 && !(request.flags & flag_reduction)) // else the reductions must be there to be combined
        return;
    const bool watched = ompt::on();
    if (watched && group) ompt::sync_region(ompt::sync_kind::taskgroup, ompt::endpoint::begin, at.caller);
    if (group) begin_group(t);
    if (watched) ompt::work(ompt::work_kind::taskloop, ompt::endpoint::begin, l.count, at);
    if (request.flags & flag_reduction) register_reductions(t, static_cast<std::uintptr_t **>(request.data)[2]);
    const taskloop_division d =
        l.count == 0 ? taskloop_division{} : divide_taskloop(l.count, wanted, request.flags, t->size);
    std::uint64_t done = 0;
    for (std::uint64_t i = 0; i < d.tasks; ++i) {
        const std::uint64_t size = d.size + (i < d.larger), next = l.count - done < size ? l.count : done + size;
        const std::uint64_t bounds[2] = {l.start + done * l.step, next == l.count ? l.end : l.start + next * l.step};
        done = next;
        request.bounds = bounds;
        if (watched) ompt::note(at);
        create_task(t, request);
    }
    if (watched) ompt::work(ompt::work_kind::taskloop, ompt::endpoint::end, l.count, at);
    if (group && watched)
        ompt::end_taskgroup(at, [] { end_group(self); });
    else if (group)
        end_group(t);
}

task_request request_of_each(task_function function, void *data, copy_function copy, long size, long alignment,
                             unsigned flags, int priority) noexcept {
    task_request request{function,
                         data,
                         copy,
                         static_cast<std::size_t>(size),
                         static_cast<std::size_t>(alignment),
                         flags & ~flag_depend & ~flag_detach};
    request.run_now = !(flags & flag_if);
    request.priority = priority;
    return request;
}

} // namespace

COMITY_GOMP void GOMP_taskloop(task_function function, void *data, copy_function copy, long size, long alignment,
                               unsigned flags, unsigned long tasks, int priority, long start, long end,
                               long step) noexcept {
    taskloop given{request_of_each(function, data, copy, size, alignment, flags, priority),
                   signed_loop(start, end, step, schedule_kind::fixed, 0)};
    run_taskloop(current(), given, tasks, COMITY_OMPT_HERE);
}

COMITY_GOMP void GOMP_taskloop_ull(task_function function, void *data, copy_function copy, long size, long alignment,
                                   unsigned flags, unsigned long tasks, int priority, ull start, ull end,
                                   ull step) noexcept {
    taskloop given{request_of_each(function, data, copy, size, alignment, flags, priority),
                   unsigned_loop(flags & flag_up, start, end, step, schedule_kind::fixed, 0)};
    run_taskloop(current(), given, tasks, COMITY_OMPT_HERE);
}
