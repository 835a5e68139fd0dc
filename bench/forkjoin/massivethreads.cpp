// MassiveThreads: child-first, as it comes; --parent-first 1: the caller goes on.
#include "../support/library/massivethreads.hpp"
#include "threads.hpp"

int main(int argc, char **argv) {
    bench::arguments options(argc, argv);
    bench::library::child_first = options.whole("parent-first", 0, 0, 1) == 0;
    return bench::forkjoin::run_program<bench::forkjoin::thread_kit<bench::library::threads>>(
        options, bench::library::name, bench::library::in_workers);
}
