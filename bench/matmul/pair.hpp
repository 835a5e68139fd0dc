// matmul for a library that has a function `join(f, g)`: four products are two pairs of pairs.
#pragma once

#include "matmul.hpp"

namespace bench {

template <class Join> void matmul_pair(const product &whole, Join join) {
    if (whole.is_leaf()) return whole.multiply();
    for (int round = 0; round < 2; ++round) {
        auto part = [&](int number) { matmul_pair(whole.part(round, number), join); };
        join([&] { join([&] { part(0); }, [&] { part(1); }); }, [&] { join([&] { part(2); }, [&] { part(3); }); });
    }
}

} // namespace bench
