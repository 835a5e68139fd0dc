// Argobots.
#include "../support/library/argobots.hpp"
#include "parked.hpp"

int main(int argc, char **argv) {
    using namespace bench::library;
    bench::arguments options(argc, argv);
    return bench::parking::run_program<threads, event>(options, name, in_workers);
}
