// OpenMP: tasks, waited for together. libgomp runs a task at its creation when 64 times as many as threads are waiting,
// or when the team is one thread, so this is what its users get, and no queue.
#include "../support/library/openmp.hpp"
#include "forkjoin.hpp"

namespace {

struct kit {
    static constexpr bool can_yield = false, is_ordered = false;
    static constexpr std::size_t most = 65536;

    void round(const unsigned char *, std::size_t n, bool) {
        for (std::size_t i = 0; i < n; ++i) {
#pragma omp task
            bench::forkjoin::count_body();
        }
#pragma omp taskwait
    }
};

} // namespace

int main(int argc, char **argv) {
    bench::arguments options(argc, argv);
    return bench::forkjoin::run_program<kit>(options, bench::library::name, bench::library::in_workers);
}
