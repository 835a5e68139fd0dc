// The order in which a hart robs others, on machines of several shapes.
#include "scheduler/victims.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include <gtest/gtest.h>

using comity::scheduler::victims;

namespace {

// Harts 0 … n-1 on consecutive cores: so many to an L2 cache, to a last-level cache, to a NUMA node.
std::vector<victims::location> regular(int n, int l2, int cache, int node) {
    std::vector<victims::location> locations;
    for (int i = 0; i < n; ++i) locations.push_back({i / l2, i / cache, i / node});
    return locations;
}

int distance(const victims::location &a, const victims::location &b) {
    if (a.near == b.near && a.near >= 0) return 0;
    if (a.inner == b.inner && a.inner >= 0) return 1;
    if (a.outer == b.outer && a.outer >= 0) return 2;
    return 3;
}

std::vector<unsigned> search(const victims &v, unsigned own, unsigned n, unsigned random) {
    std::vector<unsigned> found;
    for (unsigned i = 0; i < n; ++i) found.push_back(v.at(own, i, random));
    return found;
}

void expect_near_first(const std::vector<victims::location> &locations) {
    const auto n = static_cast<unsigned>(locations.size());
    const auto v = victims::make(locations.data(), n);
    ASSERT_TRUE(v);
    for (unsigned own = 0; own < n; ++own) {
        for (const unsigned random : {0U, 1U, 5U, 12345U, UINT32_MAX}) {
            const std::vector<unsigned> found = search(*v, own, n, random);
            EXPECT_EQ(std::set<unsigned>(found.begin(), found.end()).size(), n) << "each hart once";
            EXPECT_EQ(found.back(), own);
            for (unsigned i = 1; i + 1 < n; ++i)
                EXPECT_LE(distance(locations[own], locations[found[i - 1]]),
                          distance(locations[own], locations[found[i]]))
                    << "hart " << own << " looks at " << found[i - 1] << " before " << found[i];
        }
    }
}

} // namespace

TEST(victims, those_that_share_more_come_first) {
    expect_near_first(regular(16, 2, 4, 8));
    expect_near_first(regular(8, 1, 4, 4));
    expect_near_first(regular(12, 1, 3, 12));
    expect_near_first(regular(64, 2, 8, 32));
}

TEST(victims, harts_need_not_be_numbered_by_place) {
    auto locations = regular(16, 2, 4, 8);
    for (unsigned i = 0; i < 16; ++i) std::swap(locations[i], locations[(i * 7 + 3) % 16]);
    expect_near_first(locations);
}

TEST(victims, harts_that_are_nowhere_are_far) {
    auto locations = regular(8, 1, 4, 4);
    locations[2] = locations[5] = {};
    expect_near_first(locations);
}

TEST(victims, one_level_needs_no_order) {
    EXPECT_FALSE(victims::make(regular(8, 1, 8, 8).data(), 8));
    EXPECT_FALSE(victims::make(regular(8, 8, 8, 8).data(), 8));
    EXPECT_FALSE(victims::make(regular(8, 1, 1, 1).data(), 8));
    EXPECT_FALSE(victims::make(std::vector<victims::location>(8).data(), 8));
}

TEST(victims, each_of_the_equally_near_is_first_at_times) {
    const auto locations = regular(8, 1, 4, 4);
    const auto v = victims::make(locations.data(), 8);
    ASSERT_TRUE(v);
    std::set<unsigned> near, far;
    for (unsigned random = 0; random < 100; ++random) {
        near.insert(v->at(1, 0, random));
        far.insert(v->at(1, 3, random));
    }
    EXPECT_EQ(near, (std::set<unsigned>{0, 2, 3}));
    EXPECT_EQ(far, (std::set<unsigned>{4, 5, 6, 7}));
}
