// POSIX threads, of one core.
#include "../support/library/pthread.hpp"
#include "yield.hpp"

int main(int argc, char **argv) {
    using namespace bench::library;
    bench::arguments options(argc, argv);
    return bench::yielding::run_program<threads>(options, name, in_workers, [] { threads::yield(); });
}
