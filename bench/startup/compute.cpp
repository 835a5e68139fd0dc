// A program with no parallelism, about one second long: what `comity run` may cost somebody who has no use for it.
//   compute [--iterations N]
#include "../support/arguments.hpp"
#include "../support/process.hpp"
#include "../support/work.hpp"

int main(int argc, char **argv) {
    bench::arguments options(argc, argv);
    const double iterations = options.number("iterations", 8e8, 1, 1e15);
    options.finish();
    const double begin = bench::wall_seconds();
    bench::spin_iterations(static_cast<std::uint64_t>(iterations));
    std::printf("{\"program\":\"compute\",\"compute_s\":%.6f,\"kernel_threads\":%d,\"verified\":true}\n",
                bench::wall_seconds() - begin, bench::kernel_threads());
}
