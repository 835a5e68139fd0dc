// Times one outermost parallel region and prints the result as one line of JSON.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include "arguments.hpp"
#include "process.hpp"

namespace bench {

struct limits {
    double sample_seconds; // length that one sample aims at; it sets how many regions a sample holds
    double budget_seconds; // no new sample starts after this long; at least three are taken
    int samples;
    int regions; // above zero: run just so many regions, untimed, for a count of instructions from outside
};

struct timing {
    double median, lowest, highest, first_quartile; // microseconds per region
    int samples;
    long regions_per_sample;
};

inline limits read_limits(arguments &options) {
    limits read{};
    read.sample_seconds = options.number("sample-ms", 20, 0.01, 60000) / 1e3;
    read.budget_seconds = options.number("budget-s", 4, 0.01, 600);
    read.samples = options.whole("samples", 21, 3, 100000);
    read.regions = options.whole("regions", 0, 0, 1000000000);
    return read;
}

template <class Region> double timed_regions(Region &region, long count) {
    const double begin = wall_seconds();
    for (long i = 0; i < count; ++i) region();
    return wall_seconds() - begin;
}

// Doubles the number of regions until they last long enough to be believed; this is the warm-up as well.
template <class Region> long calibrate_count(Region &region, const limits &bounds) {
    long count = 1;
    double taken = timed_regions(region, count);
    while (taken < bounds.sample_seconds / 2 && count < (1L << 30)) {
        count *= 2;
        taken = timed_regions(region, count);
    }
    const double wanted = static_cast<double>(count) * bounds.sample_seconds / taken;
    return std::max(1L, static_cast<long>(wanted));
}

template <class Region> timing measure(Region region, const limits &bounds) {
    const double begin = wall_seconds();
    timing result{};
    result.regions_per_sample = calibrate_count(region, bounds);
    std::vector<double> samples;
    while (static_cast<int>(samples.size()) < bounds.samples &&
           (samples.size() < 3 || wall_seconds() - begin < bounds.budget_seconds))
        samples.push_back(1e6 * timed_regions(region, result.regions_per_sample) /
                          static_cast<double>(result.regions_per_sample));
    std::sort(samples.begin(), samples.end());
    const std::size_t count = samples.size();
    result.samples = static_cast<int>(count);
    result.median = (samples[(count - 1) / 2] + samples[count / 2]) / 2;
    result.lowest = samples.front();
    result.highest = samples.back();
    result.first_quartile = samples[count / 4];
    return result;
}

// What the bodies take one after the other: the fastest of a few tries.
template <class Bodies> double serial_microseconds(Bodies bodies) {
    double best = 1e30;
    for (int i = 0; i < 3; ++i) best = std::min(best, 1e6 * timed_regions(bodies, 1));
    return best;
}

inline void print_timing(const char *program, const timing &result, long bodies, double serial_us = 0) {
    std::printf("{\"program\":\"%s\",\"us\":%.5f,\"us_low\":%.5f,\"us_high\":%.5f,\"us_quartile\":%.5f,\"samples\":%d,"
                "\"regions_per_sample\":%ld,\"bodies_per_region\":%ld,\"serial_us\":%.5f,\"kernel_threads\":%d,"
                "\"context_switches\":%ld,\"runtime\":\"%s\",\"verified\":true}\n",
                program, result.median, result.lowest, result.highest, result.first_quartile, result.samples,
                result.regions_per_sample, bodies, serial_us, kernel_threads(), context_switches(),
                runtime_path().c_str());
}

} // namespace bench
