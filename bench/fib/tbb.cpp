// oneTBB.
#include "../support/library/tbb.hpp"
#include "group.hpp"

int main(int argc, char **argv) {
    auto solve = [](bench::fib_problem &problem) {
        using bench::library::group;
        problem.result = bench::fib_group<group>(problem.n);
    };
    return bench::tree_main<bench::fib_problem>(argc, argv, bench::library::name, bench::library::in_workers, solve);
}
