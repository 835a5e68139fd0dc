// Argobots.
#include "../support/library/argobots.hpp"
#include "threads.hpp"

int main(int argc, char **argv) {
    using threads = bench::uts_threads<bench::library::threads>;
    return bench::tree_main<bench::uts_problem>(argc, argv, bench::library::name, bench::library::in_workers,
                                                threads::solve);
}
