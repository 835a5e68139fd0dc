// nqueens for a library that has the word `group`: each safe square but the last is a task.
#pragma once

#include "nqueens.hpp"

namespace bench {

template <class Group> long nqueens_group(board rows, unsigned all) {
    const unsigned free = rows.free(all);
    if (free == 0) return rows.columns == all;
    long results[most_squares];
    int count = 0;
    Group group;
    for_each_square(free, [&](unsigned square) {
        auto task = [result = &results[count++], next = rows.with(square), all] {
            *result = nqueens_group<Group>(next, all);
        };
        if ((free & ~(2 * square - 1)) != 0)
            group.run(task);
        else
            task();
    });
    group.wait();
    long found = 0;
    for (int i = 0; i < count; ++i) found += results[i];
    return found;
}

} // namespace bench
