// n queens, each safe square of the next row a task.
//   nqueens [--n N] [--workers W]
#include "../nqueens/nqueens.hpp"
#include "omptasks.hpp"

namespace {

long place(bench::board given, unsigned all) {
    if (given.columns == all) return 1;
    long found[bench::most_squares];
    int count = 0;
    bench::for_each_square(given.free(all), [&](unsigned square) {
        long *result = &found[count++];
#pragma omp task firstprivate(result, given, square, all)
        *result = place(given.with(square), all);
    });
#pragma omp taskwait
    long sum = 0;
    for (int i = 0; i < count; ++i) sum += found[i];
    return sum;
}

struct problem : bench::nqueens_problem {
    static problem read(bench::arguments &options) { return {{options.whole("n", 12, 1, 16)}}; }
    problem smaller() const { return {bench::nqueens_problem::smaller()}; }
    void solve() { result = place({}, all()); }
};

} // namespace

int main(int argc, char **argv) { return bench::omptasks_main<problem>(argc, argv); }
