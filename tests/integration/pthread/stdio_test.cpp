// The functions of <stdio.h>, and calls for files, as cancellation points and as calls that signals end. On Comity's
// threads and on the C library's.
#include "../../unit/sanitizers.hpp"
#include "start.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <string>
#include <thread>

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

namespace {

using namespace std::chrono_literals;

struct streams {
    streams() {
        int fds[2] = {-1, -1};
        EXPECT_EQ(0, pipe(fds));
        in = fdopen(fds[0], "r");
        out = fdopen(fds[1], "w");
    }
    ~streams() {
        std::fclose(out);
        std::fclose(in);
    }
    std::FILE *in = nullptr, *out = nullptr;
};

template <class F> void expect_cancelled_in(F &f, std::chrono::milliseconds after = 30ms) {
    pthread_t t = start(f);
    std::this_thread::sleep_for(after);
    EXPECT_EQ(0, pthread_cancel(t));
    void *result = nullptr;
    EXPECT_EQ(0, pthread_join(t, &result));
    EXPECT_EQ(PTHREAD_CANCELED, result);
}

} // namespace

TEST(stdio, input_that_sleeps_is_a_cancellation_point_and_its_stream_stays_usable) {
    streams pipe;
    char line[16] = {};
    auto fgets_sleeps = [&] { (void)!std::fgets(line, sizeof line, pipe.in); };
    auto getc_sleeps = [&] { (void)std::getc(pipe.in); };
    auto fscanf_sleeps = [&] { (void)!std::fscanf(pipe.in, "%15s", line); };
    expect_cancelled_in(fgets_sleeps);
    expect_cancelled_in(getc_sleeps);
    expect_cancelled_in(fscanf_sleeps);
    std::fputs("abc\n", pipe.out);
    std::fflush(pipe.out);
    std::clearerr(pipe.in);
    EXPECT_STREQ("abc\n", std::fgets(line, sizeof line, pipe.in));
}

TEST(stdio, input_that_sleeps_in_the_middle_of_a_line_is_a_cancellation_point) {
    streams pipe;
    std::fputs("the beginning", pipe.out);
    std::fflush(pipe.out);
    std::ungetc(std::getc(pipe.in), pipe.in);
    char line[64] = {};
    auto reads = [&] { (void)!std::fgets(line, sizeof line, pipe.in); };
    expect_cancelled_in(reads);
}

TEST(stdio, output_is_a_cancellation_point) {
    streams pipe;
    const std::string much(1 << 20, 'x');
    auto fills_the_pipe = [&] { std::fwrite(much.data(), 1, much.size(), pipe.out); };
    expect_cancelled_in(fills_the_pipe);
    std::FILE *nowhere = std::fopen("/dev/null", "w");
    ASSERT_TRUE(nowhere);
    auto never_sleeps = [&] {
        for (;;) std::fprintf(nowhere, "foo");
    };
    expect_cancelled_in(never_sleeps);
    std::fclose(nowhere);
    char taken[4096]; // what is left of it would have the stream sleep at its end
    for (std::size_t n = 0; n < 1 << 16; n += sizeof taken) (void)!read(fileno(pipe.in), taken, sizeof taken);
}

namespace {

std::atomic<int> handled{0};
void count(int) { ++handled; }
sigjmp_buf before;
void jump(int) { siglongjmp(before, 1); }

void handle(int signal, void (*handler)(int), int flags) {
    struct sigaction a {};
    a.sa_handler = handler;
    a.sa_flags = flags;
    sigaction(signal, &a, nullptr);
}

} // namespace

