// Boost.Fiber.
#include "../support/library/boost_fiber.hpp"
#include "mutex.hpp"

int main(int argc, char **argv) {
    using namespace bench::library;
    bench::arguments options(argc, argv);
    return bench::mutual_exclusion::run_program<threads, mutex>(options, name, in_workers);
}
