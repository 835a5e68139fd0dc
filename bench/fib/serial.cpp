// Calls and nothing else: the work that is in the problem.
#include "fib.hpp"

namespace {

[[gnu::noinline]] long fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

} // namespace

int main(int argc, char **argv) {
    return bench::tree_main<bench::fib_problem>(
        argc, argv, "serial", [](int, auto f) { f(); },
        [](bench::fib_problem &problem) { problem.result = fib(problem.n); });
}
