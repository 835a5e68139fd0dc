// Thesis of Iwasaki, figure 4.9a: an outer loop too short for the machine, inner iterations of equal work.
//   insufficient [--outer L] [--inner N] [--cycles C] [--rate R] [--taskloop 1] [--samples S --sample-ms M --budget-s B
//   |
//   --regions K]
#include "../support/nest.hpp"
#include "../support/work.hpp"

int main(int argc, char **argv) {
    bench::arguments options(argc, argv);
    const int outer = options.whole("outer", 8, 2, 1024);
    const int inner = options.whole("inner", 8, 2, 1024);
    const double cycles = options.number("cycles", 20000, 0, 1e12);
    const double given_rate = options.number("rate", 0, 0, 1000);
    const bool taskloop = options.whole("taskloop", 0, 0, 1) == 1;
    const bench::limits bounds = bench::read_limits(options);
    options.finish();
    const double rate = given_rate > 0 ? given_rate : bench::calibrate_rate();
    const auto iterations = static_cast<std::uint64_t>(cycles * rate);
    bench::run_nest(
        "insufficient", outer, inner, bounds, [=](int, int) { bench::spin_iterations(iterations); }, taskloop);
}
