// The Fibonacci number by its recursion, both calls tasks.
//   fib [--n N] [--workers W]
#include "../fib/fib.hpp"
#include "omptasks.hpp"

namespace {

long fib(int n) {
    if (n < 2) return n;
    long one = 0, other = 0;
#pragma omp task shared(one)
    one = fib(n - 1);
#pragma omp task shared(other)
    other = fib(n - 2);
#pragma omp taskwait
    return one + other;
}

struct problem : bench::fib_problem {
    static problem read(bench::arguments &options) { return {{options.whole("n", 30, 0, 80)}}; }
    problem smaller() const { return {bench::fib_problem::smaller()}; }
    void solve() { result = fib(n); }
};

} // namespace

int main(int argc, char **argv) { return bench::omptasks_main<problem>(argc, argv); }
