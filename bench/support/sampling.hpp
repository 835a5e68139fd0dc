// Repeats something short until it can be believed, and gives the median.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "process.hpp"
#include "work.hpp"

namespace bench {

inline double median_of(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    const std::size_t count = values.size();
    return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

// What calls of `round` return in `seconds`, of three calls at least.
template <class Round> std::vector<double> sample(Round &&round, double seconds) {
    std::vector<double> samples;
    const double end = wall_seconds() + seconds;
    while (samples.size() < 3 || wall_seconds() < end) samples.push_back(round());
    return samples;
}

// The median time of a call of `round`, in cycles of the time stamp counter. A sample is as many calls as take about
// 20 microseconds; samples are taken for `seconds`, three at least. The first calls warm up and find that number.
template <class Round> double median_cycles(Round &&round, double seconds) {
    constexpr std::uint64_t shortest = 50'000;
    std::uint64_t calls = 1;
    for (;;) {
        const std::uint64_t begin = time_stamp();
        for (std::uint64_t i = 0; i < calls; ++i) round();
        if (time_stamp() - begin >= shortest || calls >= (1u << 24)) break;
        calls *= 2;
    }
    const auto cycles = [&] {
        const std::uint64_t begin = time_stamp();
        for (std::uint64_t i = 0; i < calls; ++i) round();
        return static_cast<double>(time_stamp() - begin) / static_cast<double>(calls);
    };
    return median_of(sample(cycles, seconds));
}

// The median time of a call in seconds, of up to `samples` calls within `budget` seconds, one at least.
template <class Call> double median_seconds(Call &&call, int samples, double budget) {
    std::vector<double> taken;
    const double begin = wall_seconds();
    do {
        const double before = wall_seconds();
        call();
        taken.push_back(wall_seconds() - before);
    } while (static_cast<int>(taken.size()) < samples && wall_seconds() - begin < budget);
    return median_of(std::move(taken));
}

} // namespace bench
