// fib for a library that has a function `join(f, g)`.
#pragma once

#include "fib.hpp"

namespace bench {

template <class Join> long fib_pair(int n, Join join) {
    if (n < 2) return n;
    const auto [one, other] = join([&] { return fib_pair(n - 1, join); }, [&] { return fib_pair(n - 2, join); });
    return one + other;
}

} // namespace bench
