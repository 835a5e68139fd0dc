// nqueens for a library that has a function `join(f, g)`: the safe squares are halved until one is left.
#pragma once

#include <bit>

#include "nqueens.hpp"

namespace bench {

template <class Join> long nqueens_pair(board rows, unsigned all, Join join);

template <class Join> long try_squares(board rows, unsigned all, unsigned squares, Join join) {
    if (std::popcount(squares) == 1) return nqueens_pair(rows.with(squares), all, join);
    unsigned low = 0;
    for (int i = std::popcount(squares) / 2; i > 0; --i) low |= (squares & ~low) & -(squares & ~low);
    const auto [one, other] = join([&] { return try_squares(rows, all, low, join); },
                                   [&] { return try_squares(rows, all, squares & ~low, join); });
    return one + other;
}

template <class Join> long nqueens_pair(board rows, unsigned all, Join join) {
    const unsigned free = rows.free(all);
    return free == 0 ? rows.columns == all : try_squares(rows, all, free, join);
}

} // namespace bench
