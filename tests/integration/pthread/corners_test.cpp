// What a thread leaves to the next one on its stack, ends that others disturb, objects in memory that was another's,
// and threads that would keep a hart for long. On Comity's threads and on the C library's.
#include "../../unit/sanitizers.hpp"
#include "start.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <clocale>
#include <csetjmp>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <thread>
#include <vector>

#include <locale.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using namespace std::chrono_literals;

pthread_key_t key;

timespec in(std::chrono::nanoseconds time) {
    timespec t{};
    clock_gettime(CLOCK_REALTIME, &t);
    const long long ns = t.tv_nsec + time.count();
    return {t.tv_sec + static_cast<time_t>(ns / 1'000'000'000), static_cast<long>(ns % 1'000'000'000)};
}

thread_local std::string text;

// Wide and of varying depth: nobody takes it for a loop that waits.
__attribute__((noinline)) unsigned fib(unsigned n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

} // namespace

TEST(next_thread, does_not_have_the_locale_of_the_last_one) {
    for (int i = 0; i < 20; ++i) {
        locale_t made = newlocale(LC_ALL_MASK, "C", nullptr);
        locale_t found = nullptr;
        auto uses = [&] {
            found = uselocale(nullptr);
            uselocale(made);
        };
        pthread_join(start(uses), nullptr);
        freelocale(made);
        EXPECT_EQ(LC_GLOBAL_LOCALE, found);
    }
}

TEST(next_thread, does_not_have_what_the_destructors_of_keys_made) {
    ASSERT_EQ(0, pthread_key_create(&key, [](void *) { text += "longer than what a string has within itself"; }));
    std::atomic<int> found{0};
    auto leaves = [&] { pthread_setspecific(key, &key); };
    auto looks = [&] {
        found += static_cast<int>(text.size());
        text = "this is longer than what a string has within itself, too";
    };
    for (int i = 0; i < 20; ++i) {
        pthread_join(start(leaves), nullptr);
        pthread_join(start(looks), nullptr);
    }
    EXPECT_EQ(0, found);
    pthread_key_delete(key);
}

TEST(end, survives_a_request_in_its_middle) {
    static sem_t may_go, is_there;
    static std::atomic<bool> done;
    done = false;
    ASSERT_EQ(0, sem_init(&may_go, 0, 0));
    ASSERT_EQ(0, sem_init(&is_there, 0, 0));
    ASSERT_EQ(0, pthread_key_create(&key, [](void *) {
                  sem_post(&is_there);
                  while (sem_wait(&may_go) != 0) {
                  }
                  done = true;
              }));
    pthread_t t{};
    ASSERT_EQ(0, pthread_create(
                     &t, nullptr,
                     [](void *) -> void * {
                         pthread_setspecific(key, &key);
                         return &key;
                     },
                     nullptr));
    while (sem_wait(&is_there) != 0) {
    }
    EXPECT_EQ(0, pthread_cancel(t));
    sem_post(&may_go);
    void *result = nullptr;
    EXPECT_EQ(0, pthread_join(t, &result));
    if (result == PTHREAD_CANCELED) // the C library's: the destructor is left in the middle
        EXPECT_FALSE(done);
    else
        EXPECT_TRUE(done && result == &key);
    pthread_key_delete(key);
    sem_destroy(&may_go);
    sem_destroy(&is_there);
}

TEST(end, of_a_thread_is_found_by_one_with_a_request_pending) {
    std::atomic<bool> asked{false}, passed{false};
    std::atomic<pthread_t> other{};
    auto nothing = [] {};
    auto joins = [&] {
        while (!asked) sched_yield();
        int error = EBUSY;
        while ((error = pthread_tryjoin_np(other, nullptr)) == EBUSY) sched_yield();
        passed = error == 0;
        pthread_testcancel();
        ADD_FAILURE() << "the request is gone";
    };
    other = start(nothing);
    pthread_t t = start(joins);
    pthread_cancel(t);
    asked = true;
    void *result = nullptr;
    pthread_join(t, &result);
    EXPECT_EQ(PTHREAD_CANCELED, result);
    EXPECT_TRUE(passed);
}

