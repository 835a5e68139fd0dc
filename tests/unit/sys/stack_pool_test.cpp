#include "sys/stack_pool.hpp"

#include "../sanitizers.hpp"
#include "sys/slot_set.hpp"
#include "sys/stack_area.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

using namespace comity::sys;

namespace {

constexpr std::size_t kibi = 1024, mebi = 1024 * kibi;

std::vector<stack_memory> take(std::size_t size, unsigned n) {
    std::vector<stack_memory> stacks(n);
    stacks.resize(take_stacks(size, stacks.data(), n));
    return stacks;
}
void give_back(std::vector<stack_memory> &stacks) {
    give_back_stacks(stacks.data(), static_cast<unsigned>(stacks.size()));
}

std::size_t resident_bytes() {
    long pages = 0;
    std::FILE *f = std::fopen("/proc/self/statm", "r");
    EXPECT_EQ(std::fscanf(f, "%*d %ld", &pages), 1);
    std::fclose(f);
    return static_cast<std::size_t>(pages) * page_size();
}
std::size_t mappings() {
    std::size_t lines = 0;
    std::FILE *f = std::fopen("/proc/self/maps", "r");
    for (int c = 0; (c = std::getc(f)) != EOF;) lines += c == '\n';
    std::fclose(f);
    return lines;
}

// Guards as another kernel would have them, for one test.
struct guard_limits {
    guard_limits(bool light, std::int64_t mappings) { set_guard_limits(light, mappings); }
    ~guard_limits() { set_guard_limits(true, -1); }
};

bool light_guards_here() { return available_guard() == guard_kind::light; }

} // namespace

TEST(slot_set, gives_the_lowest_and_whole_runs) {
    std::uint64_t bits[4]{};
    slot_set set;
    set.create(bits, 4);
    for (const std::uint32_t n : {200U, 70U, 3U, 64U, 63U, 65U, 255U}) set.put(n);
    EXPECT_EQ(set.size(), 7U);
    EXPECT_EQ(set.take(), 3U);
    std::uint32_t length = 0;
    EXPECT_EQ(set.take_run(length), 63U);
    EXPECT_EQ(length, 3U);
    set.put(1);
    EXPECT_EQ(set.take(), 1U);
    EXPECT_TRUE(set.has(70));
    set.remove(70);
    EXPECT_EQ(set.take(), 200U);
    EXPECT_EQ(set.take_run(length), 255U);
    EXPECT_EQ(length, 1U);
    EXPECT_EQ(set.size(), 0U);
}

TEST(stack_pool, every_size_gives_a_stack_that_is_usable_from_top_to_bottom) {
    for (const std::size_t size : {std::size_t{1}, std::size_t{2048}, std::size_t{2049}, std::size_t{4096}, 16 * kibi,
                                   16 * kibi + 1, 256 * kibi, mebi, 8 * mebi, 64 * mebi, 65 * mebi}) {
        stack_memory stack;
        ASSERT_EQ(take_stacks(size, &stack, 1), 1U) << size;
        std::byte *const top = coloured_top(stack);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(top) % 64, 0U);
        EXPECT_GE(static_cast<std::size_t>(top - stack.bottom), size);
        std::memset(top - size, 1, size < mebi ? size : 1);
        top[-1] = std::byte{1};
        EXPECT_TRUE(canary_intact(stack)) << size;
        give_back_stacks(&stack, 1);
        EXPECT_FALSE(stack);
    }
}

TEST(stack_pool, stacks_do_not_overlap) {
    for (const std::size_t size : {2 * kibi, 4 * kibi, 16 * kibi, 2 * mebi}) {
        std::vector<stack_memory> stacks = take(size, 300);
        ASSERT_EQ(stacks.size(), 300U);
        std::sort(stacks.begin(), stacks.end(), [](const auto &a, const auto &b) { return a.bottom < b.bottom; });
        for (std::size_t i = 1; i < stacks.size(); ++i) ASSERT_LE(stacks[i - 1].top, stacks[i].guard()) << size;
        give_back(stacks);
    }
}

TEST(stack_pool, absurd_sizes_and_none_are_refused_and_errno_is_kept) {
    stack_memory stack;
    errno = EDOM;
    for (const std::size_t size :
         {std::size_t{0}, SIZE_MAX, SIZE_MAX - 4096, SIZE_MAX / 2, SIZE_MAX / 4, std::size_t{1} << 56}) {
        EXPECT_EQ(take_stacks(size, &stack, 1), 0U) << size;
        EXPECT_FALSE(stack);
        EXPECT_EQ(pooled_stack_size(size), 0U);
    }
    EXPECT_EQ(take_stacks(4096, &stack, 0), 0U);
    EXPECT_EQ(errno, EDOM);
}

