#include "sys/topology.hpp"

#include <cerrno>
#include <cstdlib>
#include <string>

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <link.h>
#include <sched.h>

#include "fake_tree.hpp"

using namespace comity::sys;

namespace {

cpu_set set_of(std::initializer_list<int> cpus) {
    cpu_set set;
    for (const int cpu : cpus) set.add(cpu);
    return set;
}

cpu_set parsed(const char *text) {
    cpu_set set;
    EXPECT_TRUE(parse_cpu_list(text, set)) << text;
    return set;
}

std::string list(int a, int b) { return std::to_string(a) + "," + std::to_string(b) + "\n"; }

// Two sockets with a node each, four cores in each, whose second threads are CPUs 8 … 15, a cache for two cores.
void add_machine(fake_tree &tree) {
    for (int cpu = 0; cpu < 16; ++cpu) {
        const int core = cpu % 8;
        const std::string folder = "/sys/devices/system/cpu/cpu" + std::to_string(cpu);
        tree.add(folder + "/topology/thread_siblings_list", list(core, core + 8));
        tree.add(folder + "/topology/physical_package_id", std::to_string(core / 4) + "\n");
        const auto cache = [&](int index, int level, const char *type, const std::string &shared) {
            const std::string at = folder + "/cache/index" + std::to_string(index);
            tree.add(at + "/level", std::to_string(level) + "\n").add(at + "/type", std::string(type) + "\n");
            tree.add(at + "/shared_cpu_list", shared);
        };
        cache(0, 1, "Data", list(core, core + 8));
        cache(1, 1, "Instruction", list(0, 15));
        cache(2, 2, "Unified", list(core, core + 8));
        const int pair = core / 2 * 2;
        cache(3, 3, "Unified", std::to_string(pair) + "-" + std::to_string(pair + 1) + "," + list(pair + 8, pair + 9));
    }
    tree.add("/sys/devices/system/node/node0/cpulist", "0-3,8-11\n");
    tree.add("/sys/devices/system/node/node1/cpulist", "4-7,12-15\n");
}

unsigned loaded_libraries() {
    unsigned n = 0;
    ::dl_iterate_phdr(
        [](dl_phdr_info *, std::size_t, void *count) {
            ++*static_cast<unsigned *>(count);
            return 0;
        },
        &n);
    return n;
}

} // namespace

TEST(cpu_set, holds_what_was_added) {
    cpu_set set = set_of({0, 63, 64, 8191});
    EXPECT_TRUE(set.has(63));
    EXPECT_FALSE(set.has(62));
    EXPECT_EQ(set.count(), 4U);
    EXPECT_EQ(set.next(), 0);
    EXPECT_EQ(set.next(1), 63);
    EXPECT_EQ(set.next(65), 8191);
    EXPECT_EQ(set.next(8192), -1);
    set.keep_only(set_of({1, 64}));
    EXPECT_EQ(set, set_of({64}));
}

TEST(cpu_set, knows_no_cpus_beyond_its_range) {
    cpu_set set = set_of({-1, 8192, 1 << 30});
    EXPECT_TRUE(set.empty());
    EXPECT_FALSE(set.has(-1));
    EXPECT_FALSE(set.has(8192));
}

TEST(cpu_set, lists_are_read_as_the_kernel_writes_them) {
    EXPECT_EQ(parsed("0"), set_of({0}));
    EXPECT_EQ(parsed("0-3,8,10-11"), set_of({0, 1, 2, 3, 8, 10, 11}));
    cpu_set set;
    for (const char *bad : {"", "a", "1-", "3-1", "1,,2", "1,", "-1", "0-9999999", "1 2", "1;2"}) {
        set = set_of({5});
        EXPECT_FALSE(parse_cpu_list(bad, set)) << bad;
        EXPECT_TRUE(set.empty());
    }
}

TEST(cpu_set, a_thread_runs_where_it_is_bound) {
    cpu_set before, now;
    ASSERT_TRUE(get_thread_cpus(0, before));
    EXPECT_EQ(before, process_cpus());
    const cpu_set one = set_of({before.next()});
    ASSERT_EQ(set_thread_cpus(0, one), 0);
    ASSERT_TRUE(get_thread_cpus(0, now));
    EXPECT_EQ(now, one);
    EXPECT_EQ(::sched_getcpu(), one.next());
    EXPECT_EQ(process_cpus(), before) << "as it was at first";
    ASSERT_EQ(set_thread_cpus(0, before), 0);
    errno = 7;
    EXPECT_EQ(set_thread_cpus(0, {}), EINVAL);
    EXPECT_EQ(errno, 7);
}