TEST(objects, of_the_normal_type_let_the_holder_go_on) {
    pthread_mutexattr_t a;
    pthread_mutexattr_init(&a);
    pthread_mutexattr_settype(&a, PTHREAD_MUTEX_NORMAL);
    pthread_mutex_t m;
    pthread_mutex_init(&m, &a);
    pthread_mutexattr_destroy(&a);
    int n = 0;
    auto adds = [&] {
        for (int i = 0; i < 50; ++i) {
            pthread_mutex_lock(&m);
            const int before = n;
            sched_yield(); // with one hart, who waits in the kernel keeps the holder from going on
            n = before + 1;
            pthread_mutex_unlock(&m);
        }
    };
    const auto from = std::chrono::steady_clock::now();
    std::vector<pthread_t> all;
    for (int i = 0; i < 8; ++i) all.push_back(start(adds));
    for (const pthread_t t : all) pthread_join(t, nullptr);
    EXPECT_EQ(400, n);
    EXPECT_GT(8s, std::chrono::steady_clock::now() - from); // 20 ms for each, if it did
    pthread_mutex_destroy(&m);
}

TEST(objects, that_are_robust_or_shared_may_inherit_priority) {
    for (const bool shared : {false, true}) {
        pthread_mutexattr_t a;
        pthread_mutexattr_init(&a);
        pthread_mutexattr_setprotocol(&a, PTHREAD_PRIO_INHERIT);
        if (shared)
            pthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_SHARED);
        else
            pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);
        pthread_mutex_t m;
        ASSERT_EQ(0, pthread_mutex_init(&m, &a));
        pthread_mutexattr_destroy(&a);
        int count = 0, errors = 0;
        auto counts = [&] {
            for (int i = 0; i < 200; ++i) {
                if (pthread_mutex_lock(&m) != 0) ++errors;
                ++count;
                if (i % 10 == 0) sched_yield(); // somebody waits
                if (pthread_mutex_unlock(&m) != 0) ++errors;
            }
        };
        std::vector<pthread_t> all;
        for (int i = 0; i < 4; ++i) all.push_back(start(counts));
        for (pthread_t t : all) pthread_join(t, nullptr);
        EXPECT_EQ(800, count);
        EXPECT_EQ(0, errors);
        EXPECT_EQ(0, pthread_mutex_destroy(&m));
    }
}

// Run alone, before there is a thread.
TEST(objects, that_are_semaphores_let_a_handler_end_the_wait_without_threads) {
    struct sigaction a {};
    a.sa_handler = [](int) {};
    sigaction(SIGALRM, &a, nullptr);
    const itimerval soon_and_again{{0, 20'000}, {0, 20'000}}, never{};
    sem_t s;
    sem_init(&s, 0, 0);
    setitimer(ITIMER_REAL, &soon_and_again, nullptr);
    EXPECT_EQ(-1, sem_wait(&s));
    EXPECT_EQ(EINTR, errno);
    setitimer(ITIMER_REAL, &never, nullptr);
    sem_destroy(&s);
}

TEST(objects, that_are_mutexes_are_left_by_an_asynchronous_request_in_a_wait) {
    pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&m);
    auto waits = [&] {
        pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, nullptr);
        pthread_mutex_lock(&m);
    };
    auto waits_too = [&] {
        pthread_mutex_lock(&m);
        pthread_mutex_unlock(&m);
    };
    pthread_t t = start(waits), other = start(waits_too);
    std::this_thread::sleep_for(20ms);
    pthread_cancel(t);
    void *result = nullptr;
    pthread_join(t, &result);
    EXPECT_EQ(PTHREAD_CANCELED, result);
    pthread_mutex_unlock(&m);
    pthread_join(other, nullptr);
}

