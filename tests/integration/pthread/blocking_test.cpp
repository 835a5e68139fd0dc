// POSIX threads that sleep in the kernel, or compute without end: they do not keep the harts from others. On Comity's
// threads and on the C library's.
#include "start.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include <linux/io_uring.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

using namespace std::chrono_literals;

std::atomic<int> ended{0};

// By the instruction: no drop-in sees it.
long call_kernel(long number, long a, long b, long c, long d) {
#if defined(__x86_64__)
    register long fourth __asm__("r10") = d;
    register long fifth __asm__("r8") = 0;
    register long sixth __asm__("r9") = 0;
    __asm__ volatile("syscall"
                     : "+a"(number)
                     : "D"(a), "S"(b), "d"(c), "r"(fourth), "r"(fifth), "r"(sixth)
                     : "rcx", "r11", "memory");
    return number;
#else
    register long result __asm__("x0") = a;
    register long second __asm__("x1") = b;
    register long third __asm__("x2") = c;
    register long fourth __asm__("x3") = d;
    register long fifth __asm__("x4") = 0;
    register long sixth __asm__("x5") = 0;
    register long which __asm__("x8") = number;
    __asm__ volatile("svc 0"
                     : "+r"(result)
                     : "r"(second), "r"(third), "r"(fourth), "r"(fifth), "r"(sixth), "r"(which)
                     : "memory");
    return result;
#endif
}

// An io_uring of a few entries, by such calls, as liburing makes them.
class ring {
public:
    ring() : fd_(static_cast<int>(call_kernel(SYS_io_uring_setup, 4, reinterpret_cast<long>(&about_), 0, 0))) {
        if (fd_ < 0) return;
        submissions_ = map(IORING_OFF_SQ_RING, about_.sq_off.array + about_.sq_entries * sizeof(unsigned));
        completions_ = map(IORING_OFF_CQ_RING, about_.cq_off.cqes + about_.cq_entries * sizeof(io_uring_cqe));
        entries_ = map(IORING_OFF_SQES, about_.sq_entries * sizeof(io_uring_sqe));
    }
    ~ring() {
        if (fd_ >= 0) close(fd_);
    }
    ring(const ring &) = delete;
    ring &operator=(const ring &) = delete;
    explicit operator bool() const { return fd_ >= 0; }

    // An operation without arguments or, from a pipe, the read of one byte.
    void add(int pipe = -1, char *to = nullptr) {
        unsigned &tail = word(submissions_, about_.sq_off.tail);
        const unsigned n = tail & word(submissions_, about_.sq_off.ring_mask);
        auto *entry = reinterpret_cast<io_uring_sqe *>(entries_) + n;
        std::memset(entry, 0, sizeof *entry);
        entry->opcode = pipe < 0 ? IORING_OP_NOP : IORING_OP_READ;
        entry->fd = pipe;
        entry->addr = reinterpret_cast<std::uintptr_t>(to);
        entry->len = 1;
        word(submissions_, about_.sq_off.array + n * sizeof(unsigned)) = n;
        __atomic_store_n(&tail, tail + 1, __ATOMIC_RELEASE);
    }
    // How many of `submitted` were; waits until `wanted` are complete.
    int enter(unsigned submitted, unsigned wanted) {
        return static_cast<int>(
            call_kernel(SYS_io_uring_enter, fd_, submitted, wanted, wanted != 0 ? IORING_ENTER_GETEVENTS : 0));
    }
    unsigned complete() {
        return __atomic_load_n(&word(completions_, about_.cq_off.tail), __ATOMIC_ACQUIRE) -
               word(completions_, about_.cq_off.head);
    }

private:
    std::byte *map(std::uint64_t offset, std::size_t size) const {
        return static_cast<std::byte *>(
            mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd_, static_cast<off_t>(offset)));
    }
    static unsigned &word(std::byte *in, std::size_t offset) { return *reinterpret_cast<unsigned *>(in + offset); }
    io_uring_params about_{};
    int fd_;
    std::byte *submissions_ = nullptr, *completions_ = nullptr, *entries_ = nullptr;
};

} // namespace

TEST(blocking, readers_leave_their_harts_to_others) {
    int ends[2];
    ASSERT_EQ(0, pipe(ends));
    std::atomic<int> read_so_far{0}, worked{0};
    auto reader = [&] {
        char c = 0;
        if (read(ends[0], &c, 1) == 1) ++read_so_far;
    };
    auto worker = [&] {
        for (int i = 0; i < 100; ++i) {
            ++worked;
            sched_yield();
        }
    };
    std::vector<pthread_t> readers, workers;
    for (int i = 0; i < 20; ++i) readers.push_back(start(reader));
    for (int i = 0; i < 4; ++i) workers.push_back(start(worker));
    for (const pthread_t t : workers) pthread_join(t, nullptr);
    EXPECT_EQ(400, worked);
    EXPECT_EQ(0, read_so_far);
    for (int i = 0; i < 20; ++i) ASSERT_EQ(1, write(ends[1], "x", 1));
    for (const pthread_t t : readers) pthread_join(t, nullptr);
    EXPECT_EQ(20, read_so_far);
    close(ends[0]);
    close(ends[1]);
}

