// Comity: threads of --technique, or with --pair 1 the fork-join pair `comity::join(f, g)`.
#include "../support/library/comity.hpp"
#include "threads.hpp"

namespace {

// By pairs: four products are two pairs of pairs.
void matmul_pair(const bench::product &whole) {
    if (whole.is_leaf()) return whole.multiply();
    for (int round = 0; round < 2; ++round) {
        auto part = [&](int number) { matmul_pair(whole.part(round, number)); };
        comity::join([&] { comity::join([&] { part(0); }, [&] { part(1); }); },
                     [&] { comity::join([&] { part(2); }, [&] { part(3); }); });
    }
}

} // namespace

int main(int argc, char **argv) {
    bench::arguments options(argc, argv);
    bench::library::choose_technique(options);
    const bool with_pairs = bench::library::choose_pairs(options);
    auto solve = [with_pairs](bench::matmul_problem &problem) {
        if (with_pairs)
            matmul_pair(problem.whole());
        else
            bench::matmul_threads<bench::library::threads>::solve(problem);
    };
    return bench::tree_main<bench::matmul_problem>(options, bench::library::name, bench::library::in_workers, solve);
}
