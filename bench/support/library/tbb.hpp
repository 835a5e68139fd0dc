// How the benchmarks use oneTBB: README.md says what the words are.
#pragma once

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

#include <cstddef>

namespace bench::library {

inline constexpr const char *name = "tbb";

// Runs f in an arena of `workers` threads, the caller's included.
inline constexpr auto in_workers = [](int workers, auto f) {
    const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(workers));
    tbb::task_arena arena(workers);
    arena.execute([&] { f(); });
};

class group {
public:
    template <class Function> void run(Function f) { group_.run(f); }
    void wait() { group_.wait(); }

private:
    tbb::task_group group_;
};

} // namespace bench::library