#ifdef SYS_pause
TEST(system_call, that_the_program_makes_itself_is_left_by_an_asynchronous_request) {
    sem_t is_there;
    sem_init(&is_there, 0, 0);
    auto sleeps = [&] {
        pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, nullptr);
        sem_post(&is_there);
        syscall(SYS_pause); // on the first thread's kernel thread, if there is one hart
    };
    pthread_t t = start(sleeps);
    sem_wait(&is_there);
    EXPECT_EQ(0, pthread_cancel(t));
    void *result = nullptr;
    pthread_join(t, &result);
    EXPECT_EQ(PTHREAD_CANCELED, result);
    sem_destroy(&is_there);
}
#endif

TEST(system_call, that_runs_a_command_is_cancelled_and_the_command_killed) {
    if (address_sanitizer || thread_sanitizer) GTEST_SKIP() << "the programs would be preloaded without the sanitizer";
    int pipe_ends[2];
    ASSERT_EQ(0, pipe(pipe_ends));
    const std::string command = "exec sleep 20 >&" + std::to_string(pipe_ends[1]);
    auto runs = [&] { (void)!system(command.c_str()); };
    pthread_t t = start(runs);
    std::this_thread::sleep_for(50ms);
    EXPECT_EQ(0, pthread_cancel(t));
    void *result = nullptr;
    pthread_join(t, &result);
    EXPECT_EQ(PTHREAD_CANCELED, result);
    close(pipe_ends[1]);
    char byte = 0;
    EXPECT_EQ(0, read(pipe_ends[0], &byte, 1)) << "somebody still has the other end";
    close(pipe_ends[0]);
    EXPECT_EQ(3, WEXITSTATUS(system("exit 3")));
    EXPECT_NE(0, system(nullptr));
}

TEST(objects, that_are_robust_tell_that_their_owner_has_ended) {
    pthread_mutexattr_t a;
    pthread_mutexattr_init(&a);
    pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_t m;
    pthread_mutex_init(&m, &a);
    pthread_mutexattr_destroy(&a);
    auto locks = [&] { pthread_mutex_lock(&m); };
    pthread_join(start(locks), nullptr);
    EXPECT_EQ(EOWNERDEAD, pthread_mutex_lock(&m));
    EXPECT_EQ(0, pthread_mutex_consistent(&m));
    EXPECT_EQ(0, pthread_mutex_unlock(&m));
    EXPECT_EQ(0, pthread_mutex_lock(&m));
    EXPECT_EQ(0, pthread_mutex_unlock(&m));
    pthread_mutex_destroy(&m);
}

TEST(objects, that_inherit_priorities_are_left_by_who_has_slept) {
    pthread_mutexattr_t a;
    pthread_mutexattr_init(&a);
    pthread_mutexattr_setprotocol(&a, PTHREAD_PRIO_INHERIT);
    pthread_mutex_t m;
    ASSERT_EQ(0, pthread_mutex_init(&m, &a));
    pthread_mutexattr_destroy(&a);
    std::atomic<int> failed{0};
    int n = 0;
    auto adds = [&] {
        for (int i = 0; i < 20; ++i) {
            failed += pthread_mutex_lock(&m) != 0;
            ++n;
            usleep(100);
            failed += pthread_mutex_unlock(&m) != 0;
        }
    };
    std::vector<pthread_t> all;
    for (int i = 0; i < 4; ++i) all.push_back(start(adds));
    for (const pthread_t t : all) pthread_join(t, nullptr);
    EXPECT_EQ(0, failed);
    EXPECT_EQ(80, n);
    pthread_mutex_destroy(&m);
}

