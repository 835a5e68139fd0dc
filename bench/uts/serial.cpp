// Calls and nothing else: the work that is in the problem.
#include "uts.hpp"

namespace {

long walk(const bench::uts_node &node, int deepest) {
    const int children = bench::uts_problem::count_children(node, deepest);
    long size = 1;
    for (int i = 0; i < children; ++i) size += walk(node.child(i), deepest);
    return size;
}

} // namespace

int main(int argc, char **argv) {
    return bench::tree_main<bench::uts_problem>(
        argc, argv, "serial", [](int, auto f) { f(); },
        [](bench::uts_problem &problem) { problem.result = walk(problem.root(), problem.depth); });
}
