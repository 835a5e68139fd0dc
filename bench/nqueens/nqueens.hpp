// Ways to put n queens on a board of n columns so that none attacks another; each safe square of the next row is a
// spawn.
#pragma once

#include "../support/tree.hpp"

namespace bench {

// The rows so far, as three masks of attacked columns.
struct board {
    unsigned columns = 0, left = 0, right = 0;

    unsigned free(unsigned all) const { return all & ~(columns | left | right); }
    board with(unsigned square) const { return {columns | square, (left | square) << 1, (right | square) >> 1}; }
};

struct nqueens_problem {
    static constexpr const char *name = "nqueens";
    static constexpr long solutions[] = {1,   1,   0,    0,     2,     10,     4,       40,      92,
                                         352, 724, 2680, 14200, 73712, 365596, 2279184, 14772512};

    int n;
    long result = 0;

    unsigned all() const { return (1u << n) - 1; }
    static nqueens_problem read(arguments &options) { return {options.whole("n", 13, 1, 16)}; }
    nqueens_problem smaller() const { return {n > 3 ? n - 3 : n}; }
    void prepare() { result = -1; }
    void check() const { demand(result == solutions[n], "wrong number of solutions"); }
};

// Calls take(square) for each free square of the next row.
template <class Take> void for_each_square(unsigned free, Take take) {
    for (; free != 0; free &= free - 1) take(free & -free);
}

inline constexpr int most_squares = 16;

} // namespace bench
