// Thesis of Iwasaki, figure 4.8a: one parallel region of N threads with an empty body.
//   flat [--threads N] [--samples S --sample-ms M --budget-s B | --regions R]
#include "../support/audit.hpp"
#include "../support/measure.hpp"

namespace {

template <class Body> void flat_region(int threads, const Body &body) {
#pragma omp parallel num_threads(threads)
    body(omp_get_thread_num());
}

// No call inside, but the compiler may not drop the region around it.
struct empty_body {
    void operator()(int number) const { asm volatile("" ::"r"(number)); }
};

void verify(int threads) {
    constexpr int times = 2;
    bench::body_count count(static_cast<std::size_t>(threads));
    for (int i = 0; i < times; ++i)
        flat_region(threads, [&](int number) {
            bench::demand_thread(number, threads, 1);
            count.record(static_cast<std::size_t>(number));
        });
    count.demand_each(times);
    bench::demand_distinct_threads(threads);
}

} // namespace

int main(int argc, char **argv) {
    bench::arguments options(argc, argv);
    const int threads = options.whole("threads", 2, 2, 4096);
    const bench::limits bounds = bench::read_limits(options);
    options.finish();

    auto region = [=] { flat_region(threads, empty_body{}); };
    if (bounds.regions > 0) {
        bench::timed_regions(region, bounds.regions);
        return 0;
    }
    verify(threads);
    const bench::timing result = bench::measure(region, bounds);
    verify(threads);
    bench::print_timing("flat", result, threads);
}
