// uts for a library that has the word `threads`: each child but the last is a thread.
#pragma once

#include <new>

#include "uts.hpp"

namespace bench {

template <class Threads> class uts_threads {
public:
    static void solve(uts_problem &problem) {
        call whole{problem.root(), problem.depth, 0, {}};
        run(&whole);
        problem.result = whole.result;
    }

private:
    struct call {
        uts_node node;
        int deepest;
        long result;
        typename Threads::handle thread;
    };

    static void run(void *argument) {
        call &own = *static_cast<call *>(argument);
        own.result = 1;
        const int count = uts_problem::count_children(own.node, own.deepest);
        if (count == 0) return;
        auto *calls = static_cast<call *>(__builtin_alloca(static_cast<std::size_t>(count) * sizeof(call)));
        for (int i = 0; i < count; ++i) {
            new (&calls[i]) call{own.node.child(i), own.deepest, 0, {}};
            if (i + 1 < count) Threads::template create<run>(calls[i].thread, &calls[i]);
        }
        run(&calls[count - 1]);
        for (int i = count - 1; i-- > 0;) Threads::join(calls[i].thread);
        for (int i = 0; i < count; ++i) {
            own.result += calls[i].result;
            calls[i].~call();
        }
    }
};

} // namespace bench