namespace {

// A byte goes to and fro between two threads.
void exchange_bytes(int mine, int rounds, bool begins) {
    char c = 'x';
    for (int i = 0; i < rounds; ++i) {
        if (begins) {
            ASSERT_EQ(1, write(mine, &c, 1));
        }
        ASSERT_EQ(1, read(mine, &c, 1));
        if (!begins) {
            ASSERT_EQ(1, write(mine, &c, 1));
        }
    }
}

struct socket_pair {
    int ends[2] = {-1, -1};
    socket_pair() { EXPECT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, ends)); }
    ~socket_pair() {
        close(ends[0]);
        close(ends[1]);
    }
    socket_pair(const socket_pair &) = delete;
    socket_pair &operator=(const socket_pair &) = delete;
};

} // namespace

// Who sleeps keeps its hart until somebody needs it, and there are fewer and more of them than harts.
TEST(blocking, those_that_read_from_each_other_and_others_meanwhile_all_end) {
    constexpr int rounds = 200;
    for (const unsigned pairs : {1U, 3U}) {
        std::vector<socket_pair> sockets(pairs);
        std::vector<std::thread> threads;
        for (socket_pair &s : sockets) {
            threads.emplace_back([&s] { exchange_bytes(s.ends[0], rounds, true); });
            threads.emplace_back([&s] { exchange_bytes(s.ends[1], rounds, false); });
        }
        for (int i = 0; i < 20; ++i) threads.emplace_back([] { usleep(500); });
        for (std::thread &t : threads) t.join();
    }
}

// Nothing else wakes the reader: whoever is to write needs its hart first, if there is one only.
TEST(blocking, sleepers_in_calls_give_their_harts_up_to_who_becomes_ready) {
    for (int i = 0; i < 20; ++i) {
        std::vector<socket_pair> sockets(4);
        std::vector<std::thread> threads;
        pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
        pthread_cond_t come = PTHREAD_COND_INITIALIZER;
        bool may_write = false;
        for (socket_pair &s : sockets)
            threads.emplace_back([&] {
                char c = 0;
                EXPECT_EQ(1, read(s.ends[0], &c, 1));
            });
        threads.emplace_back([&] {
            pthread_mutex_lock(&m);
            while (!may_write) pthread_cond_wait(&come, &m);
            pthread_mutex_unlock(&m);
            for (socket_pair &s : sockets) EXPECT_EQ(1, write(s.ends[1], "x", 1));
        });
        usleep(200);
        pthread_mutex_lock(&m);
        may_write = true;
        pthread_cond_signal(&come);
        pthread_mutex_unlock(&m);
        for (std::thread &t : threads) t.join();
    }
}

TEST(blocking, a_read_within_the_c_library_does_not_keep_the_others) {
    int ends[2];
    ASSERT_EQ(0, pipe(ends));
    FILE *f = fdopen(ends[0], "r");
    std::atomic<int> lines{0};
    auto reader = [&] {
        char line[16];
        if (fgets(line, sizeof line, f)) ++lines;
    };
    auto writer = [&] { ASSERT_EQ(3, write(ends[1], "ab\n", 3)); };
    std::vector<pthread_t> all;
    for (int i = 0; i < 2; ++i) { // as many as harts, then one that has none
        all.push_back(start(reader));
        std::this_thread::sleep_for(1ms);
    }
    all.push_back(start(writer));
    all.push_back(start(writer));
    for (const pthread_t t : all) pthread_join(t, nullptr);
    EXPECT_EQ(2, lines);
    fclose(f);
    close(ends[1]);
}

