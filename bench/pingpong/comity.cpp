// Comity: a mutex and conditions; with --semaphore 1 semaphores.
#include "../support/library/comity.hpp"
#include "pingpong.hpp"

int main(int argc, char **argv) {
    using namespace bench::library;
    using conditions = bench::turns::by_condition<mutex, condition>;
    using semaphores = bench::turns::by_semaphore<semaphore>;
    bench::arguments options(argc, argv);
    choose_technique(options);
    if (options.whole("semaphore", 0, 0, 1) != 0)
        return bench::turns::run_program<threads, semaphores>(options, name, "semaphore", in_workers);
    return bench::turns::run_program<threads, conditions>(options, name, "condition", in_workers);
}
