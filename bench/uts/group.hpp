// uts for a library that has the word `group`: each child but the last is a task.
#pragma once

#include "uts.hpp"

namespace bench {

template <class Group> long uts_group(const uts_node &node, int deepest) {
    const int count = uts_problem::count_children(node, deepest);
    if (count == 0) return 1;
    auto *sizes = static_cast<long *>(__builtin_alloca(static_cast<std::size_t>(count) * sizeof(long)));
    Group group;
    for (int i = 0; i + 1 < count; ++i)
        group.run([size = &sizes[i], child = node.child(i), deepest] { *size = uts_group<Group>(child, deepest); });
    sizes[count - 1] = uts_group<Group>(node.child(count - 1), deepest);
    group.wait();
    long size = 1;
    for (int i = 0; i < count; ++i) size += sizes[i];
    return size;
}

} // namespace bench
