// Comity: threads of --technique, or with --pair 1 the fork-join pair `comity::join(f, g)`.
#include "../support/library/comity.hpp"
#include "threads.hpp"

namespace {

// By pairs: the children are halved until one is left.
long uts_pair(const bench::uts_node &node, int deepest);

long uts_children(const bench::uts_node &node, int deepest, int from, int to) {
    if (to - from == 1) return uts_pair(node.child(from), deepest);
    const int middle = from + (to - from) / 2;
    const auto [one, other] = comity::join([&] { return uts_children(node, deepest, from, middle); },
                                           [&] { return uts_children(node, deepest, middle, to); });
    return one + other;
}

long uts_pair(const bench::uts_node &node, int deepest) {
    const int count = bench::uts_problem::count_children(node, deepest);
    return count == 0 ? 1 : 1 + uts_children(node, deepest, 0, count);
}

} // namespace

int main(int argc, char **argv) {
    bench::arguments options(argc, argv);
    bench::library::choose_technique(options);
    const bool with_pairs = bench::library::choose_pairs(options);
    auto solve = [with_pairs](bench::uts_problem &problem) {
        if (with_pairs)
            problem.result = uts_pair(problem.root(), problem.depth);
        else
            bench::uts_threads<bench::library::threads>::solve(problem);
    };
    return bench::tree_main<bench::uts_problem>(options, bench::library::name, bench::library::in_workers, solve);
}
