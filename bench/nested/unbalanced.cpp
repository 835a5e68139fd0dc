// Thesis of Iwasaki, figure 4.9b: inner loops whose work grows with the outer index i as (i + 1)^alpha. The total stays
// the same for every alpha: 20000 * N cycles for each of the N inner threads together.
//   unbalanced [--threads N] [--alpha A] [--cycles C] [--rate R] [--taskloop 1] [--samples S --sample-ms M --budget-s B
//   |
//   --regions K]
#include <vector>

#include "../support/nest.hpp"
#include "../support/work.hpp"

namespace {

std::vector<std::uint64_t> iterations_of_rows(int threads, double alpha, double cycles, double rate) {
    double sum = 0;
    for (int i = 1; i <= threads; ++i) sum += std::pow(i, alpha);
    std::vector<std::uint64_t> rows;
    for (int i = 1; i <= threads; ++i)
        rows.push_back(static_cast<std::uint64_t>(cycles * threads * std::pow(i, alpha) / sum * rate));
    return rows;
}

} // namespace

int main(int argc, char **argv) {
    bench::arguments options(argc, argv);
    const int threads = options.whole("threads", 8, 2, 1024);
    const double alpha = options.number("alpha", 1, 0, 100);
    const double cycles = options.number("cycles", 20000, 0, 1e12);
    const double given_rate = options.number("rate", 0, 0, 1000);
    const bool taskloop = options.whole("taskloop", 0, 0, 1) == 1;
    const bench::limits bounds = bench::read_limits(options);
    options.finish();
    const double rate = given_rate > 0 ? given_rate : bench::calibrate_rate();
    const std::vector<std::uint64_t> rows = iterations_of_rows(threads, alpha, cycles, rate);
    bench::run_nest(
        "unbalanced", threads, threads, bounds,
        [&](int i, int) { bench::spin_iterations(rows[static_cast<std::size_t>(i)]); }, taskloop);
}
