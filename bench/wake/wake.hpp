// How long it takes from a signal until who waits for it runs, when the waiter's core has been asleep for a while.
// Nanoseconds, the median of `--wakes` times.
#pragma once

#include "../support/arguments.hpp"
#include "../support/record.hpp"
#include "../support/sampling.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

namespace bench::waking {

constexpr int idle_ms = 15; // longer than anybody spins

inline std::int64_t now_ns() {
    return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

// One who waits, one who signals; both look at these.
struct meeting {
    std::atomic<std::int64_t> signalled{0}, awake{0};
    std::atomic<int> round{0}; // the round that the waiter is about to wait for
};

// wait(round) returns after signal(round); the waiter's side.
template <class Wait> void sleeper(meeting &m, int wakes, Wait wait) {
    for (int i = 1; i <= wakes; ++i) {
        m.round = i;
        wait(i);
        m.awake = now_ns();
    }
}

// The other side; returns the times. It keeps its own core busy meanwhile.
template <class Signal> std::vector<double> signaller(meeting &m, int wakes, Signal signal) {
    std::vector<double> taken;
    for (int i = 1; i <= wakes; ++i) {
        while (m.round != i) std::this_thread::yield();
        const std::int64_t until = now_ns() + idle_ms * 1'000'000;
        while (now_ns() < until) {
        }
        m.awake = 0;
        m.signalled = now_ns();
        signal(i);
        while (m.awake == 0) {
        }
        taken.push_back(static_cast<double>(m.awake - m.signalled));
    }
    return taken;
}

inline int report(const char *library, std::vector<double> taken) {
    record result("wake", library);
    result.number("ns", median_of(taken));
    result.number("least_ns", *std::min_element(taken.begin(), taken.end()));
    result.print();
    return 0;
}

inline int read_wakes(arguments &options) { return static_cast<int>(options.whole("wakes", 50, 1, 100000)); }

} // namespace bench::waking
