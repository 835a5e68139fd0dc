// More threads that wait than the process has kernel threads for.
#include "start.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <vector>

#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

namespace {

constexpr int enough = 2000;
constexpr std::ptrdiff_t few = 100; // kernel threads: COMITY_TLS_THREADS is 16

std::ptrdiff_t kernel_threads() {
    const std::filesystem::directory_iterator all("/proc/self/task");
    return std::distance(begin(all), end(all));
}

void await_few() { // a kernel thread may be about to end
    while (kernel_threads() >= few) usleep(1000);
}

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t go = PTHREAD_COND_INITIALIZER, all_wait = PTHREAD_COND_INITIALIZER;
bool gone = false;
int waiting = 0;

__thread long own = 7;

void check_in() {
    if (++waiting == enough) pthread_cond_signal(&all_wait);
}
void await_all() {
    pthread_mutex_lock(&mutex);
    while (waiting != enough) pthread_cond_wait(&all_wait, &mutex);
    waiting = 0;
    pthread_mutex_unlock(&mutex);
}

// As many threads, whose function is given their numbers.
std::vector<pthread_t> start_all(void *(*fn)(void *)) {
    std::vector<pthread_t> threads(enough);
    for (long i = 0; i < enough; ++i)
        EXPECT_EQ(0, pthread_create(&threads[static_cast<std::size_t>(i)], nullptr, fn, reinterpret_cast<void *>(i)));
    return threads;
}
void join_all(const std::vector<pthread_t> &threads) {
    for (long i = 0; i < enough; ++i) {
        void *result = nullptr;
        EXPECT_EQ(0, pthread_join(threads[static_cast<std::size_t>(i)], &result));
        EXPECT_EQ(reinterpret_cast<void *>(i), result);
    }
}

} // namespace

TEST(thousands, wait_for_a_condition_without_kernel_threads) {
    static pthread_key_t key;
    static std::atomic<int> ended{0};
    static int (*late)() = nullptr;
    static std::atomic<int> wrong{0};
    ASSERT_EQ(0, pthread_key_create(&key, [](void *) { ended.fetch_add(1); }));
    const std::vector<pthread_t> threads = start_all([](void *n) -> void * {
        wrong += own != 7;
        own = reinterpret_cast<long>(n);
        pthread_setspecific(key, &key);
        pthread_mutex_lock(&mutex);
        check_in();
        while (!gone) pthread_cond_wait(&go, &mutex);
        pthread_mutex_unlock(&mutex);
        wrong += own != reinterpret_cast<long>(n) || late() != 42;
        return n;
    });
    await_all();
    await_few();
    // Threads that live get the variables of what is loaded now.
    void *library = dlopen(LATE_LIBRARY, RTLD_NOW);
    ASSERT_NE(nullptr, library) << dlerror();
    late = reinterpret_cast<int (*)()>(dlsym(library, "late_initial_exec"));
    ASSERT_NE(nullptr, late);
    pthread_mutex_lock(&mutex);
    gone = true;
    pthread_cond_broadcast(&go);
    pthread_mutex_unlock(&mutex);
    join_all(threads);
    EXPECT_EQ(enough, ended);
    EXPECT_EQ(0, wrong);
}

TEST(thousands, wait_at_a_semaphore_without_kernel_threads) {
    static sem_t semaphore;
    ASSERT_EQ(0, sem_init(&semaphore, 0, 0));
    const std::vector<pthread_t> threads = start_all([](void *n) -> void * {
        pthread_mutex_lock(&mutex);
        check_in();
        pthread_mutex_unlock(&mutex);
        while (sem_wait(&semaphore) != 0) {
        }
        sem_post(&semaphore);
        return n;
    });
    await_all();
    await_few();
    EXPECT_EQ(0, setuid(getuid())); // the C library tells all that it knows of
    sem_post(&semaphore);
    join_all(threads);
}

// Each is in the kernel again and again: on a kernel thread that it gets for that.
TEST(thousands, sleep_in_the_kernel_by_turns) {
    static int pipes[2];
    ASSERT_EQ(0, pipe(pipes));
    const std::vector<pthread_t> threads = start_all([](void *n) -> void * {
        own = reinterpret_cast<long>(n);
        char byte = 0;
        errno = ERANGE;
        const bool right = read(pipes[0], &byte, 1) == 1 && errno == ERANGE && own == reinterpret_cast<long>(n);
        return right && write(pipes[1], &byte, 1) == 1 ? n : nullptr;
    });
    ASSERT_EQ(1, write(pipes[1], "x", 1));
    join_all(threads);
    await_few();
}
