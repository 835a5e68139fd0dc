// Comity. --direct 1: each gives the hart to the other by name, not to whoever is next. --own-tls 1: each has
// thread-local storage of its own, which a switch changes.
#include "../support/library/comity.hpp"
#include "yield.hpp"

int main(int argc, char **argv) {
    using namespace bench::library;
    bench::arguments options(argc, argv);
    choose_technique(options);
    attributes.own_tls = options.whole("own-tls", 0, 0, 1);
    if (options.whole("direct", 0, 0, 1) != 0)
        return bench::yielding::run_program<threads>(options, name, in_workers,
                                                     [](comity_thread_t *other) { comity_thread_yield_to(other); });
    return bench::yielding::run_program<threads>(options, name, in_workers, [] { threads::yield(); });
}
