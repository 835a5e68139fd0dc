// How often a waiter looks at its condition.
#include "sync/wait_list.hpp"

#include "comity/thread.hpp"
#include "sys/clock.hpp"

#include <gtest/gtest.h>

using comity::sync::wait_end;
using comity::sync::wait_list;

namespace {

constexpr std::int64_t soon_ns = 20'000'000;
constexpr unsigned few = 8; // before and after each of the steps of blocking

struct counted {
    unsigned looks = 0;
    bool operator()() noexcept {
        ++looks;
        return false;
    }
};

template <class Wait> unsigned looks_of(Wait wait) {
    counted never;
    wait(never, comity::sys::now_ns() + soon_ns);
    return never.looks;
}

} // namespace

TEST(wait_list, who_has_spun_blocks_at_once) {
    const comity::threads scope;
    wait_list list;
    const auto block = [&](counted &never, std::int64_t deadline) { EXPECT_FALSE(list.block_until(never, deadline)); };
    const auto block_or_cancel = [&](counted &never, std::int64_t deadline) {
        EXPECT_EQ(list.block_or_cancel(never, deadline), wait_end::late);
    };
    const auto wait = [&](counted &never, std::int64_t deadline) { EXPECT_FALSE(list.wait_until(never, deadline)); };
    comity::thread([&] {
        EXPECT_LE(looks_of(block), few);
        EXPECT_LE(looks_of(block_or_cancel), few);
        EXPECT_GT(looks_of(wait), few);
    }).join();
    EXPECT_LE(looks_of(block), few);
    EXPECT_LE(looks_of(block_or_cancel), few);
}
