// POSIX threads that wait for input again and again, so that Comity's do so on the harts. On Comity's threads and on
// the C library's.
#include "../../unit/sanitizers.hpp"
#include "start.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using namespace std::chrono_literals;

struct ends {
    int to_read = -1, to_write = -1;
    enum class kind { pipe, socket };
    explicit ends(kind k = kind::socket) {
        int two[2];
        EXPECT_EQ(0, k == kind::pipe ? pipe(two) : socketpair(AF_UNIX, SOCK_STREAM, 0, two));
        to_read = two[0];
        to_write = two[1];
    }
    ~ends() {
        close(to_read);
        close(to_write);
    }
    ends(const ends &) = delete;
    ends &operator=(const ends &) = delete;
    void give(int n = 1) const {
        for (int i = 0; i < n; ++i) EXPECT_EQ(1, write(to_write, "x", 1));
    }
    ssize_t take() const {
        char c = 0;
        return read(to_read, &c, 1);
    }
};

// Time enough for a thread to come to its wait. Nothing depends on whether it has.
void a_moment() { std::this_thread::sleep_for(5ms); }

// From here on the descriptor is known to be one at which threads sleep.
void let_it_be_slept_at(const ends &e) {
    auto twice = [&] {
        EXPECT_EQ(1, e.take());
        EXPECT_EQ(1, e.take());
    };
    const pthread_t t = start(twice);
    a_moment();
    e.give();
    a_moment();
    e.give();
    pthread_join(t, nullptr);
}

class input : public testing::TestWithParam<ends::kind> {
protected:
    const ends e{GetParam()};
    void SetUp() override { let_it_be_slept_at(e); }
};

long kernel_threads() {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
        if (line.rfind("Threads:", 0) == 0) return std::stol(line.substr(8));
    return -1;
}

} // namespace

TEST_P(input, that_comes_for_several_is_everybodys) {
    constexpr int threads = 8, each = 20;
    std::atomic<int> got{0};
    auto take = [&] {
        for (int i = 0; i < each; ++i) got += static_cast<int>(e.take());
    };
    std::vector<pthread_t> all;
    for (int i = 0; i < threads; ++i) all.push_back(start(take));
    for (int i = 0; i < each; ++i) {
        e.give(threads);
        if (i % 4 == 0) a_moment();
    }
    for (const pthread_t t : all) pthread_join(t, nullptr);
    EXPECT_EQ(threads * each, got);
}

// The kernel's calls say nothing when they succeed, however often they were interrupted before, or tried.
TEST_P(input, that_comes_after_all_leaves_errno_alone) {
    struct sigaction quiet {
    }, before{};
    quiet.sa_handler = [](int) {};
    quiet.sa_flags = SA_RESTART;
    ASSERT_EQ(0, sigaction(SIGUSR1, &quiet, &before));
    std::atomic<int> right{0};
    auto hand_on = [&] {
        for (const int error : {ERANGE, EDOM, 0}) {
            errno = error;
            right += e.take() == 1 && errno == error;
            a_moment();
            errno = error;
            right += write(e.to_write, "x", 1) == 1 && errno == error;
        }
    };
    constexpr int threads = 4;
    std::vector<pthread_t> all;
    for (int i = 0; i < threads; ++i) all.push_back(start(hand_on));
    a_moment();
    for (const pthread_t t : all) pthread_kill(t, SIGUSR1);
    a_moment();
    e.give();
    for (const pthread_t t : all) pthread_join(t, nullptr);
    EXPECT_EQ(threads * 6, right);
    EXPECT_EQ(1, e.take());
    sigaction(SIGUSR1, &before, nullptr);
}

TEST_P(input, is_not_waited_for_when_the_other_end_is_closed) {
    ssize_t got = -1;
    auto take = [&] { got = e.take(); };
    const pthread_t t = start(take);
    a_moment();
    close(e.to_write);
    pthread_join(t, nullptr);
    EXPECT_EQ(0, got);
}

