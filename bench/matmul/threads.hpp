// matmul for a library that has the word `threads`: of four products that may run side by side, three are threads.
#pragma once

#include "matmul.hpp"

namespace bench {

template <class Threads> class matmul_threads {
public:
    static void solve(matmul_problem &problem) {
        product whole = problem.whole();
        run(&whole);
    }

private:
    static void run(void *argument) {
        const product &own = *static_cast<product *>(argument);
        if (own.is_leaf()) return own.multiply();
        for (int round = 0; round < 2; ++round) {
            product parts[4] = {own.part(round, 0), own.part(round, 1), own.part(round, 2), own.part(round, 3)};
            typename Threads::handle threads[3];
            for (int i = 0; i < 3; ++i) Threads::template create<run>(threads[i], &parts[i]);
            run(&parts[3]);
            for (int i = 3; i-- > 0;) Threads::join(threads[i]);
        }
    }
};

} // namespace bench
