// task, taskwait, taskgroup, taskyield, and their dependences and events.
#include "personality/openmp/kmp/task.hpp"

#include <cstdlib>
#include <new>

#include "personality/openmp/kmp/task_reduction.hpp"
#include "personality/openmp/omp/functions.hpp"
#include "personality/openmp/ompt/hooks.hpp"
#include "personality/openmp/task_fast.hpp"
#include "personality/openmp/thread.hpp"
#include "sys/message.hpp"

using namespace comity::openmp;
using namespace comity::openmp::kmp;

namespace comity::openmp::kmp {

namespace {

COMITY_CALLS_PROGRAM void run(void *head) noexcept {
    kmp_task *k = body_of(head);
    if (k->routine) k->routine(static_cast<i32>(self->number), k); // null: taskwait nowait, only its dependences count
}

COMITY_CALLS_PROGRAM void destroy(void *head) noexcept {
    kmp_task *k = body_of(head);
    k->first.destructors(static_cast<i32>(self->number), k);
}

} // namespace

namespace {

[[gnu::noinline]] task *allocate_carefully(thread *t, std::size_t size, i32 flags) noexcept {
    const unsigned core_flags = (flags & task_is_tied ? 0u : +flag_untied) |
                                (flags & task_is_final ? +flag_final : 0u) |
                                (flags & task_is_mergeable ? +flag_mergeable : 0u);
    return allocate_task(t, size, 16, core_flags);
}

} // namespace

kmp_task *make_task(thread *t, u32 size, u32 shared, i32 flags, task_routine routine) noexcept {
    const std::size_t all = sizeof(task_head) + size;
    task *made = process.careful || !has_room_for(all)
                     ? allocate_carefully(t, all, flags)
                     : make_child_with_data(t, all, flags & task_is_final ? +flag_final : 0u);
    made->function = run;
    new (made->argument) task_head{size, shared, flags};
    kmp_task *k = body_of(made->argument);
    k->shared = shared < size ? reinterpret_cast<char *>(k) + shared : nullptr;
    k->routine = routine;
    k->part = 0;
    if (flags & task_is_proxy) attach_event(made);
    return k;
}

task *finish_set_up(kmp_task *k) noexcept {
    task *made = core_task(k);
    const i32 flags = head_of(k)->flags;
    if (flags & task_has_priority) made->priority = limit_priority(k->second.priority);
    if (flags & task_has_destructors) made->destroy = destroy;
    return made;
}

namespace {

// Both of the compiler's lists in the core's form; the second has no location twice.
class dependences {
public:
    dependences(i32 count, const kmp_dependence *list, i32 more, const kmp_dependence *other) noexcept {
        const std::size_t all = positive(count) + positive(more);
        if (all > sizeof few_ / sizeof *few_) {
            entries_ = static_cast<dependence_request *>(std::malloc(all * sizeof *entries_));
            if (!entries_) sys::fatal("__kmpc_omp_task_with_deps", "no memory for %zu dependences", all);
        }
        add(positive(count), list);
        add(positive(more), other);
    }
    ~dependences() {
        if (entries_ != few_) std::free(entries_);
    }
    dependences(const dependences &) = delete;
    dependences &operator=(const dependences &) = delete;

    operator dependence_list() const noexcept { return {entries_, count_}; }

private:
    enum : std::uint8_t { in = 1, mutexinoutset = 4, inoutset = 8, all_memory = 0x80 };

    static std::size_t positive(i32 n) noexcept { return n > 0 ? static_cast<std::size_t>(n) : 0; }

    void add(std::size_t count, const kmp_dependence *list) noexcept {
        for (std::size_t i = 0; i < count; ++i) {
            const std::uint8_t flags = list[i].flags;
            // Older compilers name omp_all_memory by an address.
            const bool all = flags & all_memory || list[i].location == reinterpret_cast<void *>(UINTPTR_MAX);
            void *location = all ? nullptr : list[i].location;
            if (!location && !all) continue; // of an absent optional argument
            entries_[count_++] = {location, flags & mutexinoutset ? dependence_kind::mutexinoutset
                                            : flags & inoutset    ? dependence_kind::inoutset
                                            : flags == in         ? dependence_kind::in
                                                                  : dependence_kind::inout};
        }
    }

    dependence_request few_[8], *entries_ = few_;
    std::size_t count_ = 0;
};

} // namespace
} // namespace comity::openmp::kmp

namespace {

constexpr std::size_t round_up(std::size_t size, std::size_t to) { return (size + to - 1) / to * to; }

kmp_task *allocate(i32 flags, std::size_t size, std::size_t shared, task_routine routine) noexcept {
    const std::size_t offset = round_up(size, 16), all = offset + shared;
    if (all > UINT32_MAX) comity::sys::fatal("__kmpc_omp_task_alloc", "a task of %zu bytes", all);
    return make_task(current(), static_cast<u32>(all), static_cast<u32>(offset), flags, routine);
}

} // namespace

COMITY_KMP kmp_task *__kmpc_omp_task_alloc(const ident *, i32, i32 flags, std::size_t size, std::size_t shared,
                                           task_routine routine) noexcept {
    return allocate(flags, size, shared, routine);
}
// target nowait, on the host.
COMITY_KMP kmp_task *__kmpc_omp_target_task_alloc(const ident *, i32, i32 flags, std::size_t size, std::size_t shared,
                                                  task_routine routine, i64) noexcept {
    return allocate(flags, size, shared, routine);
}

