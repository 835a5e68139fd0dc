// The barrier of a team: a count of those who are here and a generation that changes when it opens. Ranks that wait run
// tasks. Protocol and proof: README.md, "Barrier".
#include "personality/openmp/region.hpp"
#include "personality/openmp/region_memory.hpp"

namespace comity::openmp {

std::atomic<region_function> taskless[remembered_functions];

void open_barrier(team *tm) noexcept {
    tm->arrived.store(0, std::memory_order_relaxed);
    // Whoever sees it sees what all ranks did before they came: release[barrier-open].
    tm->generation.store(tm->generation.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    tm->idle.wake_all();
}

namespace {

// The last rank: opens the barrier, unless there are tasks; then the last of them does.
void arrive_last(team *tm) noexcept {
    if (tm->unfinished.load(std::memory_order_acquire) == 0) { // acquire[task-done]
        open_barrier(tm);
        return;
    }
    tm->tasks_lock.lock();
    if (tm->unfinished.load(std::memory_order_relaxed) == 0)
        open_barrier(tm);
    else
        tm->all_arrived = true;
    tm->tasks_lock.unlock();
}

} // namespace

bool barrier_or_cancel(thread *t) noexcept {
    team *tm = t->team;
    if (tm->size == 1) {
        if (tm->unfinished.load(std::memory_order_relaxed)) [[unlikely]]
            finish_tasks(t); // such as wait for an event
        return tm->cancelled.load(std::memory_order_relaxed);
    }
    const unsigned generation = tm->generation.load(std::memory_order_relaxed);
    if (tm->cancelled.load(std::memory_order_relaxed)) return true;
    // acq_rel[barrier-arrive]: the last one sees what the others did, and passes it on by opening.
    if (tm->arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == tm->size) arrive_last(tm);
    for (;;) {
        tm->idle.wait([=] {
            return tm->generation.load(std::memory_order_acquire) != generation || // acquire[barrier-open]
                   tm->ready_count.load(std::memory_order_relaxed) != 0 ||
                   tm->cancelled.load(std::memory_order_relaxed);
        });
        if (tm->generation.load(std::memory_order_acquire) != generation) // acquire[barrier-open]
            return false;
        if (tm->cancelled.load(std::memory_order_acquire)) // acquire[region-cancelled]
            return true;
        run_a_task(t);
    }
}

void barrier(thread *t) noexcept { (void)barrier_or_cancel(t); }

} // namespace comity::openmp
