// The barrier of a team: a count of those who are here and a generation that changes when it opens. Ranks that wait run
// tasks. Protocol and proof: README.md, "Barrier".
#include "personality/openmp/region.hpp"
#include "personality/openmp/region_memory.hpp"

#include <algorithm>

namespace comity::openmp {

std::atomic<const void *> taskless[remembered_functions];

namespace {

void open_barrier(team *tm) noexcept {
    if (tm->loop_cancelled.load(std::memory_order_relaxed)) [[unlikely]]
        tm->loop_cancelled.store(false, std::memory_order_relaxed); // the barrier at the loop's end
    // Whoever sees it sees what all ranks did before they came: release[barrier-open].
    tm->generation.store(tm->generation.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    tm->idle.wake_all();
}

// One more of `all`; the last one begins anew for the next time, and is told so. It sees what the others did, and passes
// it on: acq_rel[barrier-arrive].
bool is_last(std::atomic<unsigned> &count, unsigned all) noexcept {
    if (count.fetch_add(1, std::memory_order_acq_rel) + 1 != all) return false;
    count.store(0, std::memory_order_relaxed);
    return true;
}

} // namespace

std::uint8_t arrival_groups(unsigned ranks, unsigned harts) noexcept {
    constexpr unsigned few = 4;
    return ranks <= few || harts <= few ? 0 : static_cast<std::uint8_t>(std::min((ranks + few - 1) / few, team::most_groups));
}

bool count_arrival(team *tm, unsigned rank) noexcept {
    if (const unsigned groups = tm->groups; groups != 0) {
        const unsigned group = rank % groups, members = (tm->size - group + groups - 1) / groups;
        if (!is_last(tm->group_arrivals[group].count, members) || !is_last(tm->all_arrivals.count, groups)) return false;
    } else if (!is_last(tm->arrived, tm->size)) {
        return false;
    }
    open_barrier(tm);
    return true;
}

void forget_arrivals(team *tm) noexcept {
    tm->arrived.store(0, std::memory_order_relaxed);
    for (auto &group : tm->group_arrivals) group.count.store(0, std::memory_order_relaxed);
    tm->all_arrivals.count.store(0, std::memory_order_relaxed);
}

bool barrier_or_cancel(thread *t) noexcept {
    team *tm = t->team;
    if (tm->size == 1 && !t->made_tasks) {
        if (tm->loop_cancelled.load(std::memory_order_relaxed)) [[unlikely]]
            tm->loop_cancelled.store(false, std::memory_order_relaxed);
        return tm->cancelled.load(std::memory_order_relaxed);
    }
    const unsigned generation = tm->generation.load(std::memory_order_relaxed);
    if (tm->cancelled.load(std::memory_order_relaxed)) return true;
    const bool opens = (!t->made_tasks || arrive_with_tasks(t)) && count_arrival(tm, t->rank);
    for (;;) {
        bool closely = false; // to look for tasks that nobody shows, before it blocks
        if (pauses(t)) {
            pass_a_moment();
        } else {
            const auto over = [=](bool (*tasks)(const team *)) {
                return tm->generation.load(std::memory_order_acquire) != generation || // acquire[barrier-open]
                       (tm->makes_tasks.load(std::memory_order_relaxed) && tasks(tm)) ||
                       tm->cancelled.load(std::memory_order_relaxed);
            };
            closely = !sync::wait_list::spin_for([=] { return over(shows_tasks); }, sys::no_deadline);
            if (closely) tm->idle.block_until([=] { return over(has_tasks); }, sys::no_deadline);
        }
        if (tm->generation.load(std::memory_order_acquire) != generation) { // acquire[barrier-open]
            if (t->made_tasks) leave_barrier_with_tasks(t);
            if (opens) spmd::give_way_to_master();
            return false;
        }
        if (tm->cancelled.load(std::memory_order_acquire)) // acquire[region-cancelled]
            return true;
        run_a_task(t, closely);
    }
}

void barrier(thread *t) noexcept { (void)barrier_or_cancel(t); }

} // namespace comity::openmp
