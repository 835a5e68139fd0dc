// libfork: coroutines, joined together. They run to completion.
#include "../support/library/libfork.hpp"
#include "forkjoin.hpp"

namespace {

inline constexpr auto body = [](auto) -> lf::task<void> {
    bench::forkjoin::count_body();
    co_return;
};

inline constexpr auto fork_all = [](auto, std::size_t n) -> lf::task<void> {
    for (std::size_t i = 0; i < n; ++i) co_await lf::fork(body)();
    co_await lf::join;
};

struct kit {
    static constexpr bool can_yield = false, is_ordered = false;
    static constexpr std::size_t most = 65536;

    lf::lazy_pool &pool;

    void round(const unsigned char *, std::size_t n, bool) { lf::sync_wait(pool, fork_all, n); }
};

} // namespace

int main(int argc, char **argv) {
    bench::arguments options(argc, argv);
    return bench::forkjoin::run_program<kit>(options, bench::library::name, bench::library::in_workers);
}
