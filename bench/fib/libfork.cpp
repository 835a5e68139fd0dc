// libfork.
#include "../support/library/libfork.hpp"
#include "fib.hpp"

namespace {

inline constexpr auto fib = [](auto fib, int n) -> lf::task<long> {
    if (n < 2) co_return n;
    long one = 0, other = 0;
    co_await lf::fork(&one, fib)(n - 1);
    co_await lf::call(&other, fib)(n - 2);
    co_await lf::join;
    co_return one + other;
};

} // namespace

int main(int argc, char **argv) {
    auto solve = [](bench::fib_problem &problem, lf::lazy_pool &pool) {
        problem.result = lf::sync_wait(pool, fib, problem.n);
    };
    return bench::tree_main<bench::fib_problem>(argc, argv, bench::library::name, bench::library::in_workers, solve);
}
