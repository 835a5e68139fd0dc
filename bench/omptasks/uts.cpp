// Unbalanced tree search, each child a task.
//   uts [--depth D] [--seed S] [--workers W]
#include "../uts/uts.hpp"
#include "omptasks.hpp"

namespace {

long walk(const bench::uts_node &node, int deepest) {
    const int count = bench::uts_problem::count_children(node, deepest);
    if (count == 0) return 1;
    auto *sizes = static_cast<long *>(__builtin_alloca(static_cast<std::size_t>(count) * sizeof(long)));
    for (int i = 0; i < count; ++i) {
        long *size = &sizes[i];
        const bench::uts_node child = node.child(i);
#pragma omp task firstprivate(size, child, deepest)
        *size = walk(child, deepest);
    }
#pragma omp taskwait
    long sum = 1;
    for (int i = 0; i < count; ++i) sum += sizes[i];
    return sum;
}

struct problem : bench::uts_problem {
    static problem read(bench::arguments &options) { return {bench::uts_problem::read(options)}; }
    problem smaller() const { return {bench::uts_problem::smaller()}; }
    void solve() { result = walk(root(), depth); }
};

} // namespace

int main(int argc, char **argv) { return bench::omptasks_main<problem>(argc, argv); }
