// Ranks 1..3 park below a function of a telling name; then rank 0 stops for the debugger.
#include "core/sched.hpp"
#include "model/spmd/team.hpp"
#include "sync/wait_list.hpp"

#include <atomic>

namespace {
std::atomic<bool> go{false};
std::atomic<unsigned> waiting{0};
comity::sync::wait_list list;

__attribute__((noinline)) void parked_below_here(unsigned rank) {
    volatile unsigned in_stack[] = {rank, rank + 100};
    waiting.fetch_add(1);
    list.wait([] { return go.load(); });
    asm volatile("" ::"r"(rank), "r"(in_stack[1]));
}

// Inlined, so that gdb has more than one frame at the place where the process stops.
__attribute__((always_inline)) inline void stops_here() {
    asm volatile("nop");
    __builtin_trap();
}

void body(void *, unsigned rank) {
    if (rank != 0) return parked_below_here(rank);
    while (waiting.load() != 3) comity::core::let_others_run();
    stops_here();
}
} // namespace

int main() { comity::spmd::run(comity::spmd::prepare(4), body, nullptr); }
