// What descriptors are besides sockets and pipes, and what happens to their numbers, while POSIX threads wait for input
// at them again and again. On Comity's threads and on the C library's.
#include "start.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

namespace {

using namespace std::chrono_literals;

// Time enough for a thread to come to its wait. Nothing depends on whether it has.
void a_moment() { std::this_thread::sleep_for(5ms); }

std::chrono::nanoseconds time_of_processors() {
    timespec t{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec);
}

void run(std::function<void()> f) { pthread_join(start(f), nullptr); }

// Reads from a pipe, on the harts if there are any: at the second time it is known that to read means to sleep.
class reader {
public:
    explicit reader(const int *pipe) : pipe_(pipe) {
        thread_ = start(read_);
        std::this_thread::sleep_for(60ms); // the watch has seen it sleep
        EXPECT_EQ(1, write(pipe_[1], "a", 1));
        std::this_thread::sleep_for(60ms);
    }
    void expect_input() {
        EXPECT_EQ(1, write(pipe_[1], "b", 1));
        pthread_join(thread_, nullptr);
        EXPECT_EQ('b', got_);
    }

private:
    const int *pipe_;
    char got_ = 0;
    std::function<void()> read_ = [this] {
        for (int i = 0; i < 2; ++i) EXPECT_EQ(1, read(pipe_[0], &got_, 1));
    };
    pthread_t thread_{};
};

// ---- What poll does not tell

TEST(descriptors, of_terminals_that_wait_for_a_time_only_end_then) {
    const int master = posix_openpt(O_RDWR | O_NOCTTY);
    if (master < 0) GTEST_SKIP() << "there are no terminals here";
    ASSERT_EQ(0, grantpt(master));
    ASSERT_EQ(0, unlockpt(master));
    const int terminal = open(ptsname(master), O_RDWR | O_NOCTTY);
    ASSERT_LE(0, terminal);
    termios t{};
    ASSERT_EQ(0, tcgetattr(terminal, &t));
    cfmakeraw(&t);
    t.c_cc[VMIN] = 0;
    t.c_cc[VTIME] = 1; // tenths of a second
    ASSERT_EQ(0, tcsetattr(terminal, TCSANOW, &t));
    run([=] {
        char c = 0;
        for (int i = 0; i < 3; ++i) EXPECT_EQ(0, read(terminal, &c, 1));
    });
    close(terminal);
    close(master);
}

TEST(descriptors, of_a_fifo_that_nobody_writes_to_have_no_input) {
    const std::string name = testing::TempDir() + "comity_fifo_" + std::to_string(getpid());
    ASSERT_EQ(0, mkfifo(name.c_str(), 0600));
    const int fifo = open(name.c_str(), O_RDONLY | O_NONBLOCK);
    unlink(name.c_str());
    ASSERT_LE(0, fifo);
    ASSERT_EQ(0, fcntl(fifo, F_SETFL, 0));
    std::atomic<bool> computing{true};
    auto compute = [&] {
        while (computing) {
        }
    };
    pthread_t computers[4]; // which want all harts
    for (pthread_t &one : computers) one = start(compute);
    run([=] {
        char c = 0;
        for (int i = 0; i < 3; ++i) EXPECT_EQ(0, read(fifo, &c, 1));
    });
    computing = false;
    for (const pthread_t one : computers) pthread_join(one, nullptr);
    close(fifo);
}

TEST(descriptors, that_nothing_is_wanted_of_say_so_at_once) {
    int ends[2];
    ASSERT_EQ(0, pipe(ends));
    reader sleeper(ends);
    run([&] {
        char c = 0;
        iovec nothing{&c, 0};
        EXPECT_EQ(0, readv(ends[0], &nothing, 1));
        EXPECT_EQ(0, readv(ends[0], &nothing, 0));
        volatile int too_few = -1;
        EXPECT_EQ(-1, readv(ends[0], &nothing, too_few));
        EXPECT_EQ(EINVAL, errno);
        EXPECT_EQ(0, read(ends[0], &c, 0));
    });
    sleeper.expect_input();
    const int counter = eventfd(0, 0);
    run([=] { // also once it is known that to read there means to sleep
        std::uint64_t n = 0;
        std::thread later([=] {
            a_moment();
            EXPECT_EQ(0, eventfd_write(counter, 3));
        });
        EXPECT_EQ(8, read(counter, &n, 8));
        EXPECT_EQ(3U, n);
        later.join();
        EXPECT_EQ(-1, read(counter, &n, 4));
        EXPECT_EQ(EINVAL, errno);
    });
    close(counter);
    close(ends[0]);
    close(ends[1]);
}

// ---- What the kernel and Comity have to do with each other

TEST(descriptors, are_polled_without_a_word_of_signals_where_there_are_none) {
    int ends[2];
    ASSERT_EQ(0, pipe(ends));
    std::atomic<int> interrupted{0};
    auto look = [&] { // more than there are harts, so that they are sent away again and again
        const auto end = std::chrono::steady_clock::now() + 300ms;
        while (std::chrono::steady_clock::now() < end)
            for (int i = 0; i < 50; ++i) {
                pollfd many[64];
                for (pollfd &one : many) one = {ends[0], POLLIN, 0};
                if (poll(many, 64, 0) != 0) ++interrupted;
                fd_set set;
                FD_ZERO(&set);
                FD_SET(ends[0], &set);
                timeval none{};
                if (select(ends[0] + 1, &set, nullptr, nullptr, &none) != 0) ++interrupted;
            }
    };
    pthread_t all[4];
    for (pthread_t &one : all) one = start(look);
    for (const pthread_t one : all) pthread_join(one, nullptr);
    EXPECT_EQ(0, interrupted);
    close(ends[0]);
    close(ends[1]);
}

TEST(descriptors, that_are_polled_for_their_end_alone_take_no_time_where_there_is_input) {
    int ends[2];
    ASSERT_EQ(0, pipe(ends));
    std::function<void()> wait = [&] {
        char c = 0;
        EXPECT_EQ(1, read(ends[0], &c, 1)); // to read there means to sleep
        std::this_thread::sleep_for(20ms);
        const auto before = time_of_processors();
        pollfd p{ends[0], 0, 0};
        EXPECT_EQ(0, poll(&p, 1, 500));
        EXPECT_GT(250ms, time_of_processors() - before);
    };
    const pthread_t t = start(wait);
    std::this_thread::sleep_for(20ms);
    EXPECT_EQ(2, write(ends[1], "xx", 2));
    pthread_join(t, nullptr);
    close(ends[0]);
    close(ends[1]);
}

// The kernel takes a file into 500 epolls at most that stand in others.
TEST(descriptors, of_very_many_epolls_with_waiters_can_have_a_file_in_common) {
    constexpr std::size_t epolls = 520;
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    const rlimit before = limit;
    limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, 4096);
    if (limit.rlim_cur < 2 * epolls + 100 || setrlimit(RLIMIT_NOFILE, &limit) != 0)
        GTEST_SKIP() << "too few descriptors";
    struct place {
        int epoll, own;
        std::function<void()> wait;
        pthread_t thread;
    };
    std::vector<place> all(epolls);
    const int stop = eventfd(0, 0);
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 65536);
    for (place &one : all) {
        one.epoll = epoll_create1(0);
        one.own = eventfd(0, EFD_NONBLOCK);
        epoll_event e{EPOLLIN, {.u32 = 0}};
        ASSERT_EQ(0, epoll_ctl(one.epoll, EPOLL_CTL_ADD, one.own, &e));
        one.wait = [&one] {
            for (epoll_event e{};;) {
                ASSERT_EQ(1, epoll_wait(one.epoll, &e, 1, -1));
                if (e.data.u32 == 1) return;
                std::uint64_t n = 0;
                EXPECT_EQ(8, read(one.own, &n, 8));
            }
        };
        one.thread = start(one.wait, &small);
    }
    for (int i = 0; i < 3; ++i) {
        std::this_thread::sleep_for(50ms);
        for (const place &one : all) EXPECT_EQ(0, eventfd_write(one.own, 1));
    }
    for (const place &one : all) {
        epoll_event e{EPOLLIN, {.u32 = 1}};
        EXPECT_EQ(0, epoll_ctl(one.epoll, EPOLL_CTL_ADD, stop, &e)) << errno;
    }
    EXPECT_EQ(0, eventfd_write(stop, 1));
    for (const place &one : all) {
        pthread_join(one.thread, nullptr);
        close(one.epoll);
        close(one.own);
    }
    close(stop);
    setrlimit(RLIMIT_NOFILE, &before);
}

