// OpenMP tasks.
#include "../support/library/openmp.hpp"
#include "group.hpp"

int main(int argc, char **argv) {
    auto solve = [](bench::uts_problem &problem) {
        using bench::library::group;
        problem.result = bench::uts_group<group>(problem.root(), problem.depth);
    };
    return bench::tree_main<bench::uts_problem>(argc, argv, bench::library::name, bench::library::in_workers, solve);
}
