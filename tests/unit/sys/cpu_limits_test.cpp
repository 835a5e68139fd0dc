#include "sys/cpu_limits.hpp"

#include <sched.h>

#include <gtest/gtest.h>

#include "fake_tree.hpp"

using namespace comity::sys;

namespace {

const std::string mount_v2 = "25 1 0:22 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";
const std::string mount_v1 = "20 1 0:19 / /proc rw - proc proc rw\n"
                             "31 25 0:30 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
                             "32 25 0:31 / /sys/fs/cgroup/cpu,cpuacct rw master:3 - cgroup cgroup rw,cpu,cpuacct\n";

unsigned quota(const fake_tree &tree) {
    cpu_limits limits;
    read_cgroup_quota(tree.root(), limits);
    return limits.quota_thousandths;
}

cpu_limits with(unsigned online, unsigned affinity, unsigned quota) {
    cpu_limits limits;
    limits.online = online;
    limits.affinity = affinity;
    limits.quota_thousandths = quota;
    return limits;
}

} // namespace

TEST(cpu_limits, usable_is_the_smaller_limit_and_never_zero) {
    EXPECT_EQ(with(8, 4, 0).usable(), 4U);
    EXPECT_EQ(with(8, 4, 2000).usable(), 2U);
    EXPECT_EQ(with(8, 4, 16000).usable(), 4U);
    EXPECT_EQ(with(8, 0, 0).usable(), 8U);
    EXPECT_EQ(with(0, 0, 3000).usable(), 3U);
    EXPECT_EQ(with(0, 0, 0).usable(), 1U);
}

TEST(cpu_limits, a_part_of_a_core_counts_as_a_whole_one) {
    EXPECT_EQ(with(8, 8, 500).usable(), 1U);
    EXPECT_EQ(with(8, 8, 1).usable(), 1U);
    EXPECT_EQ(with(8, 8, 1001).usable(), 2U);
    EXPECT_EQ(with(8, 8, 2000).usable(), 2U);
}

TEST(cpu_limits, version_2_reads_the_quota_of_the_own_group) {
    fake_tree tree;
    tree.add("/proc/self/mountinfo", mount_v2).add("/proc/self/cgroup", "0::/user.slice/job\n");
    tree.add("/sys/fs/cgroup/user.slice/job/cpu.max", "150000 100000\n");
    EXPECT_EQ(quota(tree), 1500U);
}

TEST(cpu_limits, a_parents_tighter_quota_holds) {
    fake_tree tree;
    tree.add("/proc/self/mountinfo", mount_v2).add("/proc/self/cgroup", "0::/user.slice/job\n");
    tree.add("/sys/fs/cgroup/user.slice/cpu.max", "50000 100000\n");
    tree.add("/sys/fs/cgroup/user.slice/job/cpu.max", "400000 100000\n");
    cpu_limits limits;
    read_cgroup_quota(tree.root(), limits);
    EXPECT_EQ(limits.quota_thousandths, 500U);
    EXPECT_STREQ(limits.quota_folder, "/sys/fs/cgroup/user.slice");
}

TEST(cpu_limits, max_is_no_quota) {
    fake_tree tree;
    tree.add("/proc/self/mountinfo", mount_v2).add("/proc/self/cgroup", "0::/a\n");
    tree.add("/sys/fs/cgroup/a/cpu.max", "max 100000\n");
    EXPECT_EQ(quota(tree), 0U);
}

TEST(cpu_limits, a_container_sees_its_group_at_the_mount_point) {
    fake_tree tree;
    tree.add("/proc/self/mountinfo", mount_v2).add("/proc/self/cgroup", "0::/../../other\n");
    tree.add("/sys/fs/cgroup/cpu.max", "300000 100000\n");
    EXPECT_EQ(quota(tree), 3000U);
}

TEST(cpu_limits, the_mounted_root_is_taken_off_the_path) {
    fake_tree tree;
    tree.add("/proc/self/mountinfo", "32 25 0:31 /docker/abc /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu\n");
    tree.add("/proc/self/cgroup", "4:cpu,cpuacct:/docker/abc/inner\n");
    tree.add("/sys/fs/cgroup/cpu/inner/cpu.cfs_quota_us", "20000\n");
    tree.add("/sys/fs/cgroup/cpu/inner/cpu.cfs_period_us", "100000\n");
    EXPECT_EQ(quota(tree), 200U);
}

