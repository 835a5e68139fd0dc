// Proof that a region did what its text says: every body ran once, in the thread that OpenMP says, and the threads of a
// team were distinct threads alive at one time. Runs before and after the timed part, never inside it.
#pragma once

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <vector>

#include "demand.hpp"

namespace bench {

// Counts the bodies that ran, by index. record() may be called from any thread.
class body_count {
public:
    explicit body_count(std::size_t bodies) : counts_(bodies) {}

    void record(std::size_t index) {
        demand(index < counts_.size(), "a body ran with an index that does not exist");
        counts_[index].fetch_add(1, std::memory_order_relaxed);
    }

    void demand_each(int times) const {
        for (const std::atomic<int> &count : counts_)
            demand(count.load(std::memory_order_relaxed) == times, "a body did not run exactly once a region");
    }

private:
    std::vector<std::atomic<int>> counts_;
};

// A static loop with as many iterations as threads gives iteration j to thread j of a team of `width`, at nesting depth
// `level`.
inline void demand_thread(int number, int width, int level) {
    demand(omp_get_num_threads() == width, "the team is not of the width that was asked for (nesting off?)");
    demand(omp_get_thread_num() == number, "an iteration ran in the wrong thread");
    demand(omp_get_level() == level, "wrong nesting level");
    demand(omp_get_active_level() == level, "a nested region was serialised");
}

inline thread_local int marker = -1;

// Every thread of a team writes its own thread-local variable, meets the others at a barrier, and finds it unchanged at
// an address that no team mate has: `width` real threads at once, which a runtime that runs the bodies one after
// another cannot show.
inline void demand_distinct_threads(int width) {
    std::vector<const int *> homes(static_cast<std::size_t>(width), nullptr);
    std::atomic<int> changed{0};
#pragma omp parallel num_threads(width)
    {
        const int self = omp_get_thread_num();
        marker = self;
        homes[static_cast<std::size_t>(self)] = &marker;
#pragma omp barrier
        if (marker != self) changed.fetch_add(1, std::memory_order_relaxed);
    }
    demand(changed.load() == 0, "a thread-local variable is shared by threads of one team");
    std::sort(homes.begin(), homes.end());
    demand(homes.front() != nullptr, "a thread of the team never ran");
    demand(std::adjacent_find(homes.begin(), homes.end()) == homes.end(), "two threads of a team are the same thread");
}

} // namespace bench
