// The benchmarks that solve one problem by recursion: fib, nqueens, uts, matmul. Seconds for the whole problem.
//
// A problem is a type with
//   static constexpr const char *name;
//   static Problem read(arguments &);        of the program's own options
//   Problem smaller() const;                 much less work of the same kind, to warm up
//   void prepare();                          before each run, not timed
//   void check() const;                      after each run: refuses a wrong result
// and a library supplies solve(problem), which runs inside its workers.
#pragma once

#include "arguments.hpp"
#include "demand.hpp"
#include "record.hpp"
#include "sampling.hpp"

namespace bench {

template <class Problem> struct tree_request {
    Problem problem;
    int workers, samples, regions;
    double budget; // seconds, after which no further sample is begun
};

template <class Problem> tree_request<Problem> read_tree_request(arguments &options) {
    return {Problem::read(options), options.whole("workers", 1, 1, 1024), options.whole("samples", 5, 1, 1000),
            options.whole("regions", 0, 0, 1000), options.number("budget-s", 0.6, 0, 600)};
}

template <class Problem, class Solve> double solve_once(Problem &problem, Solve &solve) {
    problem.prepare();
    const double begin = wall_seconds();
    solve(problem);
    const double taken = wall_seconds() - begin;
    problem.check();
    return taken;
}

// Called inside the workers. --regions solves so often, for a count of instructions from outside.
template <class Problem, class Solve> void run_tree(tree_request<Problem> &asked, Solve solve, record &result) {
    for (int i = 0; i < asked.regions; ++i) solve_once(asked.problem, solve);
    if (asked.regions > 0) return;
    Problem small = asked.problem.smaller();
    solve_once(small, solve);
    std::vector<double> taken;
    const double begin = wall_seconds();
    do taken.push_back(solve_once(asked.problem, solve));
    while (static_cast<int>(taken.size()) < asked.samples && wall_seconds() - begin < asked.budget);
    result.number("samples", static_cast<double>(taken.size()));
    result.number("seconds_low", *std::min_element(taken.begin(), taken.end()));
    result.number("seconds", median_of(std::move(taken)));
}

// The whole program of a library whose `in_workers(workers, f)` calls f inside `workers` workers, after it has read its
// own options.
template <class Problem, class In_workers, class Solve>
int tree_main(arguments &options, const char *library, In_workers in_workers, Solve solve) {
    tree_request<Problem> asked = read_tree_request<Problem>(options);
    options.finish();
    record result(Problem::name, library);
    result.number("workers", asked.workers);
    in_workers(asked.workers, [&](auto &...pool) {
        run_tree(
            asked, [&](Problem &problem) { solve(problem, pool...); }, result);
    });
    result.print();
    return 0;
}

template <class Problem, class In_workers, class Solve>
int tree_main(int argc, char **argv, const char *library, In_workers in_workers, Solve solve) {
    arguments options(argc, argv);
    return tree_main<Problem>(options, library, in_workers, solve);
}

} // namespace bench
