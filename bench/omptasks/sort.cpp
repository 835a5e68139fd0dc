// Merge sort of numbers (Cilksort: four quarters, merged in pairs, each merge divided by binary search), down to pieces
// of 32.
//   sort [--log2-n N] [--workers W]
#include <algorithm>
#include <cstdint>
#include <vector>

#include "omptasks.hpp"

namespace {

using number = std::uint32_t;
constexpr std::ptrdiff_t piece = 32;

void merge(const number *a, const number *a_end, const number *b, const number *b_end, number *to) {
    if (a_end - a < b_end - b) {
        std::swap(a, b);
        std::swap(a_end, b_end);
    }
    if (a_end - a + (b_end - b) <= 2 * piece) {
        std::merge(a, a_end, b, b_end, to);
        return;
    }
    const number *a_middle = a + (a_end - a) / 2, *b_middle = std::lower_bound(b, b_end, *a_middle);
    number *to_middle = to + (a_middle - a) + (b_middle - b);
#pragma omp task
    merge(a, a_middle, b, b_middle, to);
#pragma omp task
    merge(a_middle, a_end, b_middle, b_end, to_middle);
#pragma omp taskwait
}

// `room` is as large as what is sorted.
void sort(number *from, std::ptrdiff_t count, number *room) {
    if (count <= piece) {
        std::sort(from, from + count);
        return;
    }
    const std::ptrdiff_t quarter = count / 4, half = 2 * quarter;
    for (int i = 0; i < 4; ++i) {
        const std::ptrdiff_t begin = i * quarter, size = i < 3 ? quarter : count - 3 * quarter;
#pragma omp task
        sort(from + begin, size, room + begin);
    }
#pragma omp taskwait
#pragma omp task
    merge(from, from + quarter, from + quarter, from + half, room);
#pragma omp task
    merge(from + half, from + half + quarter, from + half + quarter, from + count, room + half);
#pragma omp taskwait
    merge(room, room + half, room + half, room + count, from);
}

struct problem {
    static constexpr const char *name = "sort";

    int log2_n;
    std::vector<number> numbers, room;

    static problem read(bench::arguments &options) { return {options.whole("log2-n", 20, 6, 26), {}, {}}; }
    problem smaller() const { return {log2_n > 10 ? log2_n - 4 : log2_n, {}, {}}; }
    void prepare() {
        numbers.resize(std::size_t{1} << log2_n);
        room.resize(numbers.size());
        number seed = 1;
        for (number &one : numbers) one = seed = seed * 1664525u + 1013904223u;
    }
    void solve() { sort(numbers.data(), static_cast<std::ptrdiff_t>(numbers.size()), room.data()); }
    void check() const { bench::demand(std::is_sorted(numbers.begin(), numbers.end()), "not sorted"); }
};

} // namespace

int main(int argc, char **argv) { return bench::omptasks_main<problem>(argc, argv); }
