// Comity.
#include "../support/library/comity.hpp"
#include "parked.hpp"

int main(int argc, char **argv) {
    using namespace bench::library;
    bench::arguments options(argc, argv);
    choose_technique(options);
    return bench::parking::run_program<threads, event>(options, name, in_workers);
}
