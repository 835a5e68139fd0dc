// oneTBB.
#include "../support/library/tbb.hpp"
#include "group.hpp"

int main(int argc, char **argv) {
    auto solve = [](bench::matmul_problem &problem) {
        using bench::library::group;
        bench::matmul_group<group>(problem.whole());
    };
    return bench::tree_main<bench::matmul_problem>(argc, argv, bench::library::name, bench::library::in_workers, solve);
}
