// How the benchmarks use OpenMP tasks: README.md says what the words are. gcc's binary runs on libgomp, clang's on
// libomp.
#pragma once

#include <omp.h>

#include "../demand.hpp"

namespace bench::library {

inline constexpr const char *name = "openmp";

// Runs f in one thread of a team of `workers`; the others wait at the team's end and run its tasks.
inline constexpr auto in_workers = [](int workers, auto f) {
    bool full_team = true;
#pragma omp parallel num_threads(workers) shared(full_team)
#pragma omp single
    {
        full_team = omp_get_num_threads() == workers;
        f();
    }
    demand(full_team, "the team is not of the width that was asked for");
};

class group {
public:
    template <class Function> void run(Function f) {
#pragma omp task firstprivate(f)
        f();
    }
    void wait() {
#pragma omp taskwait
    }
};

} // namespace bench::library