TEST(stack_pool, sizes_are_rounded_to_classes) {
    EXPECT_EQ(pooled_stack_size(1), 2048U);
    EXPECT_EQ(pooled_stack_size(2048), 2048U);
    EXPECT_EQ(pooled_stack_size(2049), page_size());
    EXPECT_EQ(pooled_stack_size(page_size() + 1), 2 * page_size());
    EXPECT_EQ(pooled_stack_size(3 * page_size()), 4 * page_size());
    EXPECT_EQ(pooled_stack_size(page_size() << 14), page_size() << 14);
    EXPECT_EQ(pooled_stack_size((page_size() << 14) + 1), 0U);
}

TEST(stack_pool, what_was_given_back_serves_again) {
    constexpr std::size_t size = 32 * kibi;
    std::vector<stack_memory> stacks = take(size, 100);
    std::set<std::byte *> tops;
    for (const stack_memory &s : stacks) tops.insert(s.top);
    give_back(stacks);
    const stack_pool_state before = get_stack_pool_state(size);
    stacks = take(size, 100);
    for (const stack_memory &s : stacks) EXPECT_TRUE(tops.count(s.top));
    give_back(stacks);
    const stack_pool_state after = get_stack_pool_state(size);
    EXPECT_EQ(after.slabs, before.slabs);
    EXPECT_EQ(after.in_use, 0U);
    EXPECT_EQ(after.warm, before.warm);
}

TEST(stack_pool, tops_lie_on_different_lines_of_their_pages) {
    for (const std::size_t size : {2 * kibi, 16 * kibi, 64 * kibi, 8 * mebi}) {
        std::vector<stack_memory> stacks = take(size, 64);
        std::set<std::uintptr_t> lines;
        for (const stack_memory &s : stacks)
            lines.insert(reinterpret_cast<std::uintptr_t>(coloured_top(s)) % page_size() / 64);
        EXPECT_GE(lines.size(), 32U) << size;
        give_back(stacks);
    }
}

TEST(stack_pool, large_batches_of_free_stacks_give_their_memory_back) {
    if (thread_sanitizer || address_sanitizer) GTEST_SKIP() << "the shadow memory counts too";
    for (const std::size_t size : {2 * kibi, 16 * kibi}) {
        constexpr unsigned n = 60'000;
        const unsigned most = size == 2048 ? 31'775 : 4096;
        const std::size_t before = resident_bytes();
        std::vector<stack_memory> stacks = take(size, n);
        ASSERT_EQ(stacks.size(), n);
        for (const stack_memory &s : stacks) std::memset(coloured_top(s) - 1024, 1, 1024);
        const std::size_t full = resident_bytes();
        EXPECT_GT(full, before + n * std::size_t{1024});
        // in an order that leaves no run for long; small ones share pages, so theirs is the usual one
        for (unsigned i = 0; i < n; ++i) give_back_stacks(&stacks[size == 2048 ? i : i * 7919ULL % n], 1);
        cool_free_stacks();
        const stack_pool_state state = get_stack_pool_state(size);
        EXPECT_EQ(state.in_use, 0U);
        EXPECT_LE(state.warm, most);
        EXPECT_GE(state.cold, n - most);
        EXPECT_LT(resident_bytes(), before + (size == 2048 ? 80 : 24) * mebi);
        // and they are usable again, guarded
        stacks = take(size, n);
        for (const stack_memory &s : stacks) {
            ASSERT_TRUE(canary_intact(s));
            ASSERT_NE(s.kind, guard_kind::none);
            s.bottom[size > 2048 ? 0 : 64] = s.top[-1] = std::byte{2};
        }
        give_back(stacks);
    }
}

TEST(stack_pool, slabs_of_large_stacks_are_given_back_whole) {
    constexpr std::size_t size = 4 * mebi;
    std::vector<stack_memory> stacks = take(size, 9000);
    ASSERT_EQ(stacks.size(), 9000U);
    const std::size_t most = get_stack_pool_state(size).slabs;
    EXPECT_GE(most, 30U);
    give_back(stacks);
    cool_free_stacks();
    const stack_pool_state state = get_stack_pool_state(size);
    EXPECT_EQ(state.in_use, 0U);
    EXPECT_LE(state.slabs, most * 2 / 3);
    stacks = take(size, 9000);
    ASSERT_EQ(stacks.size(), 9000U);
    for (const stack_memory &s : stacks) s.bottom[0] = s.top[-1] = std::byte{1};
    give_back(stacks);
}

