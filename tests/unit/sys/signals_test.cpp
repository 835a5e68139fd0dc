#include "sys/signals.hpp"

#include <atomic>

#include <signal.h>

#include <gtest/gtest.h>

using namespace comity::sys;

namespace {
std::atomic<int> taken{0};
}

TEST(signals, wait_until_the_block_ends) {
    struct sigaction action {};
    action.sa_handler = [](int) { ++taken; };
    struct sigaction before {};
    ASSERT_EQ(sigaction(SIGUSR1, &action, &before), 0);
    {
        const signals_blocked outer;
        {
            const signals_blocked inner;
            raise(SIGUSR1);
        }
        EXPECT_EQ(taken, 0);
    }
    EXPECT_EQ(taken, 1);
    sigaction(SIGUSR1, &before, nullptr);
}

TEST(signals, faults_are_never_blocked) {
    const signals_blocked blocked;
    sigset_t mask;
    ASSERT_EQ(sigprocmask(SIG_SETMASK, nullptr, &mask), 0);
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS}) EXPECT_FALSE(sigismember(&mask, fault));
    for (const int other : {SIGINT, SIGTERM, SIGCHLD, SIGPROF, SIGRTMAX}) EXPECT_TRUE(sigismember(&mask, other));
}
