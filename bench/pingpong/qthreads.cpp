// Qthreads: full and empty words.
#include "../support/library/qthreads.hpp"
#include "pingpong.hpp"

int main(int argc, char **argv) {
    using namespace bench::library;
    bench::arguments options(argc, argv);
    options.whole("semaphore", 1, 1, 1); // it has nothing else
    return bench::turns::run_program<threads, bench::turns::by_semaphore<semaphore>>(options, name, "semaphore",
                                                                                     in_workers);
}