TEST(stack_pool, the_canary_tells_of_an_overflow) {
    stack_memory stack;
    ASSERT_EQ(take_stacks(small_stack_size, &stack, 1), 1U);
    EXPECT_EQ(stack.kind, guard_kind::canary);
    EXPECT_TRUE(canary_intact(stack));
    const std::byte was = stack.bottom[7];
    stack.bottom[7] ^= std::byte{1};
    EXPECT_FALSE(canary_intact(stack));
    stack.bottom[7] = was;
    give_back_stacks(&stack, 1);
}

TEST(stack_pool, many_threads_at_once_never_share_a_stack) {
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < 4; ++t)
        threads.emplace_back([t] {
            for (unsigned round = 0; round < 200; ++round) {
                const std::size_t size = round % 3 == 0 ? 2 * kibi : round % 3 == 1 ? 16 * kibi : mebi;
                std::vector<stack_memory> stacks = take(size, 1 + round * 13 % 40);
                for (const stack_memory &s : stacks) s.top[-1] = static_cast<std::byte>(t + 1);
                std::this_thread::yield();
                for (const stack_memory &s : stacks) ASSERT_EQ(s.top[-1], static_cast<std::byte>(t + 1));
                give_back(stacks);
            }
        });
    for (std::thread &t : threads) t.join();
}

TEST(stack_pool, a_child_that_was_forked_while_others_took_stacks_can_take_some) {
    std::atomic<bool> end{false};
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t)
        threads.emplace_back([&end] {
            while (!end) {
                stack_memory some[20];
                give_back_stacks(some, take_stacks(16 * kibi, some, 20));
            }
        });
    for (int i = 0; i < 30; ++i) {
        stack_pool_before_fork();
        const pid_t child = fork();
        stack_pool_after_fork();
        if (child == 0) {
            static stack_memory some[200];
            const unsigned got = take_stacks(16 * kibi, some, 200);
            for (unsigned n = 0; n < got; ++n) some[n].top[-1] = std::byte{1};
            give_back_stacks(some, got);
            _exit(got == 200 ? 0 : 1);
        }
        int status = -1;
        ASSERT_EQ(waitpid(child, &status, 0), child);
        EXPECT_EQ(status, 0);
    }
    end = true;
    for (std::thread &t : threads) t.join();
}

// Each mapping in turn fails, once or for ever: fewer stacks or smaller slabs, and nothing is lost.
TEST(stack_pool, each_mapping_in_turn_may_fail) {
    struct healed {
        ~healed() { fail_stack_areas(0, 0); }
    } const heals;
    constexpr std::size_t size = 1024 * kibi; // a class that no other test uses
    for (const std::int64_t count : {1, 2, 5, 1000})
        for (std::int64_t first = 0; first < 6; ++first) {
            fail_stack_areas(first, count);
            std::vector<stack_memory> stacks = take(size, 700);
            fail_stack_areas(0, 0);
            if (count < 5) {
                EXPECT_EQ(stacks.size(), 700U) << first; // half a slab was to be had
            }
            EXPECT_EQ(get_stack_pool_state(size).in_use, stacks.size());
            for (const stack_memory &s : stacks) s.bottom[0] = s.top[-1] = std::byte{1};
            give_back(stacks);
            EXPECT_EQ(get_stack_pool_state(size).in_use, 0U);
            unmap_free_stacks(); // the next round begins without any
            EXPECT_EQ(get_stack_pool_state(size).slabs, 0U);
        }
    // those with a mapping of their own
    fail_stack_areas(1, 1000);
    EXPECT_EQ(take(65 * mebi, 3).size(), 1U);
}

// ---- Kernels with other guards