TEST_P(input, is_a_cancellation_point) {
    auto take = [&] { e.take(); };
    const pthread_t t = start(take);
    a_moment();
    pthread_cancel(t);
    void *result = nullptr;
    pthread_join(t, &result);
    EXPECT_EQ(PTHREAD_CANCELED, result);
    e.give();
    EXPECT_EQ(1, e.take()); // nothing of it is lost
}

// The request comes as the thread begins to read, on the hart of whoever makes it; the process's first wait takes long.
TEST_P(input, is_a_cancellation_point_from_its_beginning) {
    const ends e(GetParam());
    pthread_barrier_t together;
    pthread_barrier_init(&together, nullptr, 2);
    auto take = [&] {
        pthread_barrier_wait(&together);
        e.take();
    };
    for (int i = 0; i < 20; ++i) {
        const pthread_t t = start(take);
        pthread_barrier_wait(&together);
        pthread_cancel(t);
        void *result = nullptr;
        pthread_join(t, &result);
        ASSERT_EQ(PTHREAD_CANCELED, result);
    }
    pthread_barrier_destroy(&together);
}

TEST_P(input, that_somebody_else_takes_leaves_the_others_cancellable) {
    constexpr int threads = 8;
    std::atomic<int> got{0};
    auto take = [&] {
        for (;;) got += static_cast<int>(e.take());
    };
    std::vector<pthread_t> all;
    for (int i = 0; i < threads; ++i) all.push_back(start(take));
    for (int i = 0; i < 200; ++i) e.give();
    while (got != 200) a_moment();
    for (const pthread_t t : all) pthread_cancel(t);
    for (const pthread_t t : all) {
        void *result = nullptr;
        pthread_join(t, &result);
        EXPECT_EQ(PTHREAD_CANCELED, result);
    }
}

namespace {
std::atomic<int> handled{0};
void set_handler(int flags) {
    struct sigaction a {};
    a.sa_handler = [](int) { ++handled; };
    a.sa_flags = flags;
    EXPECT_EQ(0, sigaction(SIGUSR1, &a, nullptr));
}
} // namespace

TEST_P(input, is_not_waited_for_after_a_handler) {
    set_handler(0);
    handled = 0;
    int error = 0;
    ssize_t got = 0;
    std::atomic<bool> ended{false};
    auto take = [&] {
        got = e.take();
        error = errno;
        ended = true;
    };
    const pthread_t t = start(take);
    while (!ended) { // one that runs before the wait does not end it
        pthread_kill(t, SIGUSR1);
        a_moment();
    }
    pthread_join(t, nullptr);
    EXPECT_EQ(-1, got);
    EXPECT_EQ(EINTR, error);
}

TEST_P(input, is_waited_for_after_a_handler_that_lets_calls_begin_anew) {
    set_handler(SA_RESTART);
    handled = 0;
    ssize_t got = 0;
    auto take = [&] { got = e.take(); };
    const pthread_t t = start(take);
    a_moment();
    pthread_kill(t, SIGUSR1);
    while (handled == 0) a_moment();
    a_moment();
    EXPECT_EQ(0, got);
    e.give();
    pthread_join(t, nullptr);
    EXPECT_EQ(1, got);
}

TEST_P(input, is_not_waited_for_where_the_descriptor_was_told_not_to) {
    ASSERT_EQ(0, fcntl(e.to_read, F_SETFL, fcntl(e.to_read, F_GETFL) | O_NONBLOCK));
    auto take = [&] {
        EXPECT_EQ(-1, e.take());
        EXPECT_EQ(EAGAIN, errno);
    };
    pthread_join(start(take), nullptr);
}