// ---- Numbers that are closed meanwhile: whoever waits there goes on with the same file

class numbers : public testing::TestWithParam<int> {};

TEST_P(numbers, that_are_closed_keep_their_file_for_who_reads_there) {
    using range_function = int (*)(unsigned, unsigned, int);
    const auto close_them = reinterpret_cast<range_function>(dlsym(RTLD_DEFAULT, "close_range"));
    const auto close_by = [close_them](int fd, int how) {
        const auto number = static_cast<unsigned>(fd);
        switch (how) {
        case 0:
            return close(fd);
        case 1:
            return fclose(fdopen(fd, "r"));
        default:
            return close_them(number, number, 0);
        }
    };
    if (GetParam() == 2 && (!close_them || (close_them(1'000'000, 1'000'000, 0) != 0 && errno == ENOSYS)))
        GTEST_SKIP() << "there is no close_range here";
    int ends[2];
    ASSERT_EQ(0, pipe(ends));
    reader r(ends);
    ASSERT_EQ(0, close_by(ends[0], GetParam()));
    a_moment();
    r.expect_input();
    close(ends[1]);
}

std::string name_of(const testing::TestParamInfo<int> &p) {
    return p.param == 0 ? "close" : p.param == 1 ? "fclose" : "close_range";
}
INSTANTIATE_TEST_SUITE_P(by, numbers, testing::Values(0, 1, 2), name_of);