TEST(stack_pool, a_hundred_thousand_light_guards_cost_no_mappings) {
    if (!light_guards_here()) GTEST_SKIP() << "no MADV_GUARD_INSTALL";
    std::vector<stack_memory> stacks = take(16 * kibi, 100'000);
    ASSERT_EQ(stacks.size(), 100'000U);
    EXPECT_LT(mappings(), 1000U);
    for (const stack_memory &s : stacks) ASSERT_EQ(s.kind, guard_kind::light);
    give_back(stacks);
}

TEST(stack_pool, without_light_guards_stacks_have_mapped_ones) {
    const guard_limits limits(false, -1);
    std::vector<stack_memory> stacks = take(128 * kibi, 50);
    for (const stack_memory &s : stacks) EXPECT_EQ(s.kind, guard_kind::mapping);
    EXPECT_GE(mappings(), 100U);
    give_back(stacks);
}

TEST(stack_pool, at_the_limit_of_mappings_groups_share_a_guard_and_one_line_says_so) {
    const guard_limits limits(false, 100);
    testing::internal::CaptureStderr();
    std::vector<stack_memory> stacks = take(512 * kibi, 600);
    const std::string said = testing::internal::GetCapturedStderr();
    ASSERT_EQ(stacks.size(), 600U);
    std::size_t of_kind[5]{};
    for (const stack_memory &s : stacks) ++of_kind[static_cast<int>(s.kind)];
    EXPECT_GE(of_kind[static_cast<int>(guard_kind::mapping)], 50U);
    EXPECT_LE(of_kind[static_cast<int>(guard_kind::mapping)], 125U);
    EXPECT_GE(of_kind[static_cast<int>(guard_kind::group)], 300U);
    EXPECT_EQ(of_kind[static_cast<int>(guard_kind::light)], 0U);
    EXPECT_NE(said.find("vm.max_map_count"), std::string::npos) << said;
    EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
    give_back(stacks);
    // what has no guard of its own gets one when there are some again
    set_guard_limits(false, -1);
    stacks = take(512 * kibi, 600);
    for (const stack_memory &s : stacks) EXPECT_EQ(s.kind, guard_kind::mapping);
    give_back(stacks);
}

// ---- Deaths

class stack_pool_death : public testing::Test {
protected:
    void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST(stack_pool, free_stacks_keep_their_memory_for_a_while) {
    if (physical_memory() < 4096 * mebi) GTEST_SKIP() << "a small machine keeps fewer";
    constexpr unsigned n = 10'000;
    std::vector<stack_memory> stacks = take(16 * kibi, n);
    give_back(stacks);
    EXPECT_GE(get_stack_pool_state(16 * kibi).warm, n);
    set_stack_patience(-1); // it is over
    stacks = take(16 * kibi, n);
    give_back(stacks);
    EXPECT_LE(get_stack_pool_state(16 * kibi).warm, 4096U);
    set_stack_patience(1'000'000'000);
}

TEST_F(stack_pool_death, the_guard_of_each_kind_faults_also_after_memory_was_given_back) {
    for (const bool light : {true, false})
        EXPECT_EXIT(
            {
                signal(SIGSEGV, SIG_DFL);
                set_guard_limits(light, -1);
                std::vector<stack_memory> stacks = take(64 * kibi, 9000);
                for (const stack_memory &s : stacks) s.top[-1] = std::byte{1};
                const stack_memory one = stacks[17];
                give_back(stacks);
                cool_free_stacks(); // most of them
                if (get_stack_pool_state(64 * kibi).cold < 3000) _exit(1);
                one.bottom[0] = std::byte{1};
                one.bottom[-1] = std::byte{1};
            },
            testing::KilledBySignal(SIGSEGV), "")
            << light;
}

TEST_F(stack_pool_death, a_runaway_in_a_group_meets_the_guard_of_the_group) {
    EXPECT_EXIT(
        {
            signal(SIGSEGV, SIG_DFL);
            set_guard_limits(false, 16);
            const std::vector<stack_memory> stacks = take(16 * kibi, 40);
            const auto of_group =
                std::find_if(stacks.begin(), stacks.end(), [](const auto &s) { return s.kind == guard_kind::group; });
            if (of_group == stacks.end()) _exit(1);
            for (std::byte *p = of_group->top - 1; p > of_group->top - 20 * 16 * kibi; p -= 512)
                *static_cast<volatile std::byte *>(p) = std::byte{1};
        },
        testing::KilledBySignal(SIGSEGV), "");
}

TEST_F(stack_pool_death, an_address_space_that_runs_out_gives_fewer_stacks_and_no_crash) {
    if (thread_sanitizer || address_sanitizer) GTEST_SKIP() << "they need the address space";
    EXPECT_EXIT(
        {
            rlimit now{};
            now.rlim_cur = now.rlim_max = 512 * mebi;
            setrlimit(RLIMIT_AS, &now);
            static stack_memory stacks[1000];
            const unsigned got = take_stacks(mebi, stacks, 1000);
            if (got < 100 || got > 500) _exit(1);
            for (unsigned i = 0; i < got; ++i) stacks[i].bottom[0] = stacks[i].top[-1] = std::byte{1};
            static stack_memory more[10];
            if (take_stacks(8 * mebi, more, 10) > 3 || take_stacks(65 * mebi, more, 1) != 0) _exit(2);
            // given back, the address space serves the same size at least
            give_back_stacks(stacks, got);
            _exit(take_stacks(mebi, stacks, 1000) >= got ? 0 : 3);
        },
        testing::ExitedWithCode(0), "");
}
