// Programs of OpenMP tasks in which everything that can be a task is one: no cut-off. The same source is built by gcc,
// by clang and, without OpenMP, as the serial program.
#pragma once

#ifdef _OPENMP
#include <omp.h>
#endif

#include "../support/tree.hpp"

namespace bench {

// Calls f in one thread of a team of `workers`; the others wait at the team's end and run its tasks.
inline constexpr auto in_team = [](int workers, auto f) {
    int width = 1;
#pragma omp parallel num_threads(workers)
#pragma omp single
    {
#ifdef _OPENMP
        width = omp_get_num_threads();
#else
        width = workers;
#endif
        f();
    }
    demand(width == workers, "the team is not of the width that was asked for");
};

template <class Problem> int omptasks_main(int argc, char **argv) {
    return tree_main<Problem>(argc, argv, "openmp", in_team, [](Problem &problem) { problem.solve(); });
}

} // namespace bench
