#include "../sanitizers.hpp"
#include "sys/memory.hpp"
#include "sys/own_memory.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include <sys/mman.h>
#include <sys/resource.h>

#include <gtest/gtest.h>

using namespace comity::sys;

TEST(memory, pages_are_zero_after_mapping_and_after_discarding) {
    auto *pages = static_cast<char *>(map_pages(3 * page_size() - 5));
    ASSERT_NE(pages, nullptr);
    for (std::size_t i = 0; i < 3 * page_size(); ++i) ASSERT_EQ(pages[i], 0);
    std::memset(pages, 7, 3 * page_size());
    discard_pages(pages, 3 * page_size());
    for (std::size_t i = 0; i < 3 * page_size(); ++i) ASSERT_EQ(pages[i], 0);
    unmap_pages(pages, 3 * page_size());
}

TEST(memory, sizes_that_cannot_be_are_refused_and_errno_is_kept) {
    errno = EDOM;
    EXPECT_EQ(map_pages(0), nullptr);
    EXPECT_EQ(map_pages(SIZE_MAX), nullptr);
    EXPECT_EQ(map_pages(SIZE_MAX / 4), nullptr);
    EXPECT_FALSE(map_stack(0));
    EXPECT_FALSE(map_stack(SIZE_MAX));
    EXPECT_FALSE(map_stack(SIZE_MAX / 4));
    EXPECT_EQ(errno, EDOM);
    unmap_pages(nullptr, 5);
    stack_memory none;
    unmap_stack(none);
}

TEST(memory, that_can_be_read_is_told_from_other_without_reading_it) {
    auto *pages = static_cast<char *>(map_pages(2 * page_size()));
    ASSERT_NE(pages, nullptr);
    errno = EDOM;
    EXPECT_TRUE(is_readable(pages + 1));
    ASSERT_EQ(mprotect(pages + page_size(), page_size(), PROT_NONE), 0);
    EXPECT_TRUE(is_readable(pages + page_size() - 1));
    EXPECT_FALSE(is_readable(pages + page_size()));
    EXPECT_FALSE(is_readable(nullptr));
    EXPECT_EQ(errno, EDOM);
    unmap_pages(pages, 2 * page_size());
}

TEST(memory, a_stack_is_usable_from_top_to_bottom) {
    for (const std::size_t size : {std::size_t{1}, std::size_t{16384}, std::size_t{8} << 20}) {
        stack_memory stack = map_stack(size);
        ASSERT_TRUE(stack);
        EXPECT_GE(stack.size(), size);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(stack.top) % page_size(), 0U);
        stack.bottom[0] = stack.top[-1] = std::byte{1};
        EXPECT_EQ(stack.bottom - stack.guard(),
                  static_cast<std::ptrdiff_t>(page_size() * std::clamp<std::size_t>(size / 4 / page_size(), 1, 16)));
        EXPECT_TRUE(stack.overflowed_at(stack.bottom - 1));
        EXPECT_TRUE(stack.overflowed_at(stack.guard()));
        EXPECT_FALSE(stack.overflowed_at(stack.bottom));
        EXPECT_FALSE(stack.overflowed_at(stack.guard() - 1));
        unmap_stack(stack);
        EXPECT_FALSE(stack);
    }
}

TEST(memory, a_stack_and_its_guard_take_an_odd_number_of_pages) {
    for (const std::size_t size :
         {std::size_t{4096}, std::size_t{12288}, std::size_t{256} << 10, std::size_t{8} << 20}) {
        stack_memory stack = map_stack(size);
        ASSERT_TRUE(stack);
        EXPECT_EQ(static_cast<std::size_t>(stack.top - stack.guard()) / page_size() % 2, 1U) << size;
        unmap_stack(stack);
    }
}

TEST(memory, many_guarded_stacks_leave_room_for_mappings) {
    // More than vm.max_map_count / 2: with a mapping for each guard the process could map nothing more.
    constexpr std::size_t count = 40'000;
    auto *stacks = static_cast<stack_memory *>(map_pages(count * sizeof(stack_memory)));
    testing::internal::CaptureStderr();
    for (std::size_t i = 0; i < count; ++i) {
        stacks[i] = map_stack(16384);
        ASSERT_TRUE(stacks[i]) << i;
    }
    void *more = map_pages(1 << 20);
    EXPECT_NE(more, nullptr);
    unmap_pages(more, 1 << 20);
    const std::string said = testing::internal::GetCapturedStderr();
    if (stacks[count - 1].kind == guard_kind::light)
        EXPECT_EQ(said, "");
    else
        EXPECT_NE(said.find("vm.max_map_count"), std::string::npos) << said;
    for (std::size_t i = 0; i < count; ++i) unmap_stack(stacks[i]);
    unmap_pages(stacks, count * sizeof(stack_memory));
}

TEST(memory_death, touching_the_guard_faults) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    stack_memory stack = map_stack(16384);
    ASSERT_TRUE(stack);
    ASSERT_NE(stack.kind, guard_kind::none);
    EXPECT_EXIT(
        {
            signal(SIGSEGV, SIG_DFL);
            stack.bottom[-1] = std::byte{1};
        },
        testing::KilledBySignal(SIGSEGV), "");
    unmap_stack(stack);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && !defined(__clang__)
TEST(memory_death, without_memory_there_is_no_stack_and_no_crash) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(
        {
            rlimit none{};
            setrlimit(RLIMIT_AS, &none);
            _exit(map_stack(1 << 20) || map_pages(1 << 20) ? 1 : 0);
        },
        testing::ExitedWithCode(0), "");
}
#endif

TEST(own_memory, pieces_are_aligned_and_apart_and_used_again) {
    for (const std::size_t size : {1, 64, 65, 1000, 4096, 32768, 32769, 300000}) {
        std::byte *pieces[20];
        for (std::byte *&p : pieces) {
            p = static_cast<std::byte *>(allocate_own(size));
            ASSERT_NE(p, nullptr);
            EXPECT_EQ(reinterpret_cast<std::uintptr_t>(p) % 64, 0U);
            std::memset(p, static_cast<int>(&p - pieces), size);
        }
        for (std::byte *&p : pieces)
            for (std::size_t i = 0; i < size; ++i) ASSERT_EQ(p[i], static_cast<std::byte>(&p - pieces));
        for (std::byte *p : pieces) free_own(p, size);
    }
    if (address_sanitizer) GTEST_SKIP() << "which keeps what was freed";
    void *first = allocate_own(100);
    free_own(first, 100);
    EXPECT_EQ(allocate_own(128), first); // sizes are rounded up
    free_own(first, 128);
}
