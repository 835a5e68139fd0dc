// What the kernels of the NAS parallel benchmarks share: the report's random numbers, and a program that runs one
// kernel. They are written from the report (Bailey and others, RNR-94-007) and its later revisions for OpenMP; the
// constants of the classes, those that verify among them, are the benchmarks' own. A kernel that does not verify is
// refused.
//   KERNEL [--class S|W|A] [--threads N [--more-threads M]] [--samples S --budget-s B]
// With --more-threads runs with N and with M threads alternate, for what disturbs the machine should disturb both.
#pragma once

#include <omp.h>

#include <cstdint>
#include <string>
#include <vector>

#include "../support/arguments.hpp"
#include "../support/demand.hpp"
#include "../support/record.hpp"
#include "../support/sampling.hpp"

namespace npb {

// x' = 5^13 x mod 2^46, and x' 2^-46 is the number. Products wrap at 2^64, of which 2^46 is a divisor.
class random_stream {
public:
    static constexpr std::uint64_t factor = 1220703125;
    explicit random_stream(std::uint64_t seed) : x_(seed) {}

    double next() {
        x_ = x_ * factor & mask;
        return static_cast<double>(x_) * 0x1p-46;
    }
    void skip(std::uint64_t numbers) {
        for (std::uint64_t power = factor; numbers != 0; numbers >>= 1, power = power * power & mask)
            if (numbers & 1) x_ = x_ * power & mask;
    }

private:
    static constexpr std::uint64_t mask = (std::uint64_t{1} << 46) - 1;
    std::uint64_t x_;
};

inline bool near(double value, double wanted, double relative) {
    return std::abs(value - wanted) <= relative * std::abs(wanted);
}

// A kernel is a type with
//   static constexpr const char *name;
//   explicit Kernel(char which);     of class S, W or A
//   void prepare();                  before each run, not timed
//   void run();                      what the benchmark times
//   bool verified() const;
template <class Kernel> int main_of(int argc, char **argv) {
    bench::arguments options(argc, argv);
    const std::string which = options.word("class", "S", {"S", "W", "A"});
    const int threads = options.whole("threads", 2, 1, 1024),
              more = options.whole("more-threads", threads, threads, 1024),
              samples = options.whole("samples", 9, 1, 1000);
    const double budget = options.number("budget-s", 1, 0, 600);
    options.finish();

    omp_set_num_threads(more); // kernels make room for so many
    Kernel kernel(which[0]);
    const auto once = [&](int width) {
        omp_set_num_threads(width);
        int team = 0;
#pragma omp parallel
#pragma omp single
        team = omp_get_num_threads();
        bench::demand(team == width, "the team is not of the width that was asked for");
        kernel.prepare();
        const double begin = bench::wall_seconds();
        kernel.run();
        const double end = bench::wall_seconds();
        bench::demand(kernel.verified(), "the kernel does not verify");
        return end - begin;
    };
    std::vector<int> widths{threads};
    if (more != threads) widths.push_back(more);
    std::vector<std::vector<double>> taken(widths.size());
    for (const int width : widths) once(width); // warm-up: pages, caches, the team
    const double begin = bench::wall_seconds();
    do
        for (std::size_t i = 0; i < widths.size(); ++i) taken[i].push_back(once(widths[i]));
    while (static_cast<int>(taken[0].size()) < samples && bench::wall_seconds() - begin < budget);

    bench::record result(Kernel::name, "openmp");
    result.word("class", which).number("threads", threads).number("samples", static_cast<double>(taken[0].size()));
    result.number("seconds_low", *std::min_element(taken[0].begin(), taken[0].end()));
    result.number("seconds", bench::median_of(std::move(taken[0])));
    if (more != threads) result.number("seconds_more", bench::median_of(std::move(taken[1])));
    result.print();
    return 0;
}

} // namespace npb
