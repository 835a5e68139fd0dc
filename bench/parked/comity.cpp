// Comity: threads that wait need little stack; --stack 0 gives them the default size.
#include "../support/library/comity.hpp"
#include "parked.hpp"

int main(int argc, char **argv) {
    using namespace bench::library;
    bench::arguments options(argc, argv);
    choose_technique(options);
    attributes.stack_size = static_cast<std::size_t>(options.whole("stack", 2048, 0, 1 << 30));
    return bench::parking::run_program<threads, event>(options, name, in_workers);
}