TEST(objects, admit_readers_when_a_writer_has_given_up) {
    pthread_rwlockattr_t a;
    pthread_rwlockattr_init(&a);
    pthread_rwlockattr_setkind_np(&a, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    pthread_rwlock_t l;
    pthread_rwlock_init(&l, &a);
    pthread_rwlockattr_destroy(&a);
    ASSERT_EQ(0, pthread_rwlock_rdlock(&l));
    int error = 0;
    auto writes = [&] {
        const timespec soon = in(5ms);
        error = pthread_rwlock_timedwrlock(&l, &soon);
    };
    pthread_join(start(writes), nullptr);
    EXPECT_EQ(ETIMEDOUT, error);
    auto reads = [&] { error = pthread_rwlock_tryrdlock(&l); };
    pthread_join(start(reads), nullptr);
    EXPECT_EQ(0, error);
    pthread_rwlock_unlock(&l);
    pthread_rwlock_unlock(&l);
    pthread_rwlock_destroy(&l);
}

// What a private semaphore has left in its memory does not make one of processes private.
TEST(objects, in_memory_of_another_one_are_what_they_were_made) {
    alignas(sem_t) unsigned char fresh[sizeof(sem_t)] = {}, used[sizeof(sem_t)] = {};
    auto *plain = reinterpret_cast<sem_t *>(fresh), *again = reinterpret_cast<sem_t *>(used);
    ASSERT_EQ(0, sem_init(again, 0, 3));
    ASSERT_EQ(0, sem_init(plain, 1, 2));
    ASSERT_EQ(0, sem_init(again, 1, 2));
    EXPECT_EQ(0, std::memcmp(fresh, used, sizeof(sem_t)));
    alignas(pthread_barrier_t) unsigned char fresh_barrier[sizeof(pthread_barrier_t)] = {},
                                             used_barrier[sizeof(pthread_barrier_t)] = {};
    auto *first = reinterpret_cast<pthread_barrier_t *>(fresh_barrier);
    auto *second = reinterpret_cast<pthread_barrier_t *>(used_barrier);
    pthread_barrierattr_t a;
    pthread_barrierattr_init(&a);
    pthread_barrierattr_setpshared(&a, PTHREAD_PROCESS_SHARED);
    ASSERT_EQ(0, pthread_barrier_init(second, nullptr, 5));
    ASSERT_EQ(0, pthread_barrier_init(first, &a, 5));
    ASSERT_EQ(0, pthread_barrier_init(second, &a, 5));
    EXPECT_EQ(0, std::memcmp(fresh_barrier, used_barrier, sizeof fresh_barrier));
    pthread_barrierattr_destroy(&a);
}

TEST(harts, are_left_by_writers_of_more_than_there_is_room_for) {
    constexpr std::size_t size = 1 << 20;
    int ends[2];
    ASSERT_EQ(0, pipe(ends));
    const std::vector<char> all(size, 'x');
    std::size_t seen = 0;
    auto writes = [&] { EXPECT_EQ(static_cast<ssize_t>(size), write(ends[1], all.data(), size)); };
    auto reads = [&] {
        std::vector<char> some(10'000);
        while (seen < size) {
            const ssize_t n = read(ends[0], some.data(), some.size());
            if (n <= 0) return;
            seen += static_cast<std::size_t>(n);
        }
    };
    pthread_t writer = start(writes), reader = start(reads);
    pthread_join(writer, nullptr);
    pthread_join(reader, nullptr);
    EXPECT_EQ(size, seen);
    close(ends[0]);
    close(ends[1]);
}

TEST(harts, are_left_by_writers_in_the_c_library_which_write_all) {
    constexpr std::size_t size = 200'000;
    int ends[2];
    ASSERT_EQ(0, pipe(ends));
    const std::vector<char> all(size, 'x');
    std::atomic<std::size_t> seen{0};
    auto writes = [&] { EXPECT_EQ(static_cast<long>(size), syscall(SYS_write, ends[1], all.data(), size)); };
    auto writes_parts = [&] {
        const iovec parts[2] = {{const_cast<char *>(all.data()), size / 4},
                                {const_cast<char *>(all.data()), size - size / 4}};
        EXPECT_EQ(static_cast<long>(size), syscall(SYS_writev, ends[1], parts, 2));
    };
    auto reads = [&] {
        std::vector<char> some(10'000);
        while (seen < 2 * size) {
            const ssize_t n = read(ends[0], some.data(), some.size());
            if (n <= 0) return;
            seen += static_cast<std::size_t>(n);
        }
    };
    const pthread_t t[] = {start(writes), start(writes_parts), start(reads)}; // more than harts
    for (const pthread_t one : t) pthread_join(one, nullptr);
    EXPECT_EQ(2 * size, seen);
    close(ends[0]);
    close(ends[1]);
}

TEST(harts, are_left_by_senders_of_datagrams_and_receivers_of_several) {
    const int from = socket(AF_UNIX, SOCK_DGRAM, 0), to = socket(AF_UNIX, SOCK_DGRAM, 0);
    sockaddr_un none{}, address{};
    none.sun_family = AF_UNIX;
    socklen_t length = sizeof address;
    ASSERT_EQ(0, bind(to, reinterpret_cast<sockaddr *>(&none), sizeof none.sun_family)); // the kernel names it
    ASSERT_EQ(0, getsockname(to, reinterpret_cast<sockaddr *>(&address), &length));
    constexpr int each = 200; // more than there is room for
    auto sends = [&] {
        for (int i = 0; i < each; ++i)
            EXPECT_EQ(1, sendto(from, "x", 1, 0, reinterpret_cast<sockaddr *>(&address), length));
    };
    auto receives = [&] {
        for (int i = 0; i < 2 * each; ++i) {
            char c = 0;
            iovec part{&c, 1};
            mmsghdr message{};
            message.msg_hdr.msg_iov = &part;
            message.msg_hdr.msg_iovlen = 1;
            EXPECT_EQ(1, recvmmsg(to, &message, 1, 0, nullptr));
        }
    };
    const pthread_t t[] = {start(receives), start(sends), start(sends)}; // more than harts
    for (const pthread_t one : t) pthread_join(one, nullptr);
    close(from);
    close(to);
}

TEST(harts, are_left_at_the_end_of_a_time_slice) {
    std::atomic<bool> stop{false};
    std::atomic<unsigned> sum{0};
    auto computes = [&] {
        while (!stop.load(std::memory_order_relaxed)) sum += fib(15 + sum % 2);
    };
    auto other = [&] { stop = true; };
    std::vector<pthread_t> all;
    for (int i = 0; i < 3; ++i) all.push_back(start(computes)); // more than harts
    all.push_back(start(other));
    for (const pthread_t t : all) pthread_join(t, nullptr);
}

TEST(harts, are_left_at_the_end_of_a_time_slice_within_what_comity_calls) {
    if (thread_sanitizer) GTEST_SKIP() << "who is interrupted in the sanitizer goes on";
    static std::atomic<bool> stop;
    static std::atomic<unsigned> sum;
    static constexpr auto computes = [] {
        while (!stop.load(std::memory_order_relaxed)) sum += fib(15 + sum % 2);
    };
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    static thread_local sigjmp_buf where;
    stop = false;
    ASSERT_EQ(0, pthread_key_create(&key, [](void *) { computes(); }));
    signal(SIGUSR1, [](int) { computes(); });
    signal(SIGUSR2, [](int) { siglongjmp(where, 1); });
    auto initialises = [] { pthread_once(&once, [] { computes(); }); };
    auto leaves = [] { pthread_setspecific(key, &key); };
    auto handles = [] { raise(SIGUSR1); };
    auto jumps = [] {
        if (sigsetjmp(where, 1) == 0) raise(SIGUSR2);
        computes();
    };
    auto other = [] { stop = true; };
    std::vector<pthread_t> all{start(initialises), start(leaves), start(handles), start(jumps)}; // more than harts
    all.push_back(start(other));
    for (const pthread_t t : all) pthread_join(t, nullptr);
    signal(SIGUSR1, SIG_DFL);
    signal(SIGUSR2, SIG_DFL);
    pthread_key_delete(key);
}

extern "C" void sleeps_without_tables(void); // without_tables.c

TEST(cancellation, that_cannot_unwind_leaves_once_free) {
    static pthread_once_t o = PTHREAD_ONCE_INIT;
    static std::atomic<int> calls;
    calls = 0;
    auto sleeps = [] {
        pthread_once(&o, [] {
            ++calls;
            sleeps_without_tables();
        });
    };
    const pthread_t t = start(sleeps);
    while (calls == 0) sched_yield();
    void *result = nullptr;
    pthread_cancel(t);
    pthread_join(t, &result);
    EXPECT_EQ(PTHREAD_CANCELED, result);
    pthread_once(&o, [] { ++calls; });
    EXPECT_EQ(2, calls);
}
