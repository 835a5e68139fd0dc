// Boost.Fiber.
#include "../support/library/boost_fiber.hpp"
#include "threads.hpp"

int main(int argc, char **argv) {
    bench::arguments options(argc, argv);
    return bench::forkjoin::run_program<bench::forkjoin::thread_kit<bench::library::threads, true, 16384>>(
        options, bench::library::name, bench::library::in_workers);
}
