// Qthreads.
#include "../support/library/qthreads.hpp"
#include "threads.hpp"

int main(int argc, char **argv) {
    using threads = bench::nqueens_threads<bench::library::threads>;
    return bench::tree_main<bench::nqueens_problem>(argc, argv, bench::library::name, bench::library::in_workers,
                                                    threads::solve);
}
