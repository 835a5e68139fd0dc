// nqueens for a library that has the word `threads`: each safe square but the last is a thread.
#pragma once

#include "nqueens.hpp"

namespace bench {

template <class Threads> class nqueens_threads {
public:
    static void solve(nqueens_problem &problem) {
        call whole{{}, problem.all(), 0};
        run(&whole);
        problem.result = whole.result;
    }

private:
    struct call {
        board rows;
        unsigned all;
        long result;
    };

    static void run(void *argument) {
        call &own = *static_cast<call *>(argument);
        own.result = own.rows.columns == own.all;
        const unsigned free = own.rows.free(own.all);
        if (free == 0) return;
        call calls[most_squares];
        typename Threads::handle threads[most_squares];
        int count = 0;
        for_each_square(free, [&](unsigned square) {
            calls[count] = {own.rows.with(square), own.all, 0};
            if ((free & ~(2 * square - 1)) != 0) Threads::template create<run>(threads[count], &calls[count]);
            ++count;
        });
        run(&calls[count - 1]);
        for (int i = count - 1; i-- > 0;) Threads::join(threads[i]);
        for (int i = 0; i < count; ++i) own.result += calls[i].result;
    }
};

} // namespace bench
