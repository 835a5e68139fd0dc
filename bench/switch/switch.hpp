// Two stacks that give the processor to each other, and nothing else: what a context switch costs at least. Cycles from
// one to the other. Both sides run the same code, as threads that wait in the same function do.
//
// A library supplies a kit:
//   static void start(std::byte *top, void (*side)());   runs side() on the stack that ends at `top`, until it goes to
//   0 static void go(int from, int to);                    saves side `from`, and goes on with side `to`
#pragma once

#include "../support/arguments.hpp"
#include "../support/demand.hpp"
#include "../support/record.hpp"
#include "../support/sampling.hpp"

#include <atomic>
#include <climits>
#include <cstddef>
#include <memory>

namespace bench::switching {

inline constexpr std::size_t stack_size = 64 * 1024;
inline long turns[2] = {0, 0};
// The running side, and how many turns it takes. Not arguments, or the compiler makes code for each side.
inline std::atomic<int> running{1};
inline std::atomic<long> most{LONG_MAX};

template <class Kit> [[gnu::noinline]] void take_turns() {
    const int side = running.load(std::memory_order_relaxed);
    const long n = most.load(std::memory_order_relaxed);
    for (long i = 0; i < n; ++i) {
        ++turns[side];
        Kit::go(side, 1 - side);
    }
}

template <class Kit> int run_program(arguments &options, const char *library) {
    const double seconds = options.number("budget-s", 0.2, 0, 600);
    const int regions = options.whole("regions", 0, 0, 2'000'000'000);
    options.finish();
    record result("switch", library);
    const auto stack = std::make_unique<std::byte[]>(stack_size);
    Kit::start(stack.get() + stack_size, take_turns<Kit>); // aligned as new is, to 16 bytes
    demand(turns[1] == 1, "the other side was not reached");
    running = 0;
    most = regions > 0 ? regions / 2 : 1000;
    if (regions > 0) {
        take_turns<Kit>();
    } else {
        const double cycles = median_cycles(take_turns<Kit>, seconds) / 2000;
        const long before = turns[1];
        take_turns<Kit>();
        demand(turns[1] == before + 1000, "the two sides do not take turns");
        result.number("cycles", cycles);
    }
    result.print();
    return 0;
}

} // namespace bench::switching
