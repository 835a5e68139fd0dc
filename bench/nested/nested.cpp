// Thesis of Iwasaki, figure 4.7a: nested regions of L x N threads with empty bodies.
//   nested [--outer L] [--inner N] [--samples S --sample-ms M --budget-s B | --regions R]
#include "../support/nest.hpp"

int main(int argc, char **argv) {
    bench::arguments options(argc, argv);
    const int outer = options.whole("outer", 8, 2, 1024);
    const int inner = options.whole("inner", 8, 2, 1024);
    const bench::limits bounds = bench::read_limits(options);
    options.finish();
    bench::run_nest("nested", outer, inner, bounds, [](int i, int j) { asm volatile("" ::"r"(i), "r"(j)); });
}
