// POSIX threads that wait for events at descriptors again and again, so that Comity's do so on the harts. On Comity's
// threads and on the C library's.
#include "../../unit/sanitizers.hpp"
#include "start.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <ctime>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using namespace std::chrono_literals;

struct ends {
    int to_read = -1, to_write = -1;
    ends() {
        int two[2];
        EXPECT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, two));
        to_read = two[0];
        to_write = two[1];
    }
    ~ends() {
        close(to_read);
        close(to_write);
    }
    ends(const ends &) = delete;
    ends &operator=(const ends &) = delete;
    void give() const { EXPECT_EQ(1, write(to_write, "x", 1)); }
    // Without waiting.
    bool take() const {
        char c = 0;
        return recv(to_read, &c, 1, MSG_DONTWAIT) == 1;
    }
};

// Time enough for a thread to come to its wait. Nothing depends on whether it has.
void a_moment() { std::this_thread::sleep_for(5ms); }

struct epoll {
    int fd = epoll_create1(0);
    epoll() = default;
    ~epoll() { close(fd); }
    epoll(const epoll &) = delete;
    epoll &operator=(const epoll &) = delete;
    void add(int other, std::uint32_t events = EPOLLIN, std::uint64_t data = 0) const {
        epoll_event e{};
        e.events = events;
        e.data.u64 = data;
        EXPECT_EQ(0, epoll_ctl(fd, EPOLL_CTL_ADD, other, &e));
    }
};

enum class by { one_poll, poll_of_three, ppoll_call, epoll_call, epoll_pwait_call, epoll_pwait2_call, epoll_of_epoll };

class events : public testing::TestWithParam<by> {
protected:
    // What the tests wait for, and others at which nothing happens.
    const ends e, quiet, silent;
    epoll outer, inner;

    // For input at e. Without a limit: -1.
    int await(int milliseconds = -1) const {
        std::array<pollfd, 3> of{{{quiet.to_read, POLLIN, 0}, {e.to_read, POLLIN, 0}, {silent.to_read, POLLIN, 0}}};
        const timespec limit{milliseconds / 1000, milliseconds % 1000 * 1'000'000L};
        epoll_event found{};
        int n = 0;
        switch (GetParam()) {
        case by::one_poll:
            n = poll(&of[1], 1, milliseconds);
            break;
        case by::poll_of_three:
            n = poll(of.data(), of.size(), milliseconds);
            break;
        case by::ppoll_call:
            n = ppoll(&of[1], 2, milliseconds < 0 ? nullptr : &limit, nullptr);
            break;
        case by::epoll_call:
            return epoll_wait(inner.fd, &found, 1, milliseconds);
        case by::epoll_pwait_call:
            return epoll_pwait(inner.fd, &found, 1, milliseconds, nullptr);
        case by::epoll_pwait2_call:
#if __GLIBC_PREREQ(2, 35)
            return epoll_pwait2(inner.fd, &found, 1, milliseconds < 0 ? nullptr : &limit, nullptr);
#else
            return epoll_wait(inner.fd, &found, 1, milliseconds);
#endif
        case by::epoll_of_epoll:
            return epoll_wait(outer.fd, &found, 1, milliseconds);
        }
        EXPECT_EQ(0, of[0].revents);
        EXPECT_EQ(n == 1 ? POLLIN : 0, of[1].revents & POLLIN);
        EXPECT_EQ(0, of[2].revents);
        return n;
    }
    // From here on the descriptors are known to be such at which threads sleep.
    void SetUp() override {
        inner.add(e.to_read);
        inner.add(quiet.to_read);
        outer.add(inner.fd);
        auto twice = [&] {
            for (int i = 0; i < 2; ++i) {
                EXPECT_EQ(1, await());
                EXPECT_TRUE(e.take());
            }
        };
        const pthread_t t = start(twice);
        for (int i = 0; i < 2; ++i) {
            a_moment();
            e.give();
            while (e_has_input()) a_moment();
        }
        pthread_join(t, nullptr);
    }
    bool e_has_input() const {
        char c = 0;
        return recv(e.to_read, &c, 1, MSG_DONTWAIT | MSG_PEEK) == 1;
    }
};

std::atomic<int> handled{0};
void set_handler(int flags) {
    struct sigaction a {};
    a.sa_handler = [](int) { ++handled; };
    a.sa_flags = flags;
    EXPECT_EQ(0, sigaction(SIGUSR1, &a, nullptr));
}

} // namespace