TEST_P(input, of_another_file_that_takes_the_number_is_read) {
    ssize_t got = -1;
    auto take = [&] {
        while ((got = e.take()) == 1) {
        }
    };
    const pthread_t t = start(take);
    a_moment();
    const ends other(GetParam());
    close(other.to_write);
    ASSERT_EQ(e.to_read, dup2(other.to_read, e.to_read));
    close(e.to_write); // the thread may wait at the old one, as long as that has another end
    pthread_join(t, nullptr);
    EXPECT_EQ(0, got);
}

TEST_P(input, reaches_the_child_of_a_fork) {
    if (address_sanitizer || thread_sanitizer) GTEST_SKIP() << "it allows a child no threads, or no malloc";
    auto fork_and_take = [&] {
        const pid_t child = fork();
        if (child == 0) _exit(e.take() == 1 && e.take() == 1 ? 0 : 1);
        a_moment();
        e.give();
        a_moment();
        e.give();
        int status = -1;
        EXPECT_EQ(child, waitpid(child, &status, 0));
        EXPECT_EQ(0, status);
    };
    pthread_join(start(fork_and_take), nullptr);
    let_it_be_slept_at(e); // and the parent's threads
}

INSTANTIATE_TEST_SUITE_P(of, input, testing::Values(ends::kind::pipe, ends::kind::socket), [](const auto &info) {
    return std::string(info.param == ends::kind::pipe ? "a_pipe" : "a_socket");
});

TEST(socket_input, is_not_waited_for_after_it_was_shut_down_and_closed) {
    if (thread_sanitizer) GTEST_SKIP() << "it takes a close beside a read for a race";
    ends e;
    let_it_be_slept_at(e);
    ssize_t got = 1;
    int error = 0;
    auto take = [&] {
        got = e.take();
        error = errno;
    };
    const pthread_t t = start(take);
    a_moment();
    shutdown(e.to_read, SHUT_RDWR);
    close(e.to_read);
    pthread_join(t, nullptr);
    EXPECT_TRUE(got == 0 || (got == -1 && error == EBADF)) << got << ", " << error;
    e.to_read = -1;
}

namespace {
// So many threads sleep in the kernel that the next one waits on the harts.
class sleepers {
public:
    sleepers() {
        for (int i = 0; i < 6; ++i) {
            at_.push_back(std::make_unique<ends>(ends::kind::pipe));
            threads_.emplace_back([&there = *at_.back()] { there.take(); });
        }
        a_moment();
    }
    ~sleepers() {
        for (const auto &there : at_) there->give();
        for (std::thread &t : threads_) t.join();
    }
    sleepers(const sleepers &) = delete;
    sleepers &operator=(const sleepers &) = delete;

private:
    std::vector<std::thread> threads_;
    std::vector<std::unique_ptr<ends>> at_;
};
} // namespace

