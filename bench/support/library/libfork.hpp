// How the benchmarks use libfork: README.md says what the words are. Stackless coroutines on its lazy pool.
#pragma once

#include <libfork.hpp>

#include <cstddef>

namespace bench::library {

inline constexpr const char *name = "libfork";

// Runs f with a pool of `workers` threads.
inline constexpr auto in_workers = [](int workers, auto f) {
    lf::lazy_pool pool(static_cast<std::size_t>(workers));
    f(pool);
};

} // namespace bench::library
