// libfork.
#include "../support/library/libfork.hpp"
#include "nqueens.hpp"

namespace {

inline constexpr auto count = [](auto count, bench::board rows, unsigned all) -> lf::task<long> {
    unsigned free = rows.free(all);
    if (free == 0) co_return rows.columns == all;
    long results[bench::most_squares];
    int used = 0;
    for (; (free & (free - 1)) != 0; free &= free - 1)
        co_await lf::fork(&results[used++], count)(rows.with(free & -free), all);
    co_await lf::call(&results[used++], count)(rows.with(free), all);
    co_await lf::join;
    long found = 0;
    for (int i = 0; i < used; ++i) found += results[i];
    co_return found;
};

} // namespace

int main(int argc, char **argv) {
    auto solve = [](bench::nqueens_problem &problem, lf::lazy_pool &pool) {
        problem.result = lf::sync_wait(pool, count, bench::board{}, problem.all());
    };
    return bench::tree_main<bench::nqueens_problem>(argc, argv, bench::library::name, bench::library::in_workers,
                                                    solve);
}
