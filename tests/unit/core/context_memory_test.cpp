// Where contexts and their stacks lie: sizes, reuse, errors, overflow.
#include "comity/core.h"
#include "core/context.hpp"
#include "core/runtime.hpp"
#include "sys/options.hpp"
#include "sys/stack_pool.hpp"

#include "../sanitizers.hpp"

#include <cerrno>
#include <csignal>
#include <set>
#include <vector>

#include <sys/mman.h>
#include <sys/resource.h>

#include <gtest/gtest.h>

using namespace comity::core;
namespace sys = comity::sys;

namespace {

class context_memory : public testing::Test {
protected:
    void SetUp() override { ensure_started(); }
};

class context_memory_death : public testing::Test {
protected:
    void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

context *create(std::size_t stack_size) {
    int error = -1;
    context *c = create_context(stack_size, false, error);
    EXPECT_EQ(error, c ? 0 : ENOMEM);
    return c;
}

std::size_t room(const context *c) {
    return static_cast<std::size_t>(static_cast<std::byte *>(c->stack_top) - c->stack.bottom);
}

} // namespace

TEST_F(context_memory, a_context_takes_three_cache_lines) {
    if (thread_sanitizer || address_sanitizer) GTEST_SKIP() << "they add to it";
    EXPECT_LE(sizeof(context), 192U);
}

TEST_F(context_memory, bare_stacks_are_at_least_as_large_as_asked) {
    for (const std::size_t size : {1UL, 2048UL, 2049UL, 5000UL, 16384UL, 100'000UL, 1UL << 20, (64UL << 20) + 1}) {
        context *c = create(size);
        ASSERT_NE(c, nullptr);
        EXPECT_GE(room(c), size);
        destroy_context(c);
    }
}

TEST_F(context_memory, no_size_is_the_default) {
    context *c = create(0);
    ASSERT_NE(c, nullptr);
    EXPECT_GE(room(c), std::size_t{64} << 10);
    EXPECT_EQ(c->stack.size(), [] {
        context *other = create(comity::sys::get_options().stack_size);
        const std::size_t size = other->stack.size();
        destroy_context(other);
        return size;
    }());
    destroy_context(c);
}

TEST_F(context_memory, small_stacks_share_pages_and_have_no_guard) {
    if (thread_sanitizer || address_sanitizer) GTEST_SKIP() << "there are no small stacks";
    std::vector<context *> all;
    std::set<std::uintptr_t> pages;
    for (int i = 0; i < 100; ++i) {
        all.push_back(create(2048));
        pages.insert(reinterpret_cast<std::uintptr_t>(all.back()->stack_top) / sys::page_size());
        EXPECT_EQ(all.back()->stack.kind, sys::guard_kind::canary);
    }
    EXPECT_LT(pages.size(), 60U);
    for (context *c : all) destroy_context(c);
}

TEST_F(context_memory, absurd_sizes_are_an_error_for_each_kind) {
    for (const std::size_t size : {SIZE_MAX, SIZE_MAX - 4095, SIZE_MAX / 2 + 1, SIZE_MAX / 2, std::size_t{1} << 50})
        for (const bool full : {false, true}) {
            int error = 0;
            EXPECT_EQ(create_context(size, full, error), nullptr) << size;
            EXPECT_TRUE(error == ENOMEM || error == EINVAL || error == EAGAIN) << error;
        }
    const comity_context_attr_t attr{SIZE_MAX, 0};
    comity_context_t *c = nullptr;
    EXPECT_EQ(comity_context_init(&c, &attr), ENOMEM);
}

TEST_F(context_memory, several_at_once_are_all_different) {
    context *all[8]{};
    ASSERT_EQ(create_bare_contexts(16384, all, 8), 8U);
    std::set<void *> stacks;
    std::set<std::uint32_t> ids;
    for (const context *c : all) {
        stacks.insert(c->stack.bottom);
        ids.insert(c->id);
        EXPECT_TRUE(c->shares_tls);
        EXPECT_EQ(c->state, context_state::fresh);
    }
    EXPECT_EQ(stacks.size(), 8U);
    EXPECT_EQ(ids.size(), 8U);
    EXPECT_EQ(ids.count(0), 0U);
    for (context *c : all) destroy_context(c);
}

TEST_F(context_memory, the_memory_of_a_context_serves_the_next_under_a_new_name) {
    context *c = create(16384);
    const std::uint32_t id = c->id;
    destroy_context(c);
    context *again = create(16384);
    EXPECT_EQ(again, c);
    EXPECT_NE(again->id, id);
    EXPECT_NE(again->id, 0U);
    destroy_context(again);
}

TEST_F(context_memory, an_address_in_a_guard_names_its_context) {
    std::vector<context *> all;
    for (int i = 0; i < 20'000; ++i) all.push_back(create(32768)); // several chunks of contexts
    EXPECT_EQ(overflowed_at(all[7]->stack.bottom - 1), all[7]);
    EXPECT_EQ(overflowed_at(all[19'999]->stack.bottom - 8), all[19'999]);
    EXPECT_EQ(overflowed_at(all[3]->stack.bottom), nullptr);
    EXPECT_EQ(overflowed_at(nullptr), nullptr);
    const std::byte *gone = all[7]->stack.bottom - 1;
    for (context *c : all) destroy_context(c);
    EXPECT_EQ(overflowed_at(gone), nullptr);
}

TEST_F(context_memory_death, a_small_stack_that_overflowed_ends_the_program_by_name) {
    if (thread_sanitizer || address_sanitizer) GTEST_SKIP() << "there are no small stacks";
    EXPECT_DEATH(
        {
            ensure_started();
            context *c = create(2048);
            c->stack.bottom[0] ^= std::byte{1};
            destroy_context(c);
        },
        "stack overflow: context [0-9]+ used more than its small stack of 2048 bytes");
}

TEST_F(context_memory_death, contexts_without_end_are_an_error_at_last_and_the_rest_works_on) {
    if (thread_sanitizer || address_sanitizer) GTEST_SKIP() << "they need the address space";
    EXPECT_EXIT(
        {
            ensure_started();
            rlimit now{};
            now.rlim_cur = now.rlim_max = std::size_t{1} << 30;
            setrlimit(RLIMIT_AS, &now);
            static context *all[100'000];
            for (const std::size_t size : {std::size_t{2048}, std::size_t{16384}, std::size_t{8} << 20}) {
                unsigned n = 0;
                int error = 0;
                while (n < 100'000 && (all[n] = create_context(size, false, error))) ++n;
                if (n < 100'000 && error != ENOMEM) _exit(1);
                if (size != 2048 && (n == 100'000 || n < 16)) _exit(2);
                for (unsigned i = 0; i < n; ++i) destroy_context(all[i]);
                if (!(all[0] = create_context(size, false, error))) _exit(3);
                destroy_context(all[0]);
            }
            _exit(0);
        },
        testing::ExitedWithCode(0), "");
}