TEST_P(events, go_to_and_fro) {
    const ends back;
    constexpr int rounds = 300;
    auto answer = [&] {
        for (int i = 0; i < rounds; ++i) {
            EXPECT_EQ(1, await());
            EXPECT_TRUE(e.take());
            back.give();
        }
    };
    auto ask = [&] {
        for (int i = 0; i < rounds; ++i) {
            e.give();
            pollfd p{back.to_read, POLLIN, 0};
            EXPECT_EQ(1, poll(&p, 1, -1));
            EXPECT_TRUE(back.take());
        }
    };
    const pthread_t a = start(answer), b = start(ask);
    pthread_join(a, nullptr);
    pthread_join(b, nullptr);
}

TEST_P(events, that_are_several_threads_reach_all_of_them) {
    constexpr int threads = 8, each = 20;
    std::atomic<int> got{0};
    auto take = [&] {
        while (got < threads * each) {
            EXPECT_LE(0, await(20));
            got += e.take();
        }
    };
    std::vector<pthread_t> all;
    for (int i = 0; i < threads; ++i) all.push_back(start(take));
    for (int i = 0; i < each; ++i) {
        for (int k = 0; k < threads; ++k) e.give();
        if (i % 4 == 0) a_moment();
    }
    for (const pthread_t t : all) pthread_join(t, nullptr);
    EXPECT_EQ(threads * each, got);
}

TEST_P(events, that_do_not_come_are_waited_for_as_long_as_was_said) {
    auto wait = [&] {
        errno = ERANGE;
        for (const int limit : {1, 20, 50}) {
            const auto begin = std::chrono::steady_clock::now();
            EXPECT_EQ(0, await(limit));
            EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(limit));
        }
        EXPECT_EQ(ERANGE, errno);
        e.give();
        EXPECT_EQ(1, await(0));
        EXPECT_TRUE(e.take());
        EXPECT_EQ(0, await(0));
    };
    pthread_join(start(wait), nullptr);
}

TEST_P(events, tell_of_the_other_ends_end) {
    int found = 0;
    auto wait = [&] { found = await(); };
    const pthread_t t = start(wait);
    a_moment();
    shutdown(e.to_write, SHUT_RDWR);
    pthread_join(t, nullptr);
    EXPECT_EQ(1, found);
}

TEST_P(events, are_waited_for_at_a_cancellation_point) {
    auto wait = [&] {
        for (;;) await();
    };
    const pthread_t t = start(wait);
    a_moment();
    pthread_cancel(t);
    void *result = nullptr;
    pthread_join(t, &result);
    EXPECT_EQ(PTHREAD_CANCELED, result);
    e.give();
    EXPECT_EQ(1, await(0));
}

TEST_P(events, are_not_waited_for_after_a_handler_of_whatever_kind) {
    for (const int flags : {0, SA_RESTART}) {
        set_handler(flags);
        int found = 0, error = 0;
        std::atomic<bool> ended{false};
        auto wait = [&] {
            found = await();
            error = errno;
            ended = true;
        };
        const pthread_t t = start(wait);
        while (!ended) { // one that runs before the wait does not end it
            pthread_kill(t, SIGUSR1);
            a_moment();
        }
        pthread_join(t, nullptr);
        EXPECT_EQ(-1, found);
        EXPECT_EQ(EINTR, error);
    }
}

TEST_P(events, reach_the_child_of_a_fork) {
    if (address_sanitizer || thread_sanitizer) GTEST_SKIP() << "it allows a child no threads, or no malloc";
    auto bystander = [&] { EXPECT_EQ(1, await()); };
    const pthread_t waits = start(bystander);
    auto fork_and_wait = [&] {
        const pid_t child = fork();
        if (child == 0) _exit(await() == 1 && e.take() && await() == 1 ? 0 : 1);
        a_moment();
        e.give();
        a_moment();
        e.give();
        int status = -1;
        EXPECT_EQ(child, waitpid(child, &status, 0));
        EXPECT_EQ(0, status);
    };
    pthread_join(start(fork_and_wait), nullptr);
    pthread_join(waits, nullptr);
}

