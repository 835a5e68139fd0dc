// Comity, each technique by --technique.
#include "../support/library/comity.hpp"
#include "threads.hpp"

int main(int argc, char **argv) {
    bench::arguments options(argc, argv);
    bench::library::choose_technique(options);
    bench::record result("forkjoin", bench::library::name);
    result.word("technique", bench::library::chosen.name);
    using threads = bench::forkjoin::thread_kit<bench::library::threads>;
    using tasks = bench::forkjoin::thread_kit<bench::library::threads, false>;
    if (bench::library::chosen.can_yield)
        return bench::forkjoin::run_program<threads>(options, bench::library::name, bench::library::in_workers,
                                                     &result);
    return bench::forkjoin::run_program<tasks>(options, bench::library::name, bench::library::in_workers, &result);
}
