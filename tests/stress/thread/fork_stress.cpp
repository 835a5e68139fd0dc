// Second halves of forks that end on another hart at the moment at which whoever forked stops for them.
#include "comity/fork.hpp"
#include "comity/thread.hpp"

#include "../../unit/sanitizers.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>

namespace {

void delay(unsigned n) {
    for (volatile unsigned left = n; left > 0;) left = left - 1;
}

// Threads that are always ready keep him from spinning until the end.
TEST(forks, whose_other_half_ends_while_they_stop_for_it_go_on) {
    const unsigned rounds = thread_sanitizer || address_sanitizer ? 3000 : std::getenv("COMITY_CHAOS") ? 5000 : 30000;
    const comity::threads scope;
    std::atomic<bool> over{false};
    const auto yield_until_over = [&over] {
        while (!over) comity::this_thread::yield();
    };
    comity::thread one(yield_until_over), other(yield_until_over);
    unsigned ran = 0;
    for (unsigned i = 0; i < rounds; ++i) {
        std::atomic<bool> taken{false};
        comity::join(
            [&] {
                for (unsigned looks = 0; !taken; ++looks)
                    if (looks % 10000 == 9999) comity::this_thread::yield(); // there may be no other hart
                delay(i % 199);
            },
            [&] {
                taken = true;
                delay(i % 211);
                ++ran;
            });
    }
    over = true;
    one.join();
    other.join();
    EXPECT_EQ(ran, rounds);
}

} // namespace
