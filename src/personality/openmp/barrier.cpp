// The barrier of a team: counts of those who are here and a generation that changes when it opens. Ranks that wait run
// tasks. Protocol and proof: README.md, "Barrier".
#include "personality/openmp/region.hpp"
#include "personality/openmp/region_memory.hpp"
#include "personality/openmp/team_wait.hpp"

#include <algorithm>

namespace comity::openmp {

std::atomic<const void *> taskless[remembered_functions];

namespace {

void open_barrier(team *tm) noexcept {
    if (tm->loop_cancelled.load(std::memory_order_relaxed)) [[unlikely]]
        tm->loop_cancelled.store(false, std::memory_order_relaxed); // the barrier at the loop's end
    tm->arrived.store(0, std::memory_order_relaxed);
    // Whoever sees it sees what all ranks did before they came: release[barrier-open].
    tm->generation.store(tm->generation.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    wake(tm, tm->idle);
}

} // namespace

bool count_arrival(const thread *t) noexcept {
    team *tm = t->team;
    unsigned expected = tm->size;
    // The last one sees what the others did, and passes it on, in the end by opening: acq_rel[barrier-arrive].
    if (const unsigned size = tm->group_size; size != 0) {
        const unsigned first = t->rank - t->rank % size;
        std::atomic<unsigned> &group = tm->threads[first]->group_arrived;
        const unsigned all = std::min(size, expected - first);
        if (group.fetch_add(1, std::memory_order_acq_rel) + 1 != all) return false; // acq_rel[barrier-arrive]
        group.store(0, std::memory_order_relaxed);
        expected = (expected + size - 1) / size;
    }
    if (tm->arrived.fetch_add(1, std::memory_order_acq_rel) + 1 != expected) return false; // acq_rel[barrier-arrive]
    open_barrier(tm);
    return true;
}

void forget_arrivals(team *tm) noexcept {
    tm->arrived.store(0, std::memory_order_relaxed);
    for (unsigned i = 0; tm->group_size != 0 && i < tm->size; i += tm->group_size)
        tm->threads[i]->group_arrived.store(0, std::memory_order_relaxed);
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
    const bool opens = (!t->made_tasks || arrive_with_tasks(t)) && count_arrival(t);
    for (;;) {
        if (pauses(t)) {
            pass_a_moment();
        } else {
            auto over = [=] {
                return tm->generation.load(std::memory_order_acquire) != generation || // acquire[barrier-open]
                       (tm->makes_tasks.load(std::memory_order_relaxed) && sees_tasks(tm)) ||
                       tm->cancelled.load(std::memory_order_relaxed);
            };
            if (tm->makes_tasks.load(std::memory_order_relaxed)) {
                tm->idle.wait(over); // who makes a task wakes one
            } else {
                if (tm->crowded && !tm->stands_by.load(std::memory_order_relaxed))
                    tm->stands_by.store(true, std::memory_order_relaxed);
                wait_for(tm, tm->idle, over);
            }
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
