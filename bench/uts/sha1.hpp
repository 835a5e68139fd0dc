// SHA-1 (FIPS 180-4) of a message that fits one block: a few words and one more. As words, in and out: no bytes are
// moved.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace bench {

using sha1_digest = std::array<std::uint32_t, 5>;

// The 80 steps of a block; five variables that change their names instead of their places.
class sha1_block {
public:
    // Of the `count` (at most 12) words at `words`, followed by `last`.
    sha1_block(const std::uint32_t *words, int count, std::uint32_t last) : schedule_{} {
        for (int i = 0; i < count; ++i) schedule_[i] = words[i];
        schedule_[count] = last;
        schedule_[count + 1] = 0x80000000u;
        schedule_[15] = static_cast<std::uint32_t>(count + 1) * 32;
    }

    sha1_digest digest() {
        const sha1_digest start{0x67452301u, 0xefcdab89u, 0x98badcfeu, 0x10325476u, 0xc3d2e1f0u};
        auto [a, b, c, d, e] = start;
#ifdef __clang__
#pragma clang loop unroll(full)
#else
#pragma GCC unroll 16
#endif
        for (unsigned i = 0; i < 80; i += 5) {
            step(i + 0, a, b, c, d, e);
            step(i + 1, e, a, b, c, d);
            step(i + 2, d, e, a, b, c);
            step(i + 3, c, d, e, a, b);
            step(i + 4, b, c, d, e, a);
        }
        return {start[0] + a, start[1] + b, start[2] + c, start[3] + d, start[4] + e};
    }

private:
    static std::uint32_t mix(unsigned i, std::uint32_t b, std::uint32_t c, std::uint32_t d) {
        if (i < 20) return (d ^ (b & (c ^ d))) + 0x5a827999u;
        if (i < 40) return (b ^ c ^ d) + 0x6ed9eba1u;
        if (i < 60) return ((b & c) | (d & (b | c))) + 0x8f1bbcdcu;
        return (b ^ c ^ d) + 0xca62c1d6u;
    }
    std::uint32_t word(unsigned i) {
        if (i < 16) return schedule_[i];
        std::uint32_t &place = schedule_[i % 16];
        place = std::rotl(schedule_[(i + 13) % 16] ^ schedule_[(i + 8) % 16] ^ schedule_[(i + 2) % 16] ^ place, 1);
        return place;
    }
    void step(unsigned i, std::uint32_t a, std::uint32_t &b, std::uint32_t c, std::uint32_t d, std::uint32_t &e) {
        e += std::rotl(a, 5) + mix(i, b, c, d) + word(i);
        b = std::rotl(b, 30);
    }

    std::uint32_t schedule_[16];
};

inline sha1_digest sha1_of(const std::uint32_t *words, int count, std::uint32_t last) {
    return sha1_block(words, count, last).digest();
}

} // namespace bench
