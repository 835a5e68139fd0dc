// Harts bound on a machine that hwloc makes up (the test's environment: HWLOC_SYNTHETIC, COMITY_BIND, COMITY_HARTS):
// two NUMA nodes, each with two caches of the third level, each with two cores that have two CPUs.
#include "comity/core.h"
#include "comity/thread.h"
#include "scheduler/victims.hpp"
#include "sys/topology.hpp"

#include <atomic>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

using namespace comity;

namespace {

class synthetic : public testing::Test {
    void SetUp() override {
        comity_hart_count();
        if (std::string(sys::machine().source()) != "hwloc") GTEST_SKIP() << "no hwloc here";
        ASSERT_FALSE(sys::machine().is_this_machine());
    }
};

std::vector<int> cpus(int hart) {
    std::vector<int> all(64);
    std::size_t n = 0;
    EXPECT_EQ(comity_hart_cpus(hart, all.data(), all.size(), &n), 0);
    all.resize(n);
    return all;
}

comity_location_t location(int hart) {
    comity_location_t l{};
    EXPECT_EQ(comity_hart_location(hart, &l), 0);
    return l;
}

void bind(int hart, const std::vector<int> &to) { EXPECT_EQ(comity_hart_bind(hart, to.data(), to.size()), 0); }

} // namespace

TEST_F(synthetic, is_read_as_described) {
    const sys::topology &m = sys::machine();
    EXPECT_EQ(m.size(), 16U);
    EXPECT_EQ(m.count(sys::part::core), 8U);
    EXPECT_EQ(m.count(sys::part::last_cache), 4U);
    EXPECT_EQ(m.count(sys::part::numa_node), 2U);
}

TEST_F(synthetic, harts_are_bound_to_cores_in_order) {
    for (int i = 0; i < 8; ++i) {
        const comity_location_t l = location(i);
        EXPECT_EQ(l.core, i);
        EXPECT_EQ(l.last_cache, i / 2);
        EXPECT_EQ(l.numa_node, i / 4);
        EXPECT_EQ(l.cpu, -1) << "a core has two CPUs";
        EXPECT_EQ(cpus(i).size(), 2U);
    }
}

TEST_F(synthetic, victims_are_taken_by_where_harts_are_bound) {
    const auto v = scheduler::victims::make(8);
    ASSERT_TRUE(v);
    for (unsigned random = 0; random < 20; ++random) {
        EXPECT_EQ(v->at(2, 0, random), 3U);
        EXPECT_EQ(std::set<unsigned>({v->at(2, 1, random), v->at(2, 2, random)}), (std::set<unsigned>{0, 1}));
        for (unsigned i = 3; i < 7; ++i) EXPECT_GE(v->at(2, i, random), 4U);
    }
}

TEST_F(synthetic, threads_run_on_harts_bound_to_cpus_that_do_not_exist) {
    static std::atomic<int> sum{0};
    ASSERT_EQ(comity_threads_begin(), 0);
    comity_thread_attr_t attr{};
    attr.detached = 1;
    const auto add = [](void *) -> void * {
        sum.fetch_add(1, std::memory_order_relaxed);
        return nullptr;
    };
    for (int i = 0; i < 1000; ++i) ASSERT_EQ(comity_thread_create(nullptr, &attr, add, nullptr), 0);
    comity_threads_end();
    EXPECT_EQ(sum.load(), 1000);
}

TEST_F(synthetic, a_hart_that_is_bound_elsewhere_has_other_neighbours) {
    const std::vector<int> before = cpus(0), to = cpus(7);
    bind(0, to);
    EXPECT_EQ(location(0).core, 7);
    const auto v = scheduler::victims::make(8);
    ASSERT_TRUE(v);
    EXPECT_EQ(v->at(7, 0, 0), 0U);
    bind(0, {});
    EXPECT_EQ(location(0).numa_node, -1);
    EXPECT_EQ(cpus(0).size(), 16U);
    bind(0, before);
}
