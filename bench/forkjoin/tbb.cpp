// oneTBB: tasks of one group. They run to completion, and are waited for together.
#include "../support/library/tbb.hpp"
#include "forkjoin.hpp"

namespace {

struct kit {
    static constexpr bool can_yield = false, is_ordered = false;
    static constexpr std::size_t most = 65536;

    void round(const unsigned char *, std::size_t n, bool) {
        tbb::task_group group;
        for (std::size_t i = 0; i < n; ++i) group.run([] { bench::forkjoin::count_body(); });
        group.wait();
    }
};

} // namespace

int main(int argc, char **argv) {
    bench::arguments options(argc, argv);
    return bench::forkjoin::run_program<kit>(options, bench::library::name, bench::library::in_workers);
}
