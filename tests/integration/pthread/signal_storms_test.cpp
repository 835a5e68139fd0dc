// A timer's signal that comes at each instant: amid an exception's unwinding, and just before a read of what is there.
// On Comity's threads and on the C library's.
#include "start.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <thread>

#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

namespace {

using namespace std::chrono_literals;

std::atomic<long> handled;

// SIGALRM again and again, for the time of a test.
class storm {
public:
    explicit storm(int flags) {
        handled = 0;
        struct sigaction a {};
        a.sa_handler = [](int) { ++handled; };
        a.sa_flags = flags;
        sigaction(SIGALRM, &a, &before_);
        set(100);
    }
    ~storm() {
        set(0);
        for (long seen = -1; seen != handled; std::this_thread::sleep_for(20ms)) seen = handled; // those under way
        sigaction(SIGALRM, &before_, nullptr);
    }
    storm(const storm &) = delete;
    storm &operator=(const storm &) = delete;

private:
    static void set(long us) {
        const itimerval t{{0, us}, {0, us}};
        setitimer(ITIMER_REAL, &t, nullptr);
    }
    struct sigaction before_ {};
};

template <class F> void for_a_while(F f) {
    const auto end = std::chrono::steady_clock::now() + 400ms;
    while (std::chrono::steady_clock::now() < end) f();
}

struct counts_its_end {
    volatile int &n;
    ~counts_its_end() { n = n + 1; }
};
[[gnu::noinline]] void throws_at(int depth, volatile int &n) {
    const counts_its_end c{n};
    if (depth == 0) throw depth;
    throws_at(depth - 1, n);
    asm volatile("");
}
void throw_for_a_while() {
    for_a_while([] {
        for (int i = 0; i < 100; ++i) {
            volatile int n = 0;
            try {
                throws_at(5, n);
            } catch (int) {
                n = n + 1;
            }
            ASSERT_EQ(n, 7);
        }
    });
}

// What another thread has written is reported, and then read.
void read_what_is_there(int from, int to) {
    const int all = epoll_create1(EPOLL_CLOEXEC);
    epoll_event e{};
    e.events = EPOLLIN;
    ASSERT_EQ(0, epoll_ctl(all, EPOLL_CTL_ADD, from, &e));
    for_a_while([=] {
        std::thread writes([to] {
            const std::uint64_t five = 5;
            std::this_thread::sleep_for(20us);
            ASSERT_EQ(8, write(to, &five, sizeof five));
        });
        epoll_event found{};
        int ready = 0;
        do ready = epoll_wait(all, &found, 1, 60'000);
        while (ready == -1 && errno == EINTR);
        std::uint64_t value = 0;
        EXPECT_EQ(1, ready);
        EXPECT_EQ(8, read(from, &value, sizeof value)) << errno;
        EXPECT_EQ(5u, value);
        writes.join();
    });
    close(all);
}

} // namespace

TEST(storms, leave_exceptions_of_the_first_thread_whole) {
    const storm s(SA_RESTART);
    std::thread([] {}).join(); // from here on its signals are Comity's
    throw_for_a_while();
    EXPECT_GT(handled, 0);
}

TEST(storms, leave_exceptions_of_threads_whole) {
    const storm s(SA_RESTART);
    std::thread a(throw_for_a_while), b(throw_for_a_while), c(throw_for_a_while);
    a.join();
    b.join();
    c.join();
    EXPECT_GT(handled, 0);
}

TEST(storms, end_no_read_of_what_is_there) {
    int ends[2];
    const storm s(0);
    ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
    read_what_is_there(ends[0], ends[1]);
    std::thread(read_what_is_there, ends[0], ends[1]).join();
    close(ends[0]);
    close(ends[1]);
    const int events = eventfd(0, EFD_CLOEXEC);
    read_what_is_there(events, events);
    close(events);
    EXPECT_GT(handled, 0);
}
