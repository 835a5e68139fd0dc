// The doubly nested loop that figures 4.7, 4.9a and 4.9b of the thesis of Iwasaki share, and its verification.
#pragma once

#include "audit.hpp"
#include "measure.hpp"

namespace bench {

template <class Body> void nested_region(int outer, int inner, const Body &body) {
#pragma omp parallel for num_threads(outer)
    for (int i = 0; i < outer; ++i) {
#pragma omp parallel for num_threads(inner)
        for (int j = 0; j < inner; ++j) body(i, j);
    }
}

// The thesis' alternative: the inner loop as tasks of the outer team, one an iteration.
template <class Body> void nested_taskloop(int outer, int inner, const Body &body) {
#pragma omp parallel for num_threads(outer)
    for (int i = 0; i < outer; ++i) {
#pragma omp taskloop grainsize(1)
        for (int j = 0; j < inner; ++j) body(i, j);
    }
}

inline void verify_taskloop(int outer, int inner) {
    body_count count(static_cast<std::size_t>(outer) * static_cast<std::size_t>(inner));
    nested_taskloop(outer, inner, [&](int i, int j) {
        demand(omp_get_num_threads() == outer, "the outer team is not of the width that was asked for");
        count.record(static_cast<std::size_t>(i) * static_cast<std::size_t>(inner) + static_cast<std::size_t>(j));
    });
    count.demand_each(1);
}

inline void verify_nest(int outer, int inner) {
    constexpr int times = 2;
    body_count count(static_cast<std::size_t>(outer) * static_cast<std::size_t>(inner));
    for (int repeat = 0; repeat < times; ++repeat)
        nested_region(outer, inner, [&](int i, int j) {
            demand_thread(j, inner, 2);
            demand(omp_get_ancestor_thread_num(1) == i, "an inner team belongs to the wrong outer thread");
            demand(omp_get_team_size(1) == outer, "the outer team is not of the width that was asked for");
            count.record(static_cast<std::size_t>(i) * static_cast<std::size_t>(inner) + static_cast<std::size_t>(j));
        });
    count.demand_each(times);
#pragma omp parallel for num_threads(outer)
    for (int i = 0; i < outer; ++i) demand_distinct_threads(inner);
}

// The whole of a program: verify, measure, verify, print. `taskloop`: the inner loop is one.
template <class Body>
void run_nest(const char *program, int outer, int inner, const limits &bounds, const Body &body,
              bool taskloop = false) {
    auto region = [&] { taskloop ? nested_taskloop(outer, inner, body) : nested_region(outer, inner, body); };
    const auto verify = [&] { taskloop ? verify_taskloop(outer, inner) : verify_nest(outer, inner); };
    if (bounds.regions > 0) {
        timed_regions(region, bounds.regions);
        return;
    }
    verify();
    const timing result = measure(region, bounds);
    verify();
    const double serial = serial_microseconds([&] {
        for (int i = 0; i < outer; ++i)
            for (int j = 0; j < inner; ++j) body(i, j);
    });
    print_timing(program, result, static_cast<long>(outer) * inner, serial);
}

} // namespace bench
