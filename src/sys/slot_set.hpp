// A set of small numbers, as bits in memory of the owner's. Taking one finds the lowest. Not thread safe.
#pragma once

#include <bit>
#include <cstdint>

namespace comity::sys {

class slot_set {
public:
    static constexpr std::uint32_t words_for(std::uint32_t numbers) noexcept { return (numbers + 63) / 64; }

    // The numbers 0 .. 64 * words - 1; the words must be zero.
    void create(std::uint64_t *bits, std::uint32_t words) noexcept { bits_ = bits, first_ = words_ = words; }
    [[nodiscard]] std::uint32_t size() const noexcept { return size_; }
    [[nodiscard]] bool has(std::uint32_t number) const noexcept { return bits_[number / 64] >> number % 64 & 1; }

    void put(std::uint32_t number) noexcept {
        bits_[number / 64] |= std::uint64_t{1} << number % 64;
        if (number / 64 < first_) first_ = number / 64;
        ++size_;
    }
    // The number must be in the set.
    void remove(std::uint32_t number) noexcept {
        bits_[number / 64] &= ~(std::uint64_t{1} << number % 64);
        --size_;
    }
    // Takes out the lowest; the set must not be empty.
    std::uint32_t take() noexcept {
        while (bits_[first_] == 0) ++first_;
        const std::uint32_t number = first_ * 64 + static_cast<std::uint32_t>(std::countr_zero(bits_[first_]));
        remove(number);
        return number;
    }
    // Takes out the lowest and those that follow it without a gap: returns the first, and how many there were.
    std::uint32_t take_run(std::uint32_t &length) noexcept {
        const std::uint32_t first = take();
        for (length = 1; first + length < words_ * 64 && has(first + length); ++length) remove(first + length);
        return first;
    }

private:
    std::uint64_t *bits_ = nullptr;
    std::uint32_t words_ = 0;
    std::uint32_t first_ = 0; // no word before it has a bit
    std::uint32_t size_ = 0;
};

} // namespace comity::sys