namespace {
std::string name_of(const testing::TestParamInfo<by> &of) {
    const char *names[] = {"one_poll",    "poll_of_three", "ppoll",         "epoll_wait",
                           "epoll_pwait", "epoll_pwait2",  "epoll_of_epoll"};
    return names[static_cast<int>(of.param)];
}
} // namespace
INSTANTIATE_TEST_SUITE_P(of, events,
                         testing::Values(by::one_poll, by::poll_of_three, by::ppoll_call, by::epoll_call,
                                         by::epoll_pwait_call, by::epoll_pwait2_call, by::epoll_of_epoll),
                         name_of);

namespace {

constexpr int pairs = 6;
struct many_ends {
    std::array<ends, pairs> all;
    // Input at some, until all were told of by await(n), which says how many it has taken.
    template <class Await> void give_and_await(int rounds, int threads, Await await) {
        std::atomic<int> taken{0};
        auto take = [&] {
            while (taken < rounds * pairs) taken += await();
        };
        std::vector<pthread_t> waiting;
        for (int i = 0; i < threads; ++i) waiting.push_back(start(take));
        for (int i = 0; i < rounds; ++i) {
            for (const ends &e : all) e.give();
            if (i % 8 == 0) a_moment();
            while (taken < i * pairs) std::this_thread::yield();
        }
        for (const pthread_t t : waiting) pthread_join(t, nullptr);
        EXPECT_EQ(rounds * pairs, taken);
    }
    int take_all(std::size_t at) const {
        int n = 0;
        while (all[at].take()) ++n;
        return n;
    }
};

} // namespace

// Each is told of one thread, once, which takes all there is.
TEST(edge_triggered_events, of_several_threads_are_all_taken) {
    many_ends of;
    const epoll set;
    for (std::size_t i = 0; i < pairs; ++i) set.add(of.all[i].to_read, EPOLLIN | EPOLLET, i);
    of.give_and_await(100, 4, [&] {
        epoll_event found[2];
        const int n = epoll_wait(set.fd, found, 2, 20);
        int taken = 0;
        for (int i = 0; i < n; ++i) taken += of.take_all(found[i].data.u64);
        return taken;
    });
}

TEST(events_that_are_told_of_once, come_again_when_they_are_asked_for) {
    many_ends of;
    const epoll set;
    constexpr std::uint32_t once = static_cast<std::uint32_t>(EPOLLIN) | static_cast<std::uint32_t>(EPOLLONESHOT);
    for (std::size_t i = 0; i < pairs; ++i) set.add(of.all[i].to_read, once, i);
    std::array<std::atomic<int>, pairs> at_once{};
    of.give_and_await(100, 4, [&] {
        epoll_event found{};
        if (epoll_wait(set.fd, &found, 1, 20) != 1) return 0;
        const std::size_t at = found.data.u64;
        EXPECT_EQ(0, at_once[at]++) << "it is one thread's";
        const int taken = of.take_all(at);
        --at_once[at];
        epoll_event again{};
        again.events = once;
        again.data.u64 = at;
        EXPECT_EQ(0, epoll_ctl(set.fd, EPOLL_CTL_MOD, of.all[at].to_read, &again));
        return taken;
    });
}

TEST(other_events, of_a_descriptor_that_is_added_meanwhile_end_the_wait) {
    const epoll set;
    const ends first, second;
    set.add(first.to_read, EPOLLIN, 1);
    std::atomic<int> rounds{0};
    auto wait = [&] {
        for (const std::uint64_t expected : {1, 1, 2}) {
            epoll_event found{};
            EXPECT_EQ(1, epoll_wait(set.fd, &found, 1, -1));
            EXPECT_EQ(expected, found.data.u64);
            EXPECT_TRUE((expected == 1 ? first : second).take());
            ++rounds;
        }
    };
    const pthread_t t = start(wait);
    for (int i = 1; i <= 2; ++i) {
        a_moment();
        first.give();
        while (rounds < i) a_moment();
    }
    second.give();
    a_moment();
    set.add(second.to_read, EPOLLIN, 2);
    pthread_join(t, nullptr);
}

