// taskloop: the compiler gives one task as a pattern, with the whole loop's bounds in it; each task is a copy with its
// own.
#include <cstring>

#include "personality/openmp/kmp/task.hpp"
#include "personality/openmp/kmp/task_reduction.hpp"
#include "personality/openmp/ompt/hooks.hpp"
#include "personality/openmp/task_loop.hpp"
#include "personality/openmp/thread.hpp"
#include "personality/openmp/work_share.hpp"

using namespace comity::openmp;
using namespace comity::openmp::kmp;

namespace {

// Copies what the compiler cannot copy by bytes, and tells the copy whether it has the last iterations.
using duplicate_function = void (*)(kmp_task *to, kmp_task *from, i32 last);

struct pattern {
    kmp_task *task;
    std::size_t lower, upper; // where the bounds are in it
    duplicate_function duplicate;
};

COMITY_CALLS_PROGRAM void copy_the_rest(const pattern &p, kmp_task *copy, bool last) noexcept {
    if (p.duplicate) p.duplicate(copy, p.task, last);
}

kmp_task *make_copy(thread *t, const pattern &p, u64 lower, u64 upper, bool last) noexcept {
    const task_head &head = *head_of(p.task);
    kmp_task *copy = make_task(t, head.size, head.shared, head.flags, p.task->routine);
    void *shared = copy->shared;
    std::memcpy(copy, p.task, head.size);
    copy->shared = shared;
    std::memcpy(reinterpret_cast<char *>(copy) + p.lower, &lower, sizeof lower);
    std::memcpy(reinterpret_cast<char *>(copy) + p.upper, &upper, sizeof upper);
    copy_the_rest(p, copy, last);
    return copy;
}

void start(thread *t, kmp_task *k, bool deferred, ompt::call_site at) noexcept {
    task *made = finish_set_up(k);
    if (deferred) {
        submit_task(t, made, {}, at);
        return;
    }
    const bool watched = ompt::on();
    if (watched) {
        ompt::note(at);
        ompt::task_created(t, made, true, {});
        ompt::task_begins(t, made);
    }
    begin_undeferred(t, made);
    if (watched) {
        ompt::call(t, made->function, made->argument);
        ompt::task_ends(t, made);
    } else {
        made->function(made->argument);
    }
    complete_undeferred(t, made);
}

// The bounds belong to the loop, whose type may be signed or not; the compiler calls for loops that run at least once,
// or give an upper bound right before the lower one.
loop whole_loop(u64 lower, u64 upper, i64 step) noexcept {
    loop l;
    l.start = lower;
    l.step = static_cast<u64>(step);
    if (step == 1)
        l.count = upper - lower + 1;
    else if (step > 0)
        l.count = (upper - lower) / l.step + 1;
    else
        l.count = (lower - upper) / (u64{0} - l.step) + 1;
    return l;
}

enum : i32 { by_grainsize = 1, by_num_tasks = 2 };

void run_taskloop(kmp_task *k, bool deferred, const u64 *lower, const u64 *upper, i64 step, bool group, i32 division,
                  u64 wanted, bool strict, void *duplicate, ompt::call_site at) noexcept {
    thread *t = current();
    const bool watched = ompt::on();
    if (watched && group) ompt::sync_region(ompt::sync_kind::taskgroup, ompt::endpoint::begin, at.caller);
    if (group) begin_group(t);
    const loop l = whole_loop(*lower, *upper, step);
    const auto offset = [k](const u64 *bound) {
        return static_cast<std::size_t>(reinterpret_cast<const char *>(bound) - reinterpret_cast<const char *>(k));
    };
    const pattern p{k, offset(lower), offset(upper), reinterpret_cast<duplicate_function>(duplicate)};
    const unsigned flags = (division == by_grainsize ? +flag_grainsize : 0u) | (strict ? +flag_strict : 0u);
    const taskloop_division d =
        l.count ? divide_taskloop(l.count, division ? wanted : 0, flags, t->size) : taskloop_division{};
    if (watched) ompt::work(ompt::work_kind::taskloop, ompt::endpoint::begin, l.count, at);
    u64 done = 0;
    for (u64 i = 0; i < d.tasks; ++i) {
        const u64 size = d.size + (i < d.larger), next = l.count - done < size ? l.count : done + size;
        start(t, make_copy(t, p, l.start + done * l.step, l.start + (next - 1) * l.step, next == l.count), deferred,
              at);
        done = next;
    }
    if (watched) ompt::work(ompt::work_kind::taskloop, ompt::endpoint::end, l.count, at);
    // The pattern was never a task that runs, but what the compiler made in it must be destroyed.
    begin_undeferred(t, finish_set_up(k));
    complete_undeferred(t, core_task(k));
    if (group && watched)
        ompt::end_taskgroup(at, [] { end_group_with_reductions(self); });
    else if (group)
        end_group_with_reductions(t);
}

} // namespace

COMITY_KMP void __kmpc_taskloop(const ident *, i32, kmp_task *k, i32 condition, u64 *lower, u64 *upper, i64 step,
                                i32 no_group, i32 division, u64 wanted, void *duplicate) noexcept {
    run_taskloop(k, condition, lower, upper, step, !no_group, division, wanted, false, duplicate, COMITY_OMPT_HERE);
}
COMITY_KMP void __kmpc_taskloop_5(const ident *, i32, kmp_task *k, i32 condition, u64 *lower, u64 *upper, i64 step,
                                  i32 no_group, i32 division, u64 wanted, i32 modifier, void *duplicate) noexcept {
    constexpr i32 strict = 1;
    run_taskloop(k, condition, lower, upper, step, !no_group, division, wanted, modifier == strict, duplicate,
                 COMITY_OMPT_HERE);
}
