// matmul for a library that has the word `group`: of four products that may run side by side, three are tasks.
#pragma once

#include "matmul.hpp"

namespace bench {

template <class Group> void matmul_group(const product &whole) {
    if (whole.is_leaf()) return whole.multiply();
    for (int round = 0; round < 2; ++round) {
        Group group;
        for (int i = 0; i < 3; ++i) group.run([part = whole.part(round, i)] { matmul_group<Group>(part); });
        matmul_group<Group>(whole.part(round, 3));
        group.wait();
    }
}

} // namespace bench