// The C library's poll goes on with the file; that its number is none any more may be told as well.
TEST(other_events, of_others_are_told_of_when_a_descriptor_was_closed) {
    if (thread_sanitizer) GTEST_SKIP() << "it takes a close beside a poll for a race";
    for (int i = 0; i < 20; ++i) {
        ends closed;
        const ends rest;
        const bool once_more = i % 2; // known as such at which threads sleep
        std::atomic<int> rounds{0};
        auto wait = [&] {
            for (bool ends = !once_more;; ends = true) {
                pollfd of[] = {{closed.to_read, POLLIN, 0}, {rest.to_read, POLLIN, 0}};
                EXPECT_LE(1, poll(of, 2, -1));
                while (!(of[1].revents & POLLIN)) EXPECT_LE(1, poll(&of[1], 1, -1));
                EXPECT_TRUE(rest.take());
                ++rounds;
                if (ends) break;
            }
        };
        const pthread_t t = start(wait);
        a_moment();
        if (once_more) {
            rest.give();
            while (rounds == 0) a_moment();
            a_moment();
        }
        close(closed.to_read);
        closed.to_read = -1;
        a_moment();
        rest.give();
        pthread_join(t, nullptr);
    }
}

TEST(other_events, of_an_epoll_whose_number_is_closed_are_still_told_of) {
    if (thread_sanitizer) GTEST_SKIP() << "it takes a close beside a wait for a race";
    const int set = epoll_create1(0), also = dup(set);
    const ends e;
    epoll_event events{};
    events.events = EPOLLIN;
    ASSERT_EQ(0, epoll_ctl(set, EPOLL_CTL_ADD, e.to_read, &events));
    std::atomic<int> rounds{0};
    auto wait = [&] {
        for (int i = 0; i < 3; ++i) {
            epoll_event found{};
            EXPECT_EQ(1, epoll_wait(set, &found, 1, -1));
            EXPECT_TRUE(e.take());
            ++rounds;
        }
    };
    const pthread_t t = start(wait);
    for (int i = 1; i <= 2; ++i) {
        a_moment();
        e.give();
        while (rounds < i) a_moment();
    }
    a_moment();
    close(set);
    a_moment();
    e.give();
    pthread_join(t, nullptr);
    close(also);
}

// More threads than share what they wait at.
TEST(other_events, of_hundreds_of_threads_reach_each) {
    constexpr int threads = 150, rounds = 4;
    struct one {
        ends a, b;
        std::atomic<int> got{0};
    };
    std::vector<std::unique_ptr<one>> all;
    std::vector<std::thread> waiting;
    for (int i = 0; i < threads; ++i) {
        all.push_back(std::make_unique<one>());
        waiting.emplace_back([&o = *all.back()] {
            for (int k = 0; k < rounds; ++k) {
                pollfd of[] = {{o.a.to_read, POLLIN, 0}, {o.b.to_read, POLLIN, 0}};
                EXPECT_EQ(1, poll(of, 2, -1));
                EXPECT_TRUE((k % 2 ? o.b : o.a).take());
                ++o.got;
            }
        });
    }
    for (int k = 0; k < rounds; ++k) {
        a_moment();
        for (const auto &o : all) (k % 2 ? o->b : o->a).give();
        for (const auto &o : all)
            while (o->got <= k) a_moment();
    }
    for (std::thread &t : waiting) t.join();
}

TEST(a_poll, of_nothing_is_a_sleep) {
    auto sleep = [] {
        const auto begin = std::chrono::steady_clock::now();
        EXPECT_EQ(0, poll(nullptr, 0, 30));
        pollfd left_out{-1, POLLIN, POLLIN};
        EXPECT_EQ(0, poll(&left_out, 1, 30));
        EXPECT_EQ(0, left_out.revents);
        EXPECT_GE(std::chrono::steady_clock::now() - begin, 60ms);
    };
    pthread_join(start(sleep), nullptr);
}

TEST(a_poll, at_what_is_no_descriptor_says_so) {
    auto look = [] {
        const ends e;
        for (int i = 0; i < 3; ++i) {
            pollfd of[] = {{e.to_read, POLLIN, 0}, {1'000'000, POLLIN, 0}};
            EXPECT_EQ(1, poll(of, 2, 1'000));
            EXPECT_EQ(POLLNVAL, of[1].revents);
            epoll_event found{};
            errno = 0;
            EXPECT_EQ(-1, epoll_wait(1'000'000, &found, 1, 1'000));
            EXPECT_EQ(EBADF, errno);
            EXPECT_EQ(-1, epoll_wait(e.to_read, &found, 1, 1'000));
            EXPECT_EQ(EINVAL, errno);
        }
    };
    pthread_join(start(look), nullptr);
}
