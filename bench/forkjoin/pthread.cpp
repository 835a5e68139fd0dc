// POSIX threads. N is kept small: each costs a stack and some ten microseconds.
#include "../support/library/pthread.hpp"
#include "threads.hpp"

int main(int argc, char **argv) {
    bench::arguments options(argc, argv);
    return bench::forkjoin::run_program<bench::forkjoin::thread_kit<bench::library::threads, true, 256>>(
        options, bench::library::name, bench::library::in_workers);
}
