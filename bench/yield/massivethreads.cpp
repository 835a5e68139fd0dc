// MassiveThreads, child-first.
#include "../support/library/massivethreads.hpp"
#include "yield.hpp"

int main(int argc, char **argv) {
    using namespace bench::library;
    bench::arguments options(argc, argv);
    return bench::yielding::run_program<threads>(options, name, in_workers, [] { threads::yield(); });
}
