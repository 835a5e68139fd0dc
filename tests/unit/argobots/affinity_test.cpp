// Streams on CPUs of their own.
#include "environment.hpp"

#include <sched.h>

namespace {

std::vector<int> own_mask() {
    cpu_set_t set;
    CPU_ZERO(&set);
    EXPECT_EQ(0, ::sched_getaffinity(0, sizeof set, &set));
    std::vector<int> cpus;
    for (int i = 0; i < CPU_SETSIZE; ++i)
        if (CPU_ISSET(i, &set)) cpus.push_back(i);
    return cpus;
}

const std::vector<int> at_start = own_mask();

struct visit {
    std::vector<int> expected;
    std::atomic<int> wrong{0};
};

void look(void *argument) {
    auto &v = *static_cast<visit *>(argument);
    for (int i = 0; i < 30; ++i) {
        if (own_mask() != v.expected) ++v.wrong;
        ABT_thread_yield();
    }
}

} // namespace

TEST_F(argobots, streams_run_on_their_cpus_while_they_take_turns) {
    add_streams(4);
    std::vector<visit> visits(streams.size());
    for (std::size_t i = 0; i < streams.size(); ++i) {
        int cpu = at_start[i % at_start.size()];
        const bool bound = i != 2;
        visits[i].expected = bound ? std::vector<int>{cpu} : at_start;
        OK(ABT_xstream_set_affinity(streams[i], bound ? 1 : 0, &cpu));
        int now = -1;
        OK(ABT_xstream_get_cpubind(streams[i], &now));
        EXPECT_EQ(visits[i].expected[0], now);
    }
    for (std::size_t i = 1; i < streams.size(); ++i) { // each takes note at its next event check
        do {
            visits[i].wrong = 0;
            ABT_thread t = ABT_THREAD_NULL;
            OK(ABT_thread_create(pools[i], look, &visits[i], ABT_THREAD_ATTR_NULL, &t));
            OK(ABT_thread_free(&t));
        } while (visits[i].wrong != 0);
    }
    for (int round = 0; round < 3; ++round) {
        std::vector<ABT_thread> all;
        for (std::size_t i = 0; i < streams.size(); ++i)
            for (int j = 0; j < 4; ++j) {
                ABT_thread t = ABT_THREAD_NULL;
                OK(ABT_thread_create(pools[i], look, &visits[i], ABT_THREAD_ATTR_NULL, &t));
                all.push_back(t);
            }
        for (ABT_thread &t : all) OK(ABT_thread_free(&t));
    }
    for (const visit &v : visits) EXPECT_EQ(0, v.wrong.load()) << v.expected[0];
    for (ABT_xstream s : streams) OK(ABT_xstream_set_affinity(s, 0, nullptr));
    EXPECT_EQ(at_start, own_mask()) << "the main ULT's";
}

TEST_F(argobots, the_affinity_of_a_stream_is_what_was_set) {
    std::vector<int> cpus = at_start, found(64);
    int n = 0;
    OK(ABT_xstream_get_affinity(streams[0], 64, found.data(), &n));
    EXPECT_EQ(at_start, std::vector<int>(found.begin(), found.begin() + n));
    OK(ABT_xstream_set_affinity(streams[0], 1, &cpus.back()));
    OK(ABT_xstream_get_affinity(streams[0], 0, nullptr, &n));
    EXPECT_EQ(1, n);
    EXPECT_EQ(std::vector<int>{cpus.back()}, own_mask());
    OK(ABT_xstream_set_affinity(streams[0], static_cast<int>(cpus.size()), cpus.data()));
    EXPECT_EQ(at_start, own_mask());
    OK(ABT_xstream_set_affinity(streams[0], 0, nullptr));
    ABT_bool has = ABT_FALSE;
    OK(ABT_info_query_config(ABT_INFO_QUERY_KIND_ENABLED_AFFINITY, &has));
    EXPECT_EQ(ABT_TRUE, has);
}

TEST_F(argobots, cpus_that_are_not_there_are_left_out) {
    std::vector<int> cpus{at_start.back(), 8190, 8191};
    OK(ABT_xstream_set_affinity(streams[0], static_cast<int>(cpus.size()), cpus.data()));
    EXPECT_EQ(std::vector<int>{at_start.back()}, own_mask());
    int n = 0;
    OK(ABT_xstream_get_affinity(streams[0], 0, nullptr, &n));
    EXPECT_EQ(1, n);
    EXPECT_EQ(ABT_ERR_CPUID, ABT_xstream_set_affinity(streams[0], 2, &cpus[1])) << "none is left";
    cpus[1] = -1;
    EXPECT_EQ(ABT_ERR_CPUID, ABT_xstream_set_affinity(streams[0], 2, cpus.data())) << "a negative one";
    OK(ABT_xstream_set_affinity(streams[0], 0, nullptr));
}

TEST(argobots_affinity, a_thread_has_its_own_mask_after_the_end) {
    OK(ABT_init(0, nullptr));
    ABT_xstream s = ABT_XSTREAM_NULL;
    OK(ABT_self_get_xstream(&s));
    OK(ABT_xstream_set_cpubind(s, at_start.back()));
    EXPECT_EQ(std::vector<int>{at_start.back()}, own_mask());
    OK(ABT_finalize());
    EXPECT_EQ(at_start, own_mask());
}
