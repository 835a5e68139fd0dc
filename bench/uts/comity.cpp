// Comity: threads of --technique, or with --pair 1 the fork-join pair `comity::join(f, g)`.
#include "../support/library/comity.hpp"
#include "pair.hpp"
#include "threads.hpp"

int main(int argc, char **argv) {
    bench::arguments options(argc, argv);
    bench::library::choose_technique(options);
    const bool with_pairs = bench::library::choose_pairs(options);
    auto solve = [with_pairs](bench::uts_problem &problem) {
        auto join = bench::library::join;
        if (with_pairs)
            problem.result = bench::uts_pair(problem.root(), problem.depth, join);
        else
            bench::uts_threads<bench::library::threads>::solve(problem);
    };
    return bench::tree_main<bench::uts_problem>(options, bench::library::name, bench::library::in_workers, solve);
}
