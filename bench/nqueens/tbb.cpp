// oneTBB.
#include "../support/library/tbb.hpp"
#include "group.hpp"

int main(int argc, char **argv) {
    auto solve = [](bench::nqueens_problem &problem) {
        using bench::library::group;
        problem.result = bench::nqueens_group<group>({}, problem.all());
    };
    return bench::tree_main<bench::nqueens_problem>(argc, argv, bench::library::name, bench::library::in_workers,
                                                    solve);
}