namespace {

// Of a task that nothing is to be known of: tied, so that its routine is called once, and without the others.
constexpr i32 task_is_plain = task_is_tied;
constexpr i32 what_is_plain =
    task_is_tied | task_has_destructors | task_is_proxy | task_has_priority | task_is_detachable;

void run_at_once(thread *t, kmp_task *k) noexcept {
    run_child(t, core_task(k), [=]() COMITY_CALLS_PROGRAM { k->routine(static_cast<i32>(t->number), k); });
}

[[gnu::noinline]] i32 submit(kmp_task *k, ompt::call_site at) noexcept {
    submit_task(current(), finish_set_up(k), {}, at);
    return 0;
}

} // namespace

// The result says whether the current task must return to its scheduler: it need not.
COMITY_KMP i32 __kmpc_omp_task(const ident *, i32, kmp_task *k) noexcept {
    thread *t = current();
    if ((head_of(k)->flags & what_is_plain) != task_is_plain || process.careful || !runs_now(t, t->task))
        return submit(k, COMITY_OMPT_HERE);
    run_at_once(t, k);
    return 0;
}
COMITY_KMP i32 __kmpc_omp_task_parts(const ident *, i32, kmp_task *k) noexcept {
    submit_task(current(), finish_set_up(k), {}, COMITY_OMPT_HERE);
    return 0;
}
COMITY_KMP i32 __kmpc_omp_task_with_deps(const ident *, i32, kmp_task *k, i32 count, const kmp_dependence *list,
                                         i32 more, const kmp_dependence *other) noexcept {
    submit_task(current(), finish_set_up(k), dependences(count, list, more, other), COMITY_OMPT_HERE);
    return 0;
}

// if(0): the program calls the task's routine in between.
COMITY_KMP void __kmpc_omp_task_begin_if0(const ident *, i32, kmp_task *k) noexcept {
    task *made = finish_set_up(k);
    if (ompt::on()) ompt::undeferred_begins(self, made, COMITY_OMPT_HERE);
    begin_undeferred(current(), made);
}
COMITY_KMP void __kmpc_omp_task_complete_if0(const ident *, i32, kmp_task *k) noexcept {
    if (ompt::on()) ompt::undeferred_ends(self, core_task(k));
    complete_undeferred(current(), core_task(k));
}
COMITY_KMP void __kmpc_omp_wait_deps(const ident *, i32, i32 count, const kmp_dependence *list, i32 more,
                                     const kmp_dependence *other) noexcept {
    if (ompt::on()) return ompt::dependent_wait(self, dependences(count, list, more, other), COMITY_OMPT_HERE);
    await_dependences(current(), dependences(count, list, more, other));
}
// taskwait depend. With nowait (5.2) later tasks would depend on it, and wait by themselves; waiting here is right too.
COMITY_KMP void __kmpc_omp_taskwait_deps_51(const ident *, i32, i32 count, const kmp_dependence *list, i32 more,
                                            const kmp_dependence *other, i32) noexcept {
    if (ompt::on()) return ompt::dependent_wait(self, dependences(count, list, more, other), COMITY_OMPT_HERE);
    await_dependences(current(), dependences(count, list, more, other));
}

COMITY_KMP i32 __kmpc_omp_taskwait(const ident *, i32) noexcept {
    const auto tell = [](ompt::call_site at) {
        ompt::synchronize(ompt::sync_kind::taskwait, at, [] { wait_for_children(self); });
    };
    ompt::either(
        tell, [] { wait_for_children(current()); }, COMITY_OMPT_HERE);
    return 0;
}
COMITY_KMP i32 __kmpc_omp_taskyield(const ident *, i32, int) noexcept {
    ompt::either([](ompt::call_site at) { ompt::yield(at, [] { yield_task(self); }); }, [] { yield_task(current()); },
                 COMITY_OMPT_HERE);
    return 0;
}

COMITY_KMP void __kmpc_taskgroup(const ident *, i32) noexcept {
    if (ompt::on()) ompt::sync_region(ompt::sync_kind::taskgroup, ompt::endpoint::begin, COMITY_OMPT_HERE.caller);
    begin_group(current());
}
COMITY_KMP void __kmpc_end_taskgroup(const ident *, i32) noexcept {
    ompt::either([](ompt::call_site at) { ompt::end_taskgroup(at, [] { end_group_with_reductions(self); }); },
                 [] { end_group_with_reductions(current()); }, COMITY_OMPT_HERE);
}

// detach: the event's handle, which the compiler stores as an omp_event_handle_t.
COMITY_KMP void *__kmpc_task_allow_completion_event(const ident *, i32, kmp_task *k) noexcept {
    return attach_event(core_task(k));
}
COMITY_KMP void __kmpc_proxy_task_completed(i32, kmp_task *k) noexcept { fulfill_event(core_task(k)); }
COMITY_KMP void __kmpc_proxy_task_completed_ooo(kmp_task *k) noexcept { fulfill_event(core_task(k)); }

// affinity says where a task would run best: tasks run where there is a hart.
COMITY_KMP i32 __kmpc_omp_reg_task_with_affinity(const ident *, i32, kmp_task *, i32, const void *) noexcept {
    return 0;
}

// Numbers that differ while the tasks live.
COMITY_KMP u64 __kmpc_get_taskid() noexcept { return reinterpret_cast<std::uintptr_t>(self->task); }
COMITY_KMP u64 __kmpc_get_parent_taskid() noexcept {
    return reinterpret_cast<std::uintptr_t>(self->task->parent_task());
}

COMITY_KMP i32 __kmpc_pause_resource(i32 kind, i32 device) noexcept {
    return omp_pause_resource(static_cast<omp_pause_resource_t>(kind), device);
}
