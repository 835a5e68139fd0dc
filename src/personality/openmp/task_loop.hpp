// taskloop: how many tasks, and which iterations each has.
#pragma once

#include <cstdint>

#include "personality/openmp/task.hpp"

namespace comity::openmp {

// How a taskloop's iterations are dealt out: `larger` tasks of `size` + 1, then tasks of `size`; the last may be
// smaller.
struct taskloop_division {
    std::uint64_t tasks, size, larger;
};

// `wanted`: what grainsize or num_tasks says, which the flags tell; 0: neither.
inline taskloop_division divide_taskloop(std::uint64_t count, std::uint64_t wanted, unsigned flags,
                                         unsigned ranks) noexcept {
    if (flags & flag_grainsize) {
        const std::uint64_t grain = wanted ? wanted : 1;
        if (flags & flag_strict) return {count / grain + (count % grain != 0), grain, 0};
        const std::uint64_t tasks = count / grain ? count / grain : 1;
        return {tasks, count / tasks, count % tasks};
    }
    std::uint64_t tasks = wanted ? wanted : ranks;
    tasks = tasks < count ? tasks : count;
    return {tasks, count / tasks, count % tasks};
}

} // namespace comity::openmp
