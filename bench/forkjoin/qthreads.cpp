// Qthreads.
#include "../support/library/qthreads.hpp"
#include "threads.hpp"

int main(int argc, char **argv) {
    bench::arguments options(argc, argv);
    return bench::forkjoin::run_program<bench::forkjoin::thread_kit<bench::library::threads>>(
        options, bench::library::name, bench::library::in_workers);
}
