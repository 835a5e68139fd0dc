// Whom a hart robs first: those that share its core or its cache of the second level, then those under its last-level
// cache, then those on its NUMA node, then all others; of those that are equally near, anyone. Harts are somewhere only
// if they are bound.
#pragma once

#include <cstdint>
#include <memory>

namespace comity::scheduler {

class victims {
public:
    // Where a hart is: numbers of parts of the machine, -1: in no single one. Every `inner` lies in one `outer`.
    struct location {
        int near = -1;  // the core, or the cache of the second level
        int inner = -1; // the last-level cache, or the NUMA node, if that is the smaller one
        int outer = -1; // the other
    };

    // For harts as they are bound now. Null: no hart is nearer than another one to any of them, or there is no memory;
    // then any order will do.
    static std::unique_ptr<victims> make(unsigned harts) noexcept;
    // The same for harts at these locations; n <= 65535.
    static std::unique_ptr<victims> make(const location *locations, unsigned n) noexcept;

    // The i-th hart that `own` looks at, 0 <= i < n; itself last. `random`: where to begin among equals, the same for
    // all i of one search.
    unsigned at(unsigned own, unsigned i, std::uint32_t random) const noexcept;

private:
    static constexpr unsigned levels = 3;
    struct range {
        std::uint16_t begin = 0, end = 0; // of positions in the order of locations
        unsigned size() const noexcept { return end - begin; }
    };
    struct entry {
        std::uint16_t hart = 0;     // who stands at this position
        std::uint16_t position = 0; // where the hart of this number stands
        range near[levels];         // of the hart of this number: those that share a part with it, itself among them
    };
    victims(std::unique_ptr<entry[]> entries, unsigned n) noexcept : entries_(std::move(entries)), n_(n) {}
    bool all_are_equal() const noexcept;

    std::unique_ptr<entry[]> entries_;
    unsigned n_;
};

} // namespace comity::scheduler
