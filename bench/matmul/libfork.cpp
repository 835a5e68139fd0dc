// libfork.
#include "../support/library/libfork.hpp"
#include "matmul.hpp"

namespace {

inline constexpr auto multiply = [](auto multiply, bench::product whole) -> lf::task<void> {
    if (whole.is_leaf()) {
        whole.multiply();
        co_return;
    }
    for (int round = 0; round < 2; ++round) {
        for (int i = 0; i < 3; ++i) co_await lf::fork(multiply)(whole.part(round, i));
        co_await lf::call(multiply)(whole.part(round, 3));
        co_await lf::join;
    }
};

} // namespace

int main(int argc, char **argv) {
    auto solve = [](bench::matmul_problem &problem, lf::lazy_pool &pool) {
        lf::sync_wait(pool, multiply, problem.whole());
    };
    return bench::tree_main<bench::matmul_problem>(argc, argv, bench::library::name, bench::library::in_workers, solve);
}
