// Creates and joins N threads, of which D per cent, chosen at random, yield once: figures 3.9, 3.10 and 3.28 to 3.33 of
// the thesis of Iwasaki, on one worker, in cycles a thread.
//
// A library supplies a kit:
//   static constexpr bool can_yield;     false: only D = 0 is measured
//   static constexpr bool is_ordered;    false: the threads are joined as a group, so there is no order of joins
//   static constexpr std::size_t most;   the largest N that makes sense
//   void round(const unsigned char *yields, std::size_t n, bool reverse);   create n, then join n
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "../support/arguments.hpp"
#include "../support/demand.hpp"
#include "../support/record.hpp"
#include "../support/sampling.hpp"

namespace bench::forkjoin {

struct point {
    std::size_t threads; // N
    int deviation;       // D, in per cent
    bool reverse;        // joined last first

    std::string key() const {
        char text[48];
        std::snprintf(text, sizeof text, "n%zu-d%d-%s", threads, deviation, reverse ? "reverse" : "forward");
        return text;
    }
};

struct request {
    std::vector<point> points;
    double seconds; // for each point
    int regions;    // above zero: so many threads at the only point, untimed, for a count of instructions from outside
};

// Every point of the figures and of the table's bars.
inline std::vector<point> all_points() {
    std::vector<point> points;
    for (const bool reverse : {false, true}) {
        for (const int deviation : {0, 1, 2, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100})
            points.push_back({4096, deviation, reverse});
        for (const std::size_t threads : {1, 4, 16, 64, 256, 1024, 16384, 65536})
            for (const int deviation : {0, 100}) points.push_back({threads, deviation, reverse});
        for (const int deviation : {10, 50}) points.push_back({256, deviation, reverse});
    }
    return points;
}

// Of the program's arguments: --n, --d and --reverse ask for one point, else all are measured.
inline request read_request(arguments &options) {
    request read;
    const int threads = options.whole("n", 0, 0, 1 << 20);
    const int deviation = options.whole("d", 0, 0, 100);
    const bool reverse = options.whole("reverse", 0, 0, 1) != 0;
    read.points =
        threads == 0 ? all_points() : std::vector<point>{{static_cast<std::size_t>(threads), deviation, reverse}};
    read.seconds = options.number("point-ms", 6, 0, 60000) / 1e3;
    read.regions = options.whole("regions", 0, 0, 1'000'000'000);
    return read;
}

// Which of n threads yield: exactly n * deviation / 100, rounded, the same ones in every library.
inline std::vector<unsigned char> choose_yielding(std::size_t n, int deviation) {
    std::vector<unsigned char> yields(n, 0);
    std::fill_n(yields.begin(), (n * static_cast<std::size_t>(deviation) + 50) / 100, static_cast<unsigned char>(1));
    std::shuffle(yields.begin(), yields.end(), std::mt19937(20190901));
    return yields;
}

// How many bodies have run since the last reset, of a kit whose body calls count_body(). Bodies count only while a
// round is verified: `counting` is read in each, which costs all libraries the same load.
inline std::atomic<std::uint64_t> bodies{0};
inline bool counting = false;

inline void count_body() {
    if (counting) [[unlikely]]
        bodies.fetch_add(1, std::memory_order_relaxed);
}

template <class Kit> void verify(Kit &kit, const std::vector<unsigned char> &yields, bool reverse) {
    bodies.store(0, std::memory_order_relaxed);
    counting = true;
    kit.round(yields.data(), yields.size(), reverse);
    counting = false;
    demand(bodies.load(std::memory_order_relaxed) == yields.size(),
           "not every thread ran exactly once before its join");
}

template <class Kit> bool can_run(const point &one) {
    return (Kit::can_yield || one.deviation == 0) && (Kit::is_ordered || !one.reverse) && one.threads <= Kit::most;
}

template <class Kit> void measure(Kit &kit, const request &asked, record &result) {
    for (const point &one : asked.points) {
        if (!can_run<Kit>(one)) continue;
        const std::vector<unsigned char> yields = choose_yielding(one.threads, one.deviation);
        verify(kit, yields, one.reverse);
        const double cycles = median_cycles([&] { kit.round(yields.data(), one.threads, one.reverse); }, asked.seconds);
        result.number(one.key(), cycles / static_cast<double>(one.threads));
    }
}

// The whole measurement, called inside the library's one worker.
template <class Kit> void run(Kit &kit, const request &asked, record &result) {
    if (asked.regions == 0) return measure(kit, asked, result);
    const point one = asked.points.front();
    demand(asked.points.size() == 1 && can_run<Kit>(one), "--regions needs --n, and a point that this library can run");
    const std::vector<unsigned char> yields = choose_yielding(one.threads, one.deviation);
    for (std::size_t done = 0; done < static_cast<std::size_t>(asked.regions); done += one.threads)
        kit.round(yields.data(), one.threads, one.reverse);
}

// The rest of a program that has read its own options.
template <class Kit, class In_workers>
int run_program(arguments &options, const char *library, In_workers in_workers, record *prepared = nullptr) {
    const request asked = read_request(options);
    options.finish();
    record fresh("forkjoin", library);
    record &result = prepared ? *prepared : fresh;
    in_workers(1, [&](auto &...pool) {
        Kit kit{pool...};
        run(kit, asked, result);
    });
    result.print();
    return 0;
}

} // namespace bench::forkjoin
