// The barrier of a team: a count of those who are here and a generation that changes when it opens. Ranks that wait run
// tasks. Protocol and proof: README.md, "Barrier".
#include "personality/openmp/region.hpp"
#include "personality/openmp/region_memory.hpp"

namespace comity::openmp {

std::atomic<const void *> taskless[remembered_functions];

namespace {

void open_barrier(team *tm) noexcept {
    if (tm->loop_cancelled.load(std::memory_order_relaxed)) [[unlikely]]
        tm->loop_cancelled.store(false, std::memory_order_relaxed); // the barrier at the loop's end
    tm->arrived.store(0, std::memory_order_relaxed);
    // Whoever sees it sees what all ranks did before they came: release[barrier-open].
    tm->generation.store(tm->generation.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    tm->idle.wake_all();
}

} // namespace

bool count_arrival(team *tm) noexcept {
    // acq_rel[barrier-arrive]: the last one sees what the others did, and passes it on by opening.
    if (tm->arrived.fetch_add(1, std::memory_order_acq_rel) + 1 != tm->size) return false;
    open_barrier(tm);
    return true;
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
    const bool opens = (!t->made_tasks || arrive_with_tasks(t)) && count_arrival(tm);
    for (;;) {
        if (pauses(t)) {
            pass_a_moment();
        } else {
            tm->idle.wait([=] {
                return tm->generation.load(std::memory_order_acquire) != generation || // acquire[barrier-open]
                       (tm->makes_tasks.load(std::memory_order_relaxed) && sees_tasks(tm)) ||
                       tm->cancelled.load(std::memory_order_relaxed);
            });
        }
        if (tm->generation.load(std::memory_order_acquire) != generation) { // acquire[barrier-open]
            if (t->made_tasks) leave_barrier_with_tasks(t);
            if (opens) spmd::give_way_to_master();
            return false;
        }
        if (tm->cancelled.load(std::memory_order_acquire)) // acquire[region-cancelled]
            return true;
        run_a_task(t);
    }
}

void barrier(thread *t) noexcept { (void)barrier_or_cancel(t); }

} // namespace comity::openmp