// What the threads wait for only those bring about that have no hart meanwhile.
TEST(blocking, those_that_wait_at_an_io_uring_do_not_keep_the_others) {
    if (!ring()) GTEST_SKIP() << "the kernel has no io_uring for us";
    constexpr int threads = 3;
    std::vector<std::unique_ptr<ring>> rings;
    std::vector<std::thread> all;
    int ends[2];
    ASSERT_EQ(0, pipe(ends));
    std::atomic<int> right{0};
    for (int i = 0; i < threads; ++i) {
        rings.push_back(std::make_unique<ring>());
        all.emplace_back([&right, &r = *rings.back()] { right += r.enter(0, 1) == 0 && r.complete() == 1; });
        all.emplace_back([&right, from = ends[0]] { // what it has submitted
            ring own;
            char byte = 0;
            own.add(from, &byte);
            right += own.enter(1, 1) == 1 && own.complete() == 1 && byte == 'x';
        });
    }
    std::thread brings([&] {
        std::this_thread::sleep_for(50ms);
        for (const auto &r : rings) {
            r->add();
            EXPECT_EQ(1, r->enter(1, 0));
            EXPECT_EQ(1, write(ends[1], "x", 1));
        }
    });
    brings.join();
    for (std::thread &t : all) t.join();
    EXPECT_EQ(2 * threads, right);
    close(ends[0]);
    close(ends[1]);
}

TEST(blocking, a_cancelled_reader_ends) {
    int ends[2];
    ASSERT_EQ(0, pipe(ends));
    std::atomic<bool> before{false}, after{false};
    auto f = [&] {
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, nullptr);
        before = true;
        char c = 0;
        EXPECT_EQ(1, read(ends[0], &c, 1));
        pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, nullptr);
        EXPECT_EQ(1, read(ends[0], &c, 1)); // a cancellation point: nothing is read
        after = true;
    };
    const pthread_t t = start(f);
    while (!before) std::this_thread::sleep_for(1ms);
    EXPECT_EQ(0, pthread_cancel(t));
    ASSERT_EQ(2, write(ends[1], "xy", 2));
    void *result = nullptr;
    pthread_join(t, &result);
    EXPECT_EQ(PTHREAD_CANCELED, result);
    EXPECT_FALSE(after);
    close(ends[0]);
    close(ends[1]);
}

TEST(blocking, threads_that_spin_do_not_keep_the_others) {
    std::atomic<bool> stop{false};
    auto spinner = [&] {
        while (!stop.load(std::memory_order_relaxed)) {
        }
    };
    auto other = [&] { stop = true; };
    std::vector<pthread_t> all;
    for (int i = 0; i < 3; ++i) all.push_back(start(spinner)); // more than harts
    all.push_back(start(other));
    for (const pthread_t t : all) pthread_join(t, nullptr);
}

// Threads of all kinds at once, some of which are moved to kernel threads of their own while they end others.
TEST(blocking, trees_of_threads_end_whatever_moves_them) {
    struct node {
        static void *run(void *depth) {
            const long d = reinterpret_cast<long>(depth);
            if (d % 3 == 0) usleep(100);
            pthread_t children[4];
            for (int i = 0; i < 4 && d > 0; ++i)
                EXPECT_EQ(0, pthread_create(&children[i], nullptr, run, reinterpret_cast<void *>(d - 1)));
            for (int i = 0; i < 4 && d > 0; ++i) EXPECT_EQ(0, pthread_join(children[i], nullptr));
            ended.fetch_add(1);
            return nullptr;
        }
    };
    ended = 0;
    node::run(reinterpret_cast<void *>(5L));
    EXPECT_EQ(1365, ended);
}

// One that has lost its hart by a sleep, and then waits for a thread that spins: all on one processor.
TEST(blocking, threads_that_yield_let_one_without_a_hart_run) {
    cpu_set_t before, one;
    ASSERT_EQ(0, sched_getaffinity(0, sizeof before, &before));
    int cpu = 0;
    while (!CPU_ISSET(cpu, &before)) ++cpu;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    ASSERT_EQ(0, sched_setaffinity(0, sizeof one, &one)); // for kernel threads to come, too
    constexpr int rounds = 100;
    constexpr long most = 3000; // a time slice of the kernel's has room for ten times as many
    std::atomic<int> turn{0};
    std::atomic<long> yields{0};
    auto other = [&] {
        while (turn < 2 * rounds) sched_yield(), ++yields;
    };
    auto sleeper = [&] {
        const timespec time{0, 60'000'000};
        syscall(SYS_nanosleep, &time, nullptr);
        yields = 0;
        for (int i = 0; i < rounds; ++i) {
            while (turn != 2 * i + 1) sched_yield();
            turn = 2 * i + 2;
        }
    };
    auto partner = [&] {
        for (int i = 0; i < rounds; ++i) {
            while (turn != 2 * i) sched_yield(), ++yields;
            turn = 2 * i + 1;
        }
    };
    const pthread_t t = start(sleeper), p = start(partner), o[] = {start(other), start(other), start(other)};
    pthread_join(t, nullptr);
    pthread_join(p, nullptr);
    for (const pthread_t x : o) pthread_join(x, nullptr);
    EXPECT_GT(rounds * most, yields);
    sched_setaffinity(0, sizeof before, &before);
}
