// Boost.Fiber.
#include "../support/library/boost_fiber.hpp"
#include "barrier.hpp"

int main(int argc, char **argv) {
    using namespace bench::library;
    bench::arguments options(argc, argv);
    return bench::meeting::run_program<threads, barrier>(options, name, in_workers);
}
