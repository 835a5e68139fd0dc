// Thesis of Iwasaki, figure 4.12: every thread opens a region of `width` threads until the depth is reached; the leaves
// share a fixed amount of work (none by default, which shows the overhead alone; the thesis has 20000 * 4^5 cycles in
// all).
//   recursion [--depth D] [--width W] [--cycles TOTAL] [--rate R] [--samples S --sample-ms M --budget-s B | --regions
//   K]
#include "../support/audit.hpp"
#include "../support/measure.hpp"
#include "../support/work.hpp"

namespace {

// `path` numbers the node among those of its depth, so that each leaf has an index of its own.
template <class Leaf> void recurse(int depth, int width, std::size_t path, const Leaf &leaf) {
    if (depth == 0) {
        leaf(path);
        return;
    }
#pragma omp parallel for num_threads(width) firstprivate(depth)
    for (int i = 0; i < width; ++i)
        recurse(depth - 1, width, path * static_cast<std::size_t>(width) + static_cast<std::size_t>(i), leaf);
}

void distinct_at_every_level(int depth, int width) {
    if (depth == 0) return;
    bench::demand_distinct_threads(width);
    if (depth == 1) return;
#pragma omp parallel for num_threads(width)
    for (int i = 0; i < width; ++i) distinct_at_every_level(depth - 1, width);
}

void verify(int depth, int width, std::size_t leaves) {
    constexpr int times = 2;
    bench::body_count count(leaves);
    for (int repeat = 0; repeat < times; ++repeat)
        recurse(depth, width, 0, [&](std::size_t path) {
            if (depth > 0) bench::demand_thread(static_cast<int>(path % static_cast<std::size_t>(width)), width, depth);
            count.record(path);
        });
    count.demand_each(times);
    distinct_at_every_level(depth, width);
}

} // namespace

int main(int argc, char **argv) {
    bench::arguments options(argc, argv);
    const int depth = options.whole("depth", 3, 0, 7);
    const int width = options.whole("width", 4, 2, 64);
    const double cycles = options.number("cycles", 0, 0, 1e12);
    const double given_rate = options.number("rate", 0, 0, 1000);
    const bench::limits bounds = bench::read_limits(options);
    options.finish();

    const auto leaves = static_cast<std::size_t>(std::llround(std::pow(width, depth)));
    const double rate = cycles > 0 && given_rate <= 0 ? bench::calibrate_rate() : given_rate;
    const auto iterations = static_cast<std::uint64_t>(cycles / static_cast<double>(leaves) * rate);
    auto region = [=] { recurse(depth, width, 0, [=](std::size_t) { bench::spin_iterations(iterations); }); };
    if (bounds.regions > 0) {
        bench::timed_regions(region, bounds.regions);
        return 0;
    }
    verify(depth, width, leaves);
    const bench::timing result = bench::measure(region, bounds);
    verify(depth, width, leaves);
    const double serial = bench::serial_microseconds([=] { bench::spin_iterations(iterations * leaves); });
    bench::print_timing("recursion", result, static_cast<long>(leaves), serial);
}
