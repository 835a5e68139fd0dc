// fib for a library that has the word `group`: one call is a task, the other is the caller's.
#pragma once

#include "fib.hpp"

namespace bench {

template <class Group> long fib_group(int n) {
    if (n < 2) return n;
    long one = 0;
    Group group;
    group.run([&one, n] { one = fib_group<Group>(n - 1); });
    const long other = fib_group<Group>(n - 2);
    group.wait();
    return one + other;
}

} // namespace bench
