// fib for a library that has the word `threads`: one call is a thread, the other is the caller's.
#pragma once

#include "fib.hpp"

namespace bench {

template <class Threads> class fib_threads {
public:
    static void solve(fib_problem &problem) {
        call whole{problem.n, 0};
        run(&whole);
        problem.result = whole.result;
    }

private:
    struct call {
        int n;
        long result;
    };

    static void run(void *argument) {
        call &own = *static_cast<call *>(argument);
        if (own.n < 2) {
            own.result = own.n;
            return;
        }
        call one{own.n - 1, 0}, other{own.n - 2, 0};
        typename Threads::handle thread{};
        Threads::template create<run>(thread, &one);
        run(&other);
        Threads::join(thread);
        own.result = one.result + other.result;
    }
};

} // namespace bench