// At a socket that nobody has read from. When it is closed all harts are busy, so that nobody looks for input at once.
TEST(socket_input, is_not_waited_for_after_it_was_closed_beside_busy_threads) {
    if (thread_sanitizer) GTEST_SKIP() << "it takes a close beside a read for a race";
    const sleepers others;
    ends e;
    std::atomic<bool> over{false}, has_ended{false};
    auto take = [&] {
        char c = 0;
        EXPECT_GE(0, recv(e.to_read, &c, 1, 0));
        has_ended = true;
    };
    const pthread_t t = start(take);
    a_moment();
    auto computes = [&] {
        while (!over) {
        }
    };
    const pthread_t busy[] = {start(computes), start(computes)};
    std::this_thread::sleep_for(2ms);
    shutdown(e.to_read, SHUT_RDWR);
    close(e.to_read);
    over = true;
    for (int k = 0; k < 5'000 && !has_ended; ++k) std::this_thread::sleep_for(1ms);
    ASSERT_TRUE(has_ended);
    pthread_join(t, nullptr);
    e.to_read = -1;
    for (const pthread_t b : busy) pthread_join(b, nullptr);
}

// The number is another file's at once.
TEST(socket_input, is_not_that_of_another_file_by_the_same_number) {
    if (thread_sanitizer) GTEST_SKIP() << "it takes a close beside a read for a race";
    constexpr int rounds = 8;
    int of_another = 0;
    for (int i = 0; i < rounds; ++i) {
        ends e;
        if (i % 2 == 0) e.give();
        std::atomic<bool> has_begun{false};
        ssize_t got = -1;
        auto take = [&] {
            if (i % 2 == 0) got = e.take();
            has_begun = true;
            got = e.take();
        };
        const pthread_t t = start(take);
        while (!has_begun) std::this_thread::sleep_for(1ms);
        a_moment();
        const int number = e.to_read;
        shutdown(number, SHUT_RDWR);
        close(number);
        const ends another;
        EXPECT_EQ(number, another.to_read);
        another.give();
        pthread_join(t, nullptr);
        of_another += got == 1;
        e.to_read = -1;
    }
    EXPECT_GE(1, of_another); // one that reads late, on a busy machine, has it by rights
}

TEST(socket_input, of_which_much_is_wanted_is_waited_for) {
    const ends e;
    let_it_be_slept_at(e);
    const int wanted = 4;
    ASSERT_EQ(0, setsockopt(e.to_read, SOL_SOCKET, SO_RCVLOWAT, &wanted, sizeof wanted));
    auto take = [&] {
        char some[8];
        EXPECT_EQ(4, read(e.to_read, some, sizeof some));
    };
    const pthread_t t = start(take);
    a_moment();
    e.give();
    a_moment();
    e.give(3);
    pthread_join(t, nullptr);
}

TEST(socket_input, is_waited_for_no_longer_than_its_time_limit) {
    const ends e;
    let_it_be_slept_at(e);
    const timeval limit{0, 30'000};
    ASSERT_EQ(0, setsockopt(e.to_read, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit));
    auto take = [&] {
        EXPECT_EQ(-1, e.take());
        EXPECT_EQ(EAGAIN, errno);
    };
    pthread_join(start(take), nullptr);
}

TEST(socket_input, of_all_that_is_asked_for_comes_whole) {
    const ends e;
    let_it_be_slept_at(e);
    auto take = [&] {
        char four[4];
        EXPECT_EQ(4, recv(e.to_read, four, sizeof four, MSG_WAITALL));
    };
    const pthread_t t = start(take);
    for (int i = 0; i < 4; ++i) {
        a_moment();
        e.give();
    }
    pthread_join(t, nullptr);
}

namespace {
// A Unix socket knows neither errors nor urgent bytes.
void over_tcp(ends &e) {
    close(e.to_read);
    close(e.to_write);
    const int listener = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    auto *address = reinterpret_cast<sockaddr *>(&at);
    ASSERT_EQ(0, bind(listener, address, size));
    ASSERT_EQ(0, listen(listener, 1));
    ASSERT_EQ(0, getsockname(listener, address, &size));
    e.to_write = socket(AF_INET, SOCK_STREAM, 0);
    ASSERT_EQ(0, connect(e.to_write, address, size));
    e.to_read = accept(listener, nullptr, nullptr);
    close(listener);
}
} // namespace

// Calls that the kernel never lets sleep, at descriptors at which threads sleep.
TEST(socket_input, that_does_not_come_is_not_waited_for_where_errors_or_urgent_bytes_are_asked_for) {
    ends e;
    over_tcp(e);
    let_it_be_slept_at(e);
    auto take = [&] {
        char c = 0;
        iovec to{&c, 1};
        msghdr message{};
        message.msg_iov = &to;
        message.msg_iovlen = 1;
        EXPECT_EQ(-1, recvmsg(e.to_read, &message, MSG_ERRQUEUE));
        EXPECT_EQ(-1, recv(e.to_read, &c, 1, MSG_OOB));
    };
    pthread_join(start(take), nullptr);
}

TEST(wrong_calls, for_input_fail_at_once) {
    const ends pipe(ends::kind::pipe), socket;
    let_it_be_slept_at(pipe);
    let_it_be_slept_at(socket);
    auto take = [&] {
        char c = 0;
        EXPECT_EQ(-1, recv(pipe.to_read, &c, 1, 0));
        EXPECT_EQ(ENOTSOCK, errno);
        EXPECT_EQ(-1, accept(pipe.to_read, nullptr, nullptr));
        EXPECT_EQ(ENOTSOCK, errno);
        EXPECT_EQ(-1, accept(socket.to_read, nullptr, nullptr));
        EXPECT_EQ(EINVAL, errno);
        const int to_read = dup(pipe.to_read);
        ASSERT_EQ(pipe.to_read, dup3(pipe.to_write, pipe.to_read, 0));
        const sleepers others;
        EXPECT_EQ(-1, read(pipe.to_read, &c, 1));
        EXPECT_EQ(EBADF, errno);
        close(to_read);
    };
    pthread_join(start(take), nullptr);
}

// A socket is closed in a way that tells nobody, and its number is a pipe's.
TEST(descriptors, that_were_sockets_are_read_as_what_they_are) {
    ends e;
    let_it_be_slept_at(e);
    fclose(fdopen(e.to_read, "r"));
    int two[2];
    ASSERT_EQ(0, pipe2(two, O_NONBLOCK));
    EXPECT_EQ(e.to_read, two[0]);
    EXPECT_EQ(1, write(two[1], "x", 1));
    auto take = [&] {
        char c = 0;
        EXPECT_EQ(1, read(two[0], &c, 1)) << errno;
    };
    pthread_join(start(take), nullptr);
    close(two[1]);
}

TEST(socket_output, that_has_no_room_waits_for_it_and_loses_nothing) {
    const ends e;
    constexpr int chunks = 2000;
    char chunk[1000] = {};
    auto give = [&] {
        for (int i = 0; i < chunks; ++i) ASSERT_EQ(ssize_t{sizeof chunk}, write(e.to_write, chunk, sizeof chunk));
    };
    const pthread_t t = start(give);
    a_moment();
    std::size_t got = 0;
    char some[4096];
    while (got < chunks * sizeof chunk) {
        const ssize_t n = read(e.to_read, some, sizeof some);
        ASSERT_LT(0, n);
        got += static_cast<std::size_t>(n);
    }
    pthread_join(t, nullptr);
    EXPECT_EQ(chunks * sizeof chunk, got);
}

// Numbers of descriptors of Comity's own are none to the program.
TEST(descriptors, of_the_runtime_are_not_the_programs_to_close) {
    const ends e(ends::kind::pipe);
    let_it_be_slept_at(e);
    for (int fd = 900; fd < 1000; ++fd) close(fd);
    let_it_be_slept_at(e);
}

// Where threads' kernel threads are away while they do not need them.
TEST(waiting_readers, need_no_kernel_threads) {
    const char *kept = std::getenv("COMITY_TLS_THREADS");
    if (!kept || std::string(kept) != "0") GTEST_SKIP() << "only for threads whose kernel threads are away";
    constexpr int threads = 200;
    auto take = [](const ends &e) {
        EXPECT_EQ(1, e.take());
        EXPECT_EQ(1, e.take());
    };
    std::vector<std::unique_ptr<ends>> pipes;
    std::vector<std::thread> readers;
    for (int i = 0; i < threads; ++i) {
        pipes.push_back(std::make_unique<ends>(ends::kind::pipe));
        readers.emplace_back(take, std::cref(*pipes.back()));
    }
    a_moment();
    for (const auto &e : pipes) e->give();
    long fewest = threads;
    for (int i = 0; i < 1000 && fewest >= threads / 4; ++i) {
        a_moment();
        fewest = std::min(fewest, kernel_threads());
    }
    EXPECT_LT(fewest, threads / 4);
    for (const auto &e : pipes) e->give();
    for (std::thread &t : readers) t.join();
}