TEST(stdio, a_handler_ends_input_unless_it_is_to_begin_anew) {
    for (const int flags : {0, SA_RESTART}) {
        streams pipe;
        handle(SIGUSR1, count, flags);
        handled = 0;
        char *read = nullptr;
        int error = 0;
        auto reads = [&] {
            static char line[16];
            read = std::fgets(line, sizeof line, pipe.in);
            error = read ? 0 : errno;
        };
        pthread_t t = start(reads);
        std::this_thread::sleep_for(30ms);
        pthread_kill(t, SIGUSR1);
        while (handled == 0) std::this_thread::sleep_for(1ms);
        std::this_thread::sleep_for(10ms);
        std::fputs("abc\n", pipe.out);
        std::fflush(pipe.out);
        pthread_join(t, nullptr);
        EXPECT_EQ(flags == SA_RESTART, read != nullptr);
        EXPECT_EQ(read ? 0 : EINTR, error);
    }
}

TEST(stdio, a_handler_may_jump_out_of_input) {
    if (thread_sanitizer) GTEST_SKIP() << "it jumps by itself, so Comity does not know of that";
    streams pipe;
    handle(SIGUSR1, jump, 0);
    handle(SIGUSR2, count, 0);
    handled = 0;
    auto jumps = [&] {
        if (sigsetjmp(before, 1) == 0) {
            char byte = 0;
            (void)!fread_unlocked(&byte, 1, 1, pipe.in); // its stream is not locked
        }
        while (handled == 0) { // signals still find the thread
        }
    };
    pthread_t t = start(jumps);
    std::this_thread::sleep_for(30ms);
    pthread_kill(t, SIGUSR1);
    std::this_thread::sleep_for(30ms);
    pthread_kill(t, SIGUSR2);
    pthread_join(t, nullptr);
    EXPECT_EQ(1, handled);
}

namespace {

struct fifo {
    fifo() {
        path = testing::TempDir() + "comity_fifo_" + std::to_string(getpid());
        EXPECT_EQ(0, mkfifo(path.c_str(), 0600));
    }
    ~fifo() { unlink(path.c_str()); }
    std::string path;
};

} // namespace

TEST(files, open_is_a_cancellation_point_where_it_sleeps) {
    fifo f;
    auto opens = [&] { (void)open(f.path.c_str(), O_RDONLY); };
    expect_cancelled_in(opens);
}

TEST(files, open_and_close_are_cancellation_points_where_they_do_not_sleep) {
    for (const bool closes : {false, true}) {
        bool was_reached = false;
        auto calls = [&] {
            pthread_cancel(pthread_self());
            if (closes)
                close(-1);
            else
                (void)open("/dev/null", O_RDONLY);
            was_reached = true;
        };
        void *result = nullptr;
        pthread_join(start(calls), &result);
        EXPECT_EQ(PTHREAD_CANCELED, result);
        EXPECT_FALSE(was_reached);
    }
}

TEST(files, open_is_ended_by_a_handler) {
    fifo f;
    handle(SIGUSR1, count, 0);
    int error = 0;
    auto opens = [&] { error = open(f.path.c_str(), O_RDONLY) < 0 ? errno : 0; };
    pthread_t t = start(opens);
    std::this_thread::sleep_for(30ms);
    pthread_kill(t, SIGUSR1);
    pthread_join(t, nullptr);
    EXPECT_EQ(EINTR, error);
}

TEST(files, a_wait_for_a_lock_is_a_cancellation_point) {
    const std::string path = testing::TempDir() + "comity_lock_" + std::to_string(getpid());
    const int one = open(path.c_str(), O_RDWR | O_CREAT, 0600), other = open(path.c_str(), O_RDWR);
    struct flock lock {};
    lock.l_type = F_WRLCK;
    lock.l_len = 1;
    EXPECT_EQ(0, fcntl(one, F_OFD_SETLK, &lock));
    auto waits = [&] {
        struct flock wanted {};
        wanted.l_type = F_WRLCK;
        wanted.l_len = 1;
        fcntl(other, F_OFD_SETLKW, &wanted);
    };
    expect_cancelled_in(waits);
    close(one);
    close(other);
    unlink(path.c_str());
}
