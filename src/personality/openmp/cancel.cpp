// cancel and cancellation point.
#include "personality/openmp/region.hpp"
#include "personality/openmp/team_wait.hpp"

namespace comity::openmp {

void cancel_region(thread *t) noexcept {
    if (!process.cancellation) return;
    team *tm = t->team;
    tm->cancelled.store(true, std::memory_order_release); // release[region-cancelled]
    wake_ring(tm);
    wake(tm, tm->idle);
}

void cancel_share(thread *t) noexcept {
    if (!process.cancellation) return;
    std::atomic<bool> &flag = t->share ? t->share->cancelled : t->team->loop_cancelled;
    flag.store(true, std::memory_order_relaxed);
}

void cancel_group(thread *t) noexcept {
    if (!process.cancellation) return;
    taskgroup *group = t->task->group;
    if (group && group->workshare) // made for the worksharing construct, not by the program
        group = group->outer;
    if (group) group->cancelled.store(true, std::memory_order_relaxed);
}

bool region_is_cancelled(const thread *t) noexcept {
    return process.cancellation && t->team->cancelled.load(std::memory_order_relaxed);
}

bool share_is_cancelled(const thread *t) noexcept {
    if (!process.cancellation) return false;
    const std::atomic<bool> &flag = t->share ? t->share->cancelled : t->team->loop_cancelled;
    return flag.load(std::memory_order_relaxed) || region_is_cancelled(t);
}

bool group_is_cancelled(const thread *t) noexcept {
    if (!process.cancellation) return false;
    for (const taskgroup *group = t->task->group; group; group = group->workshare ? group->outer : nullptr)
        if (group->cancelled.load(std::memory_order_relaxed)) return true;
    return region_is_cancelled(t);
}

} // namespace comity::openmp