TEST(cpu_limits, version_1_reads_quota_and_period) {
    fake_tree tree;
    tree.add("/proc/self/mountinfo", mount_v1);
    tree.add("/proc/self/cgroup", "9:cpuset:/wrong\n4:cpuacct,cpu:/job\n");
    tree.add("/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "250000\n");
    tree.add("/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us", "100000\n");
    EXPECT_EQ(quota(tree), 2500U);
    tree.add("/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "-1\n");
    EXPECT_EQ(quota(tree), 0U);
}

TEST(cpu_limits, the_hybrid_hierarchy_takes_the_tighter_version) {
    fake_tree tree;
    tree.add("/proc/self/mountinfo", mount_v1 + "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
    tree.add("/proc/self/cgroup", "4:cpu,cpuacct:/job\n0::/job2\n");
    tree.add("/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "250000\n");
    tree.add("/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us", "100000\n");
    tree.add("/sys/fs/cgroup/unified/job2/cpu.max", "120000 100000\n");
    EXPECT_EQ(quota(tree), 1200U);
}

TEST(cpu_limits, a_mount_point_with_a_blank_is_found) {
    fake_tree tree;
    tree.add("/proc/self/mountinfo", "25 1 0:22 / /my\\040groups rw - cgroup2 cgroup2 rw\n");
    tree.add("/proc/self/cgroup", "0::/\n").add("/my groups/cpu.max", "100000 100000\n");
    EXPECT_EQ(quota(tree), 1000U);
}

TEST(cpu_limits, missing_files_are_no_limit) {
    fake_tree tree;
    EXPECT_EQ(quota(tree), 0U);
    EXPECT_EQ(count_online(tree.root()), 0U);
    tree.add("/proc/self/mountinfo", mount_v2);
    EXPECT_EQ(quota(tree), 0U);
    tree.add("/proc/self/cgroup", "0::/a/b/c\n");
    EXPECT_EQ(quota(tree), 0U);
    EXPECT_GE(read_cpu_limits(tree.root()).usable(), 1U);
}

TEST(cpu_limits, garbage_is_no_limit) {
    for (const char *garbage :
         {"", "\n", "max", "abc def\n", "100000\n", "100000 0\n", "0 100000\n", "-5 100000\n", "100000 -1\n",
          "99999999999999999999 100000\n", "9223372036854775807 1\n", "100000 100000x\n"}) {
        fake_tree tree;
        tree.add("/proc/self/mountinfo", "garbage\n\n1 2 3 -\n - cgroup2\n" + mount_v2);
        tree.add("/proc/self/cgroup", "::\nnothing\n0\n0::/a\n").add("/sys/fs/cgroup/a/cpu.max", garbage);
        EXPECT_EQ(quota(tree), 0U) << '"' << garbage << '"';
    }
}

TEST(cpu_limits, very_long_lines_do_no_harm) {
    fake_tree tree;
    tree.add("/proc/self/mountinfo", std::string(100'000, 'x') + "\n" + mount_v2);
    tree.add("/proc/self/cgroup", "0::/" + std::string(50'000, 'y') + "\n");
    tree.add("/sys/fs/cgroup/cpu.max", "700000 100000\n");
    EXPECT_EQ(quota(tree), 7000U);
}

TEST(cpu_limits, online_cores_are_counted_from_the_list) {
    const auto online = [](const char *text) {
        fake_tree tree;
        tree.add("/sys/devices/system/cpu/online", text);
        return count_online(tree.root());
    };
    EXPECT_EQ(online("0\n"), 1U);
    EXPECT_EQ(online("0-3\n"), 4U);
    EXPECT_EQ(online("0-3,8,10-11\n"), 7U);
    for (const char *garbage : {"", "\n", "x", "3-1", "0-", "0-3;4", "-2", "0-99999999999"})
        EXPECT_EQ(online(garbage), 0U) << garbage;
}

TEST(cpu_limits, the_affinity_mask_is_the_kernels) {
    cpu_set_t before;
    ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
    EXPECT_EQ(count_affinity(0), static_cast<unsigned>(CPU_COUNT(&before)));
    cpu_set_t one;
    CPU_ZERO(&one);
    for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++i)
        if (CPU_ISSET(i, &before)) CPU_SET(i, &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    EXPECT_EQ(count_affinity(0), 1U);
    EXPECT_EQ(read_cpu_limits().usable(), 1U);
    ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
    EXPECT_EQ(count_affinity(-1), 0U);
}
