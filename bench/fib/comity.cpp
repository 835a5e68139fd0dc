// Comity: threads of --technique, or with --pair 1 the fork-join pair `comity::join(f, g)`.
#include "../support/library/comity.hpp"
#include "threads.hpp"

namespace {

long fib_pair(int n) {
    if (n < 2) return n;
    const auto [one, other] = comity::join([&] { return fib_pair(n - 1); }, [&] { return fib_pair(n - 2); });
    return one + other;
}

} // namespace

int main(int argc, char **argv) {
    bench::arguments options(argc, argv);
    bench::library::choose_technique(options);
    const bool with_pairs = bench::library::choose_pairs(options);
    auto solve = [with_pairs](bench::fib_problem &problem) {
        if (with_pairs)
            problem.result = fib_pair(problem.n);
        else
            bench::fib_threads<bench::library::threads>::solve(problem);
    };
    return bench::tree_main<bench::fib_problem>(options, bench::library::name, bench::library::in_workers, solve);
}
