// Calls that sleep, or might, beside signals, jumps and cancellation. On Comity's threads and on the C library's.
#include "start.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <climits>
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <aio.h>
#include <fcntl.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using namespace std::chrono_literals;

std::atomic<int> handled{0}, came{0};

// A handler for the time of a test.
class with_handler {
public:
    explicit with_handler(
        int signal, int flags = 0, void (*f)(int) = [](int) { ++handled; })
        : signal_(signal) {
        handled = 0;
        struct sigaction a {};
        a.sa_handler = f;
        a.sa_flags = flags;
        sigaction(signal, &a, &before_);
    }
    ~with_handler() { sigaction(signal_, &before_, nullptr); }
    with_handler(const with_handler &) = delete;
    with_handler &operator=(const with_handler &) = delete;

private:
    int signal_;
    struct sigaction before_ {};
};

sigset_t only(int signal) {
    sigset_t s;
    sigemptyset(&s);
    sigaddset(&s, signal);
    return s;
}

// Time enough for a thread to come to its wait. Nothing depends on whether it has.
void a_moment() { std::this_thread::sleep_for(5ms); }

// What poll, select, epoll_wait and a read with a time limit, of a socket to which nobody sends, return, and a wait for
// a semaphore of System V that nobody raises.
struct waits {
    int ends[2] = {}, epoll = epoll_create1(0), semaphores = semget(IPC_PRIVATE, 1, 0600);
    timespec limit{0, 40'000'000};

    waits() {
        EXPECT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
        epoll_event e{};
        e.events = EPOLLIN;
        EXPECT_EQ(0, epoll_ctl(epoll, EPOLL_CTL_ADD, ends[0], &e));
        const timeval t{limit.tv_sec, limit.tv_nsec / 1000};
        EXPECT_EQ(0, setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t));
    }
    ~waits() {
        for (const int fd : {ends[0], ends[1], epoll}) close(fd);
        semctl(semaphores, 0, IPC_RMID);
    }
    waits(const waits &) = delete;
    waits &operator=(const waits &) = delete;

    int by_poll() const {
        pollfd p{ends[0], POLLIN, 0};
        return poll(&p, 1, static_cast<int>(limit.tv_nsec / 1'000'000));
    }
    int by_ppoll(const sigset_t *mask = nullptr) const {
        pollfd p{ends[0], POLLIN, 0};
        return ppoll(&p, 1, &limit, mask);
    }
    int by_select() const {
        timeval t{limit.tv_sec, limit.tv_nsec / 1000};
        fd_set in;
        FD_ZERO(&in);
        FD_SET(ends[0], &in);
        return select(ends[0] + 1, &in, nullptr, nullptr, &t);
    }
    int by_pselect(const sigset_t *mask = nullptr) const { return pselect(0, nullptr, nullptr, nullptr, &limit, mask); }
    int by_epoll(const sigset_t *mask = nullptr) const {
        epoll_event e{};
        return epoll_pwait(epoll, &e, 1, static_cast<int>(limit.tv_nsec / 1'000'000), mask);
    }
    int by_recv() const {
        char c = 0;
        return static_cast<int>(recv(ends[0], &c, 1, 0));
    }
    int by_semop() const {
        sembuf down{0, -1, 0};
        return semtimedop(semaphores, &down, 1, &limit);
    }
};

} // namespace

