// Argobots.
#include "../support/library/argobots.hpp"
#include "pingpong.hpp"

int main(int argc, char **argv) {
    using namespace bench::library;
    bench::arguments options(argc, argv);
    return bench::turns::run_program<threads, bench::turns::by_condition<mutex, condition>>(options, name, "condition",
                                                                                            in_workers);
}
