// Argobots: a thread each; --tasklet 1: a tasklet, which cannot block.
#include "../support/library/argobots.hpp"
#include "threads.hpp"

int main(int argc, char **argv) {
    bench::arguments options(argc, argv);
    using threads = bench::forkjoin::thread_kit<bench::library::units<false>>;
    using tasklets = bench::forkjoin::thread_kit<bench::library::units<true>, false>;
    if (options.whole("tasklet", 0, 0, 1) != 0)
        return bench::forkjoin::run_program<tasklets>(options, bench::library::name, bench::library::in_workers);
    return bench::forkjoin::run_program<threads>(options, bench::library::name, bench::library::in_workers);
}
