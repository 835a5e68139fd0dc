// Random numbers that follow from a seed alone.
#pragma once

#include <cstdint>

struct seeded_random {
    std::uint64_t state;
    explicit seeded_random(std::uint64_t seed) : state(seed * 0x9e3779b97f4a7c15U + 1) {}
    // 0 … n - 1
    std::uint32_t operator()(std::uint32_t n) {
        state = state * 6364136223846793005U + 1442695040888963407U;
        return static_cast<std::uint32_t>(state >> 33) % n;
    }
};
