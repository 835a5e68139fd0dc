// libfork.
#include "../support/library/libfork.hpp"
#include "uts.hpp"

namespace {

inline constexpr auto walk = [](auto walk, bench::uts_node node, int deepest) -> lf::task<long> {
    const int count = bench::uts_problem::count_children(node, deepest);
    if (count == 0) co_return 1;
    auto [sizes] = co_await lf::co_new<long>(static_cast<std::size_t>(count));
    for (int i = 0; i + 1 < count; ++i)
        co_await lf::fork(&sizes[static_cast<std::size_t>(i)], walk)(node.child(i), deepest);
    co_await lf::call(&sizes.back(), walk)(node.child(count - 1), deepest);
    co_await lf::join;
    long size = 1;
    for (const long one : sizes) size += one;
    co_return size;
};

} // namespace

int main(int argc, char **argv) {
    auto solve = [](bench::uts_problem &problem, lf::lazy_pool &pool) {
        problem.result = lf::sync_wait(pool, walk, problem.root(), problem.depth);
    };
    return bench::tree_main<bench::uts_problem>(argc, argv, bench::library::name, bench::library::in_workers, solve);
}
