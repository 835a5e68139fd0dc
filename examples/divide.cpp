// Divides work recursively with the fork-join pair: sorts numbers by merging, and checks the result.
#include <comity/fork.hpp>
#include <comity/thread.hpp>

#include <algorithm>
#include <cstdio>
#include <random>
#include <vector>

namespace {

using iterator = std::vector<unsigned>::iterator;

void sort(iterator first, iterator last) {
    if (last - first < 1000) return std::sort(first, last);
    const iterator middle = first + (last - first) / 2;
    comity::join([=] { sort(first, middle); }, [=] { sort(middle, last); });
    std::inplace_merge(first, middle, last);
}

} // namespace

int main() {
    std::vector<unsigned> numbers(200'000);
    std::mt19937 random(1);
    for (unsigned &n : numbers) n = static_cast<unsigned>(random());
    const comity::threads scope; // else each outermost join opens a scheduler of its own
    sort(numbers.begin(), numbers.end());
    if (!std::is_sorted(numbers.begin(), numbers.end())) return 1;
    std::printf("%zu numbers sorted on %d harts\n", numbers.size(), comity::hart_count());
}
