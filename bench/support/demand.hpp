// What ends a benchmark whose numbers would prove nothing.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace bench {

[[noreturn]] inline void refuse(const char *what) {
    std::fprintf(stderr, "benchmark refused: %s\n", what);
    std::exit(1);
}

inline void demand(bool holds, const char *what) {
    if (!holds) refuse(what);
}

} // namespace bench
