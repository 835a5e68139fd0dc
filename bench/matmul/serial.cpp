// Calls and nothing else: the work that is in the problem.
#include "matmul.hpp"

namespace {

void multiply(const bench::product &whole) {
    if (whole.is_leaf()) return whole.multiply();
    for (int round = 0; round < 2; ++round)
        for (int number = 0; number < 4; ++number) multiply(whole.part(round, number));
}

} // namespace

int main(int argc, char **argv) {
    return bench::tree_main<bench::matmul_problem>(
        argc, argv, "serial", [](int, auto f) { f(); },
        [](bench::matmul_problem &problem) { multiply(problem.whole()); });
}