TEST(calls, are_not_prolonged_by_signals_that_are_blocked) {
    auto nothing = [] {};
    pthread_join(start(nothing), nullptr); // from here on masks are the threads'
    const sigset_t alarm = only(SIGALRM);
    sigset_t before;
    pthread_sigmask(SIG_BLOCK, &alarm, &before);
    itimerval often{{0, 10'000}, {0, 10'000}};
    ASSERT_EQ(0, setitimer(ITIMER_REAL, &often, nullptr));
    const waits w;
    EXPECT_EQ(0, w.by_poll());
    EXPECT_EQ(0, w.by_ppoll());
    EXPECT_EQ(0, w.by_select());
    EXPECT_EQ(0, w.by_pselect());
    EXPECT_EQ(0, w.by_epoll());
    EXPECT_EQ(-1, w.by_recv());
    EXPECT_EQ(EAGAIN, errno);
    EXPECT_EQ(-1, w.by_semop());
    EXPECT_EQ(EAGAIN, errno);
    often = {};
    setitimer(ITIMER_REAL, &often, nullptr);
    const timespec at_once{};
    while (sigtimedwait(&alarm, nullptr, &at_once) == SIGALRM) {
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

TEST(calls, let_signals_in_by_masks_of_their_own) {
    const with_handler h(SIGUSR1, SA_RESTART);
    auto f = [] {
        const sigset_t user = only(SIGUSR1);
        sigset_t open;
        sigemptyset(&open);
        pthread_sigmask(SIG_BLOCK, &user, nullptr);
        waits w;
        const auto ends = [&](int result) { return result == -1 && errno == EINTR; };
        raise(SIGUSR1);
        EXPECT_TRUE(ends(w.by_ppoll(&open)));
        raise(SIGUSR1);
        EXPECT_TRUE(ends(w.by_pselect(&open)));
        raise(SIGUSR1);
        EXPECT_TRUE(ends(w.by_epoll(&open)));
        EXPECT_EQ(3, handled);
        raise(SIGUSR1);
        EXPECT_EQ(0, w.by_ppoll()); // the mask was for the others alone
        EXPECT_EQ(3, handled);
        EXPECT_TRUE(ends(w.by_ppoll(&open)));
        w.limit = {60, 0};
        came = 1;
        EXPECT_TRUE(ends(w.by_ppoll(&open)));
        came = 2;
        EXPECT_TRUE(ends(w.by_pselect(&open)));
    };
    came = 0;
    const pthread_t t = start(f);
    for (int i = 1; i <= 2; ++i) {
        while (came != i) sched_yield();
        const int so_far = handled;
        a_moment();
        pthread_kill(t, SIGUSR1);
        while (handled == so_far) a_moment();
    }
    pthread_join(t, nullptr);
    EXPECT_EQ(6, handled);
}

TEST(calls, are_not_ended_after_a_jump_out_of_another_one) {
    if (!getenv("LD_PRELOAD")) GTEST_SKIP() << "the C library's read leaves cancellation asynchronous";
    static thread_local sigjmp_buf where;
    const with_handler h(SIGUSR1, 0, [](int) { siglongjmp(where, 1); });
    came = 0;
    int first[2], second[2];
    ASSERT_EQ(0, pipe(first));
    ASSERT_EQ(0, pipe(second));
    std::atomic<bool> jumped{false};
    auto f = [&] {
        char c = 0;
        if (sigsetjmp(where, 1) == 0) {
            came = 1;
            (void)!read(first[0], &c, 1);
        }
        jumped = true;
        EXPECT_EQ(1, syscall(SYS_read, second[0], &c, 1)); // no cancellation point
    };
    const pthread_t t = start(f);
    while (came == 0) sched_yield();
    a_moment();
    pthread_kill(t, SIGUSR1);
    while (!jumped) a_moment();
    pthread_cancel(t);
    a_moment();
    EXPECT_EQ(1, write(second[1], "x", 1));
    pthread_join(t, nullptr);
    for (const int fd : {first[0], first[1], second[0], second[1]}) close(fd);
}

TEST(calls, tell_of_addresses_that_are_none) {
    int ends[2];
    ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
    auto *const nowhere = reinterpret_cast<iovec *>(8);
    auto f = [&] {
        EXPECT_EQ(-1, writev(ends[0], nowhere, 1));
        EXPECT_EQ(EFAULT, errno);
        EXPECT_EQ(-1, sendmsg(ends[0], reinterpret_cast<msghdr *>(nowhere), 0));
        EXPECT_EQ(EFAULT, errno);
        volatile int too_few = -1;
        EXPECT_EQ(-1, writev(ends[0], nowhere, too_few));
        EXPECT_EQ(EINVAL, errno);
    };
    pthread_join(start(f), nullptr);
    close(ends[0]);
    close(ends[1]);
}

// Also where a stream takes a part of it at a time; one that is told not to wait says how much that was.
TEST(calls, that_send_much_send_all_of_it_in_order) {
    constexpr std::size_t size = 1'000'000;
    std::vector<char> data(size), got(size);
    for (std::size_t i = 0; i < size; ++i) data[i] = static_cast<char>(i * 31 + i / 1000);
    std::vector<iovec> parts;
    for (std::size_t at = 0; at < size;) {
        const std::size_t n = std::min(size - at, at % 7 == 0 ? std::size_t{0} : at % 50'000);
        parts.push_back({data.data() + at, n});
        at += n;
        if (n == 0 && at < size) parts.push_back({data.data() + at++, 1});
    }
    ASSERT_GE(IOV_MAX, parts.size());
    const auto count = static_cast<int>(parts.size());
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = parts.size();
    const std::function<ssize_t(int)> ways[] = {
        [&](int to) { return write(to, data.data(), size); },
        [&](int to) { return writev(to, parts.data(), count); },
        [&](int to) { return send(to, data.data(), size, 0); },
        [&](int to) { return sendmsg(to, &message, 0); },
    };
    for (unsigned i = 0; i < 6; ++i) {
        const auto &way = ways[i % 4];
        int ends[2];
        ASSERT_EQ(0, i < 4 ? socketpair(AF_UNIX, SOCK_STREAM, 0, ends) : pipe(ends));
        if (i >= 4) std::swap(ends[0], ends[1]);
        sem_t is_read;
        ASSERT_EQ(0, sem_init(&is_read, 0, 0));
        auto put = [&] {
            errno = ERANGE;
            EXPECT_EQ(static_cast<ssize_t>(size), way(ends[0]));
            EXPECT_EQ(ERANGE, errno);
            sem_wait(&is_read); // now there is room
            EXPECT_EQ(0, fcntl(ends[0], F_SETFL, O_NONBLOCK));
            const ssize_t some = way(ends[0]);
            EXPECT_LT(0, some);
            EXPECT_GT(static_cast<ssize_t>(size), some);
            EXPECT_EQ(-1, way(ends[0]));
            EXPECT_EQ(EAGAIN, errno);
        };
        const pthread_t t = start(put);
        std::fill(got.begin(), got.end(), 0);
        for (std::size_t at = 0; at < size;) {
            const ssize_t n = read(ends[1], got.data() + at, std::min(size - at, std::size_t{10'000}));
            ASSERT_LT(0, n);
            at += static_cast<std::size_t>(n);
            if (at % 7 == 0) sched_yield();
        }
        EXPECT_EQ(data, got);
        sem_post(&is_read);
        pthread_join(t, nullptr);
        sem_destroy(&is_read);
        close(ends[0]);
        close(ends[1]);
    }
}

// A number may come to be another file's without a call of close: the C library's own calls are not seen.
TEST(calls, by_the_number_of_a_pipe_that_is_a_file_now_read_all_of_it) {
    auto f = [] {
        int ends[2];
        ASSERT_EQ(0, pipe(ends));
        std::vector<char> got(20'000);
        for (int i = 0; i < 3; ++i) { // to read there means to sleep, so from now on it is tried first
            std::thread later([&] {
                std::this_thread::sleep_for(std::chrono::milliseconds(2));
                ASSERT_EQ(1, write(ends[1], "x", 1));
            });
            ASSERT_EQ(1, read(ends[0], got.data(), got.size()));
            later.join();
        }
        ASSERT_EQ(0, fclose(fdopen(ends[0], "r")));
        char name[] = "/var/tmp/comity_calls_test_XXXXXX"; // not in memory
        const int file = mkstemp(name);
        ASSERT_EQ(ends[0], file);
        unlink(name);
        const std::vector<char> data(15'000, 'y');
        ASSERT_EQ(15'000, write(file, data.data(), data.size()));
        ASSERT_EQ(0, lseek(file, 0, SEEK_SET));
        ASSERT_EQ(0, fsync(file));
        ASSERT_EQ(0, posix_fadvise(file, 4096, 0, POSIX_FADV_DONTNEED)); // all but the first page is to be fetched
        EXPECT_EQ(15'000, read(file, got.data(), got.size()));
        got.resize(data.size());
        EXPECT_EQ(data, got);
        EXPECT_EQ(0, read(file, got.data(), got.size()));
        close(file);
        close(ends[1]);
    };
    pthread_join(start(f), nullptr);
}

TEST(calls, that_need_not_sleep_are_cancellation_points) {
    int ends[2];
    ASSERT_EQ(0, pipe(ends));
    ASSERT_EQ(1, write(ends[1], "x", 1));
    auto polls = [&] {
        pollfd p{ends[0], POLLIN, 0};
        pthread_cancel(pthread_self());
        poll(&p, 1, -1);
        ADD_FAILURE();
    };
    auto looks = [&] {
        pthread_cancel(pthread_self());
        poll(nullptr, 0, 0);
        ADD_FAILURE();
    };
    auto asks = [&] {
        pthread_cancel(pthread_self());
        waitpid(-1, nullptr, WNOHANG);
        ADD_FAILURE();
    };
    for (const pthread_t t : {start(polls), start(looks), start(asks)}) {
        void *result = nullptr;
        pthread_join(t, &result);
        EXPECT_EQ(PTHREAD_CANCELED, result);
    }
    close(ends[0]);
    close(ends[1]);
}

TEST(calls, of_all_kinds_are_cancelled_where_they_sleep) {
    int ends[2];
    ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_DGRAM, 0, ends));
    const int queue = msgget(IPC_PRIVATE, 0600);
    ASSERT_NE(-1, queue);
    aiocb request{};
    char byte = 0;
    request.aio_fildes = ends[1];
    request.aio_buf = &byte;
    request.aio_nbytes = 1;
    ASSERT_EQ(0, aio_read(&request));
    auto receives = [&] {
        mmsghdr m{};
        ++came;
        recvmmsg(ends[0], &m, 1, 0, nullptr);
        ADD_FAILURE();
    };
    auto dequeues = [&] {
        long m[2];
        ++came;
        msgrcv(queue, m, sizeof m[1], 0, 0);
        ADD_FAILURE();
    };
    auto awaits_input = [&] {
        const aiocb *const all[] = {&request};
        ++came;
        while (aio_suspend(all, 1, nullptr) == -1 && errno == EINTR) {
        }
        ADD_FAILURE();
    };
    const std::string name = "/comity-calls-" + std::to_string(getpid());
    mq_attr small{};
    small.mq_maxmsg = 1;
    small.mq_msgsize = 8;
    const mqd_t empty = mq_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600, &small); // -1: the kernel has none
    mq_unlink(name.c_str());
    auto awaits_message = [&] {
        char m[8];
        ++came;
        if (empty == -1) pause();
        mq_receive(empty, m, sizeof m, nullptr);
        ADD_FAILURE();
    };
    came = 0;
    const pthread_t of[] = {start(receives), start(dequeues), start(awaits_input), start(awaits_message)};
    while (came != 4) sched_yield();
    a_moment();
    for (const pthread_t t : of) {
        void *result = nullptr;
        pthread_cancel(t);
        pthread_join(t, &result);
        EXPECT_EQ(PTHREAD_CANCELED, result);
    }
    EXPECT_EQ(1, write(ends[0], "x", 1));
    const aiocb *const all[] = {&request};
    while (aio_error(&request) == EINPROGRESS) aio_suspend(all, 1, nullptr);
    msgctl(queue, IPC_RMID, nullptr);
    if (empty != -1) mq_close(empty);
    for (const int fd : ends) close(fd);
}

TEST(calls, for_files_are_cancellation_points) {
    std::FILE *file = std::tmpfile();
    ASSERT_TRUE(file);
    const int fd = fileno(file);
    char byte = 0;
    const std::function<void()> of[] = {[&] { fsync(fd); }, [&] { fdatasync(fd); }, [&] { lockf(fd, F_LOCK, 0); },
                                        [&] { (void)!pread(fd, &byte, 1, 0); },
                                        [&] { (void)!pwrite(fd, &byte, 1, 0); }};
    for (const auto &call : of) {
        auto makes_it = [&] {
            pthread_cancel(pthread_self());
            call();
            ADD_FAILURE();
        };
        void *result = nullptr;
        pthread_join(start(makes_it), &result);
        EXPECT_EQ(PTHREAD_CANCELED, result);
    }
    std::fclose(file);
}
