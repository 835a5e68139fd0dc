// Comity: threads of --technique, or with --pair 1 the fork-join pair `comity::join(f, g)`.
#include "../support/library/comity.hpp"
#include "threads.hpp"

#include <bit>

namespace {

// By pairs: the safe squares are halved until one is left.
long nqueens_pair(bench::board rows, unsigned all);

long try_squares(bench::board rows, unsigned all, unsigned squares) {
    if (std::popcount(squares) == 1) return nqueens_pair(rows.with(squares), all);
    unsigned low = 0;
    for (int i = std::popcount(squares) / 2; i > 0; --i) low |= (squares & ~low) & -(squares & ~low);
    const auto [one, other] = comity::join([&] { return try_squares(rows, all, low); },
                                           [&] { return try_squares(rows, all, squares & ~low); });
    return one + other;
}

long nqueens_pair(bench::board rows, unsigned all) {
    const unsigned free = rows.free(all);
    return free == 0 ? rows.columns == all : try_squares(rows, all, free);
}

} // namespace

int main(int argc, char **argv) {
    bench::arguments options(argc, argv);
    bench::library::choose_technique(options);
    const bool with_pairs = bench::library::choose_pairs(options);
    auto solve = [with_pairs](bench::nqueens_problem &problem) {
        if (with_pairs)
            problem.result = nqueens_pair({}, problem.all());
        else
            bench::nqueens_threads<bench::library::threads>::solve(problem);
    };
    return bench::tree_main<bench::nqueens_problem>(options, bench::library::name, bench::library::in_workers, solve);
}
