// What the programs by chance have in common: numbers that a seed decides, and work.
#pragma once

#include <chrono>

class chance {
public:
    explicit chance(unsigned seed) : state_(seed) {}
    unsigned below(unsigned n) { return next() % n; }
    chance other(unsigned n) const { return chance(state_ + n * 7919); } // of a rank or a thread

private:
    unsigned next() {
        state_ = state_ * 1664525 + 1013904223;
        return state_ >> 8;
    }
    unsigned state_;
};

inline void compute_us(unsigned us) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(us);
    while (std::chrono::steady_clock::now() < until) {
    }
}
