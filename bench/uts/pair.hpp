// uts for a library that has a function `join(f, g)`: the children are halved until one is left.
#pragma once

#include "uts.hpp"

namespace bench {

template <class Join> long uts_pair(const uts_node &node, int deepest, Join join);

template <class Join> long uts_children(const uts_node &node, int deepest, int from, int to, Join join) {
    if (to - from == 1) return uts_pair(node.child(from), deepest, join);
    const int middle = from + (to - from) / 2;
    const auto [one, other] = join([&] { return uts_children(node, deepest, from, middle, join); },
                                   [&] { return uts_children(node, deepest, middle, to, join); });
    return one + other;
}

template <class Join> long uts_pair(const uts_node &node, int deepest, Join join) {
    const int count = uts_problem::count_children(node, deepest);
    return count == 0 ? 1 : 1 + uts_children(node, deepest, 0, count, join);
}

} // namespace bench
