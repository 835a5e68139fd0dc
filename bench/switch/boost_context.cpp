// Boost.Context: a bare jump between two fcontexts.
#include "switch.hpp"

#include <boost/context/detail/fcontext.hpp>

namespace {

using namespace boost::context::detail;

struct kit {
    static inline fcontext_t saved[2] = {};
    static inline void (*main)() = nullptr;
    static void start(std::byte *top, void (*side)()) {
        main = side;
        const auto run = [](transfer_t from) {
            saved[0] = from.fctx;
            main();
        };
        saved[1] = jump_fcontext(make_fcontext(top, bench::switching::stack_size, run), nullptr).fctx;
    }
    static void go(int, int to) { saved[to] = jump_fcontext(saved[to], nullptr).fctx; }
};

} // namespace

int main(int argc, char **argv) {
    bench::arguments options(argc, argv);
    return bench::switching::run_program<kit>(options, "boost_context");
}
