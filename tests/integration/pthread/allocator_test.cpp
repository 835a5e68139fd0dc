// An allocator whose lock is a mutex of POSIX threads, as jemalloc's are: the program's threads wait for it as for any
// other mutex, and Comity, which may have a lock of a scheduler's or a hart's lists in hand, must not come there. Nor
// must it stop where an allocator sleeps.
#include <array>
#include <atomic>
#include <cstddef>
#include <ctime>

#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <gtest/gtest.h>

extern "C" {
void *__libc_malloc(std::size_t);
void *__libc_calloc(std::size_t, std::size_t);
void *__libc_realloc(void *, std::size_t);
void *__libc_memalign(std::size_t, std::size_t);
void __libc_free(void *);
}

namespace {

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
std::atomic<bool> locks{false};

// Of the calls that free something one in so many sleeps, for longer than the watch looks on.
std::atomic<int> calls_that_may_sleep{0};
void sleep_at_times() noexcept {
    constexpr int every = 16;
    if (calls_that_may_sleep.load(std::memory_order_relaxed) <= 0) return;
    if (calls_that_may_sleep.fetch_sub(1, std::memory_order_relaxed) % every != 0) return;
    const timespec time{0, 40'000'000};
    syscall(SYS_nanosleep, &time, nullptr);
}

class held {
public:
    held() noexcept {
        if (is_) pthread_mutex_lock(&lock);
    }
    ~held() {
        if (is_) pthread_mutex_unlock(&lock);
    }
    held(const held &) = delete;
    held &operator=(const held &) = delete;

private:
    const bool is_ = locks.load(std::memory_order_relaxed);
};

void work_a_little() noexcept {
    for (volatile int i = 0; i < 2000;) i = i + 1;
}

} // namespace

extern "C" {
void *malloc(std::size_t size) {
    const held own;
    return __libc_malloc(size);
}
void free(void *memory) {
    if (memory) sleep_at_times();
    const held own;
    __libc_free(memory);
}
void *calloc(std::size_t n, std::size_t size) {
    const held own;
    return __libc_calloc(n, size);
}
void *realloc(void *memory, std::size_t size) {
    const held own;
    return __libc_realloc(memory, size);
}
void *aligned_alloc(std::size_t alignment, std::size_t size) {
    const held own;
    work_a_little();
    return __libc_memalign(alignment, size);
}
}

namespace {

void *allocate(void *) {
    for (int i = 0; i < 20; ++i) {
        free(malloc(100));
        sched_yield();
    }
    return nullptr;
}

void *yield(void *) {
    for (int i = 0; i < 20; ++i) sched_yield();
    return nullptr;
}

using function = void *(*)(void *);

void *create_many(void *argument) {
    std::array<pthread_t, 300> all;
    for (int round = 0; round < 2; ++round) {
        for (pthread_t &t : all)
            if (pthread_create(&t, nullptr, *static_cast<function *>(argument), nullptr) != 0) return nullptr;
        for (const pthread_t t : all) pthread_join(t, nullptr);
    }
    return argument;
}

void create_by_many(function f) {
    std::array<pthread_t, 6> creators;
    for (pthread_t &t : creators) ASSERT_EQ(pthread_create(&t, nullptr, create_many, &f), 0);
    for (pthread_t &t : creators) {
        void *result = nullptr;
        ASSERT_EQ(pthread_join(t, &result), 0);
        EXPECT_EQ(result, &f);
    }
}

} // namespace

TEST(allocator, threads_that_allocate_under_a_mutex_are_created_and_end) {
    locks.store(true);
    create_by_many(allocate);
    locks.store(false);
}

TEST(allocator, one_that_sleeps_moves_no_thread_that_is_about_to_create_or_to_join) {
    calls_that_may_sleep.store(400);
    create_by_many(yield);
    calls_that_may_sleep.store(0);
}