// ---- A handler closes the number at which its own thread waits: that is over, as after any handler

int closed_by_handler = -1, put_there_by_handler = -1;

struct handled_wait {
    const char *name;
    bool has_waited; // there before: then it waits on the harts
    int (*wait)(int fd);
    bool is_epoll = false; // the number is that of one
};

int read_one(int fd) {
    char c = 0;
    return static_cast<int>(read(fd, &c, 1));
}
int poll_one(int fd) {
    pollfd p{fd, POLLIN, 0};
    return poll(&p, 1, 60'000);
}
int poll_two(int fd) {
    pollfd p[]{{fd, POLLIN, 0}, {-1, POLLOUT, 0}};
    return poll(p, 2, 60'000);
}
// More than wait on the harts.
int poll_many(int fd) {
    pollfd p[20];
    for (pollfd &one : p) one = {fd, POLLIN, 0};
    return poll(p, 20, 60'000);
}
int wait_at_epoll(int fd) {
    epoll_event e{};
    return epoll_wait(fd, &e, 1, 60'000);
}

class closed_by_its_handler : public testing::TestWithParam<handled_wait> {
protected:
    struct outcome {
        int result, error;
    };
    // Of one wait, in which a handler closes the number, or puts another file there.
    static outcome wait(bool restarts, bool puts, std::chrono::milliseconds time) {
        const handled_wait &how = GetParam();
        int ends[2], other[2];
        EXPECT_EQ(0, pipe(ends));
        EXPECT_EQ(0, pipe(other));
        EXPECT_EQ(1, write(other[1], "o", 1));
        const int epoll = how.is_epoll ? epoll_create1(0) : -1, fd = how.is_epoll ? epoll : ends[0];
        epoll_event e{EPOLLIN, {.u32 = 0}};
        if (how.is_epoll) epoll_ctl(epoll, EPOLL_CTL_ADD, ends[0], &e);
        closed_by_handler = fd;
        put_there_by_handler = puts ? other[0] : -1;
        struct sigaction closes {
        }, before{};
        closes.sa_flags = restarts ? SA_RESTART : 0;
        closes.sa_handler = [](int) {
            put_there_by_handler < 0 ? close(closed_by_handler) : dup2(put_there_by_handler, closed_by_handler);
        };
        sigaction(SIGUSR1, &closes, &before);
        outcome o{};
        std::atomic<int> waited{0};
        std::function<void()> run = [&] {
            for (int i = 0; i < 2 && how.has_waited; ++i, ++waited) EXPECT_EQ(1, read_one(fd));
            waited = 2;
            const int result = how.wait(fd);
            o = {result, errno};
            EXPECT_TRUE(!puts || result != -1 || read_one(fd) == 1);
        };
        const pthread_t t = start(run);
        for (int i = 0; i < 2 && how.has_waited; ++i) {
            std::this_thread::sleep_for(20ms);
            EXPECT_EQ(1, write(ends[1], "x", 1));
        }
        while (waited != 2) a_moment();
        std::this_thread::sleep_for(time);
        pthread_kill(t, SIGUSR1);
        pthread_join(t, nullptr);
        sigaction(SIGUSR1, &before, nullptr);
        for (const int one : {ends[1], other[0], other[1]}) close(one);
        if (puts) close(fd);
        if (how.is_epoll) close(ends[0]);
        return o;
    }
    // Nothing tells that a thread has come to its wait, and one that is late finds the number closed: then there is
    // another round.
    static void expect_interrupted(bool restarts, bool puts) {
        outcome o{};
        for (auto time = 30ms; time < 10s && !(o.result == -1 && o.error == EINTR); time *= 3)
            o = wait(restarts, puts, time);
        EXPECT_EQ(-1, o.result);
        EXPECT_EQ(EINTR, o.error);
    }
};

TEST_P(closed_by_its_handler, ends_with_eintr) { expect_interrupted(false, false); }

TEST_P(closed_by_its_handler, ends_with_eintr_also_where_another_file_has_the_number) {
    if (!GetParam().is_epoll) expect_interrupted(false, true);
}

TEST_P(closed_by_its_handler, that_lets_calls_begin_anew_finds_the_number_closed) {
    if (GetParam().wait != read_one) return expect_interrupted(true, false); // no wait for events begins anew
    const outcome o = wait(true, false, 30ms);
    EXPECT_EQ(-1, o.result);
    EXPECT_EQ(EBADF, o.error);
}

INSTANTIATE_TEST_SUITE_P(
    of, closed_by_its_handler,
    testing::Values(handled_wait{"read", false, read_one}, handled_wait{"read_on_the_harts", true, read_one},
                    handled_wait{"poll", false, poll_one}, handled_wait{"poll_on_the_harts", true, poll_one},
                    handled_wait{"poll_of_output", false, poll_two}, handled_wait{"poll_of_many", false, poll_many},
                    handled_wait{"epoll_wait", false, wait_at_epoll, true}),
    [](const testing::TestParamInfo<handled_wait> &p) { return std::string(p.param.name); });

} // namespace
