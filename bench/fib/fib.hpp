// The Fibonacci number by its recursion, each call of which is spawned: nothing but the cost of a spawn.
#pragma once

#include "../support/tree.hpp"

namespace bench {

struct fib_problem {
    static constexpr const char *name = "fib";

    int n;
    long result = 0;

    static fib_problem read(arguments &options) { return {options.whole("n", 35, 0, 80)}; }
    fib_problem smaller() const { return {n > 8 ? n - 8 : n}; }
    void prepare() { result = -1; }
    void check() const {
        long before = 1, value = 0;
        for (int i = 0; i < n; ++i) {
            const long next = before + value;
            before = value;
            value = next;
        }
        demand(result == value, "wrong Fibonacci number");
    }
};

} // namespace bench
