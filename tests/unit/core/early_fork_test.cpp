// A process forks before it has started Comity, while another of its threads takes memory of Comity's.
#include "core/runtime.hpp"
#include "sys/own_memory.hpp"

#include "in_a_child.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace {

constexpr std::size_t size = 96;
void take_and_free() { comity::sys::free_own(comity::sys::allocate_own(size), size); }

} // namespace

TEST(fork, beside_a_thread_that_takes_own_memory_leaves_a_child_that_can_take_some) {
    constexpr int forks = 500;
    ASSERT_FALSE(comity::core::has_started());
    std::atomic<bool> stop{false};
    std::thread takes([&stop] {
        while (!stop) take_and_free();
    });
    int bad = 0;
    for (int i = 0; i < forks && bad == 0; ++i) bad += !in_a_child(take_and_free);
    stop = true;
    takes.join();
    EXPECT_EQ(bad, 0);
}