TEST(topology, sysfs_tells_cores_caches_nodes_and_sockets) {
    fake_tree tree;
    add_machine(tree);
    const auto t = read_sysfs(parsed("0-15"), tree.root());
    ASSERT_TRUE(t);
    EXPECT_EQ(t->size(), 16U);
    EXPECT_EQ(t->count(part::core), 8U);
    EXPECT_EQ(t->count(part::l2_cache), 8U);
    EXPECT_EQ(t->count(part::last_cache), 4U);
    EXPECT_EQ(t->count(part::numa_node), 2U);
    EXPECT_EQ(t->count(part::socket), 2U);
    EXPECT_EQ(t->cpus_of(part::core, 3), set_of({3, 11}));
    EXPECT_EQ(t->cpus_of(part::last_cache, 1), set_of({2, 3, 10, 11}));
    EXPECT_EQ(t->cpus_of(part::numa_node, 1), parsed("4-7,12-15"));
    EXPECT_EQ((*t)[0].cpu, 0);
    EXPECT_EQ((*t)[1].cpu, 8) << "those that share a core stand side by side";
}

TEST(topology, has_only_cpus_that_may_be_used_and_numbers_their_parts_from_0) {
    fake_tree tree;
    add_machine(tree);
    const auto t = read_sysfs(set_of({6, 7, 15}), tree.root());
    ASSERT_TRUE(t);
    EXPECT_EQ(t->size(), 3U);
    EXPECT_EQ(t->count(part::core), 2U);
    EXPECT_EQ(t->count(part::numa_node), 1U);
    EXPECT_EQ(t->cpus_of(part::core, 1), set_of({7, 15}));
    EXPECT_EQ(t->cpus_of(part::socket, 0), set_of({6, 7, 15}));
    EXPECT_FALSE(t->find(0));
    ASSERT_TRUE(t->find(15));
    EXPECT_EQ(t->find(15)->where(part::core), 1);
}

TEST(topology, parts_that_nobody_knows_hold_everything) {
    fake_tree tree;
    for (int cpu = 0; cpu < 2; ++cpu)
        tree.add("/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/thread_siblings_list",
                 std::to_string(cpu) + "\n");
    const auto t = read_sysfs(set_of({0, 1}), tree.root());
    ASSERT_TRUE(t);
    EXPECT_EQ(t->count(part::core), 2U);
    for (const part p : {part::l2_cache, part::last_cache, part::numa_node, part::socket}) EXPECT_EQ(t->count(p), 1U);
}

TEST(topology, without_files_there_is_none) {
    const fake_tree tree;
    EXPECT_FALSE(read_sysfs(set_of({0}), tree.root()));
    EXPECT_FALSE(read_sysfs({}, tree.root()));
}

// First of all to use hwloc in this process, before any other thread.
TEST(topology, hwloc_and_sysfs_agree_on_this_machine) {
    if (!::dlopen("libhwloc.so.15", RTLD_NOW | RTLD_LOCAL)) GTEST_SKIP() << "no hwloc here";
    const unsigned before = loaded_libraries();
    const auto h = read_hwloc(process_cpus());
    if (!h) GTEST_SKIP() << "built without hwloc, or another thread runs";
    EXPECT_EQ(loaded_libraries(), before) << "its plugins were loaded";
    EXPECT_EQ(::getenv("HWLOC_PLUGINS_PATH"), nullptr);
    const auto s = read_sysfs(process_cpus());
    ASSERT_TRUE(s);
    ASSERT_EQ(h->size(), s->size());
    for (const part p : {part::core, part::l2_cache, part::last_cache, part::numa_node, part::socket}) {
        EXPECT_EQ(h->count(p), s->count(p)) << static_cast<int>(p);
        for (const processor &each : *h)
            EXPECT_EQ(h->cpus_of(p, each.where(p)), s->cpus_of(p, s->find(each.cpu)->where(p)));
    }
}

TEST(topology, the_machine_has_the_cpus_of_the_process) {
    const topology &m = machine();
    EXPECT_EQ(m.size(), process_cpus().count());
    EXPECT_TRUE(m.is_this_machine());
    for (const processor &p : m) EXPECT_TRUE(process_cpus().has(p.cpu));
    EXPECT_STRNE(m.source(), "none");
}
