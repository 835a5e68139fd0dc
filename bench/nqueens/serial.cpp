// Calls and nothing else: the work that is in the problem.
#include "nqueens.hpp"

namespace {

long count(const bench::board &rows, unsigned all) {
    if (rows.columns == all) return 1;
    long found = 0;
    bench::for_each_square(rows.free(all), [&](unsigned square) { found += count(rows.with(square), all); });
    return found;
}

} // namespace

int main(int argc, char **argv) {
    return bench::tree_main<bench::nqueens_problem>(
        argc, argv, "serial", [](int, auto f) { f(); },
        [](bench::nqueens_problem &problem) { problem.result = count({}, problem.all()); });
}
