// Memory that POSIX threads allocate is charged to the quota of the space-efficient order, and is what it is without
// Comity. The same tests on the C library, with other orders and quotas, and in front of another allocator.
#include "start.hpp"

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include <malloc.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

constexpr std::size_t large = 1 << 20;

// Does one thread run after the other, so that it is known who waits?
bool in_turns() {
    const char *harts = std::getenv("COMITY_HARTS");
    return harts && *harts == '1';
}

bool is_charged() {
    const char *quota = std::getenv("COMITY_POSIX_QUOTA");
    return !std::getenv("COMITY_POSIX_SCHEDULER") && !(quota && *quota == '0');
}

// The compiler must not see that nobody uses it.
template <class T> [[gnu::noinline]] T *kept(T *block) {
    asm volatile("" : "+r"(block)::"memory");
    return block;
}

// In a thread, with one hart: how far was another one, which stands before it in the order and is ready, when `first`
// had returned, and when `then` had? It goes on only if the thread waits for its quota.
struct progress {
    bool after_first = false, after_then = false;
};
template <class First, class Then> progress of_the_other(First first, Then then) {
    progress result;
    auto parent = [&] {
        sem_t go;
        sem_init(&go, 0, 0);
        std::atomic<bool> went_on{false};
        auto child = [&] {
            sem_wait(&go);
            went_on = true;
        };
        pthread_t t = start(child); // runs at once, and waits
        sem_post(&go);
        first();
        result.after_first = went_on;
        then();
        result.after_then = went_on;
        pthread_join(t, nullptr);
        sem_destroy(&go);
    };
    pthread_t p = start(parent);
    pthread_join(p, nullptr);
    return result;
}

template <class Allocate> bool waits_for_its_quota(Allocate allocate) {
    const progress p = of_the_other([] { std::free(kept(std::malloc(1))); }, allocate);
    EXPECT_FALSE(p.after_first) << "a byte is no quota";
    return p.after_then;
}

} // namespace

TEST(quota, is_charged_by_each_function_that_allocates) {
    if (!in_turns()) GTEST_SKIP();
    const bool expected = is_charged();
    const auto expect = [&](const char *what, auto allocate) {
        EXPECT_EQ(expected, waits_for_its_quota([&] { std::free(kept(allocate())); })) << what;
    };
    expect("malloc", [] { return std::malloc(large); });
    expect("calloc", [] { return std::calloc(large / 8, 8); });
    expect("realloc", [] { return std::realloc(std::malloc(1), large); });
    expect("reallocarray", [] { return reallocarray(nullptr, large / 8, 8); });
    expect("aligned_alloc", [] { return std::aligned_alloc(64, large); });
    expect("memalign", [] { return memalign(64, large); });
    expect("valloc", [] { return valloc(large); });
    expect("pvalloc", [] { return pvalloc(large); });
    expect("posix_memalign", [] {
        void *block = nullptr;
        EXPECT_EQ(0, posix_memalign(&block, 64, large));
        return block;
    });
}

TEST(quota, leaves_a_block_for_no_bytes) {
    void *block = pvalloc(0);
    EXPECT_NE(nullptr, block);
    std::free(block);
}

TEST(quota, is_charged_by_new) {
    if (!in_turns()) GTEST_SKIP();
    struct alignas(128) wide {
        char bytes[large];
    };
    const bool expected = is_charged();
    EXPECT_EQ(expected, waits_for_its_quota([] { delete[] kept(new char[large]); }));
    EXPECT_EQ(expected, waits_for_its_quota([] { delete[] kept(new (std::nothrow) char[large]); }));
    EXPECT_EQ(expected, waits_for_its_quota([] { ::operator delete(kept(::operator new(large))); }));
    EXPECT_EQ(expected, waits_for_its_quota([] { delete kept(new wide); }));
    EXPECT_EQ(expected, waits_for_its_quota([] { delete[] kept(new (std::nothrow) wide[2]); }));
}

TEST(quota, is_used_up_by_many_small_blocks) {
    if (!in_turns()) GTEST_SKIP();
    EXPECT_EQ(is_charged(), waits_for_its_quota([] {
                  void *last = nullptr;
                  for (int i = 0; i < 1000; ++i) { // a list, each in the one before
                      void **block = static_cast<void **>(kept(std::malloc(100)));
                      *block = last;
                      last = block;
                  }
                  while (last) {
                      void *before = *static_cast<void **>(last);
                      std::free(last);
                      last = before;
                  }
              }));
}

TEST(quota, is_given_back_by_free) {
    if (!in_turns()) GTEST_SKIP();
    EXPECT_FALSE(waits_for_its_quota([] {
        for (int i = 0; i < 10'000; ++i) std::free(kept(std::malloc(500)));
    }));
    EXPECT_FALSE(waits_for_its_quota([] {
        for (int i = 0; i < 1000; ++i) std::free(kept(std::realloc(kept(std::malloc(100)), 1000)));
    }));
    EXPECT_FALSE(waits_for_its_quota([] {
        for (int i = 0; i < 1000; ++i) delete[] kept(new char[500]);
    }));
}

// What the C library allocates within its own functions, which may hold locks, is charged, but nobody stops there.
TEST(quota, is_waited_for_in_the_programs_code_only) {
    if (!in_turns()) GTEST_SKIP();
    const std::string text(large, 'x');
    char *copy = nullptr;
    const progress p = of_the_other([&] { copy = strdup(text.c_str()); }, [] { std::free(kept(std::malloc(1))); });
    EXPECT_FALSE(p.after_first);
    EXPECT_EQ(is_charged(), p.after_then);
    EXPECT_EQ(text, copy);
    std::free(copy);
}

TEST(quota, is_waited_for_before_a_thread_is_created) {
    if (!in_turns()) GTEST_SKIP();
    char *copy = nullptr;
    const std::string text(large, 'x');
    std::atomic<bool> before{false};
    auto parent = [&] {
        sem_t go;
        sem_init(&go, 0, 0);
        std::atomic<bool> went_on{false};
        auto child = [&] {
            sem_wait(&go);
            went_on = true;
        };
        auto look = [&] { before = went_on.load(); };
        pthread_t t = start(child);
        sem_post(&go);
        copy = strdup(text.c_str());
        pthread_t next = start(look);
        pthread_join(next, nullptr);
        pthread_join(t, nullptr);
        sem_destroy(&go);
    };
    pthread_t p = start(parent);
    pthread_join(p, nullptr);
    std::free(copy);
    EXPECT_TRUE(before || !is_charged());
}

// A switch on the signal stack would leave it to others.
TEST(quota, is_not_waited_for_on_a_signal_stack) {
    if (!in_turns()) GTEST_SKIP();
    static std::atomic<void *> block;
    const progress p = of_the_other(
        [] {
            static char memory[64 << 10];
            stack_t own{}, before{};
            own.ss_sp = memory;
            own.ss_size = sizeof memory;
            sigaltstack(&own, &before);
            struct sigaction act {
            }, old{};
            act.sa_handler = [](int) { block = std::malloc(large); };
            act.sa_flags = SA_ONSTACK;
            sigaction(SIGUSR2, &act, &old);
            raise(SIGUSR2);
            sigaction(SIGUSR2, &old, nullptr);
            sigaltstack(&before, nullptr);
        },
        [] { std::free(kept(std::malloc(1))); });
    std::free(block);
    EXPECT_FALSE(p.after_first);
    EXPECT_EQ(is_charged(), p.after_then);
}

// ---- What the functions do is what the allocator behind them does.

namespace {

bool works(std::size_t size) {
    char *a = static_cast<char *>(std::malloc(size)), *b = static_cast<char *>(std::calloc(size, 1));
    bool right = a && b;
    for (std::size_t i = 0; right && i < size; ++i) right = b[i] == 0;
    std::memset(a, 7, size);
    a = static_cast<char *>(std::realloc(a, 2 * size));
    for (std::size_t i = 0; right && i < size; ++i) right = a[i] == 7;
    void *c = nullptr;
    right = right && posix_memalign(&c, 4096, size) == 0 && reinterpret_cast<std::uintptr_t>(c) % 4096 == 0;
    void *d = std::aligned_alloc(256, 1024), *e = memalign(128, size);
    right = right && reinterpret_cast<std::uintptr_t>(d) % 256 == 0 && reinterpret_cast<std::uintptr_t>(e) % 128 == 0;
    for (void *block : {static_cast<void *>(a), static_cast<void *>(b), c, d, e}) std::free(block);
    std::free(nullptr);
    return right;
}

bool works() {
    bool right = true;
    for (std::size_t size : {1, 24, 100, 5000, 300'000}) right = works(size) && right;
    return right;
}

bool worked_before_main = false;
[[gnu::constructor(101)]] void before_main() { worked_before_main = works(); }

} // namespace

TEST(memory, is_what_was_asked_for) {
    EXPECT_TRUE(worked_before_main);
    EXPECT_TRUE(works());
    for (int i = 0; i < 20; ++i) {
        bool right = false;
        auto body = [&] { right = works(); };
        pthread_t t = start(body);
        pthread_join(t, nullptr);
        EXPECT_TRUE(right);
    }
}

TEST(memory, that_nobody_has_is_refused) {
    auto body = [] {
        volatile std::size_t much = SIZE_MAX, half = SIZE_MAX / 2 + 1;
        for (const std::size_t size : {much + 0, half + 0, much - 20}) {
            errno = 0;
            EXPECT_EQ(nullptr, std::malloc(size));
            EXPECT_EQ(ENOMEM, errno);
            EXPECT_EQ(nullptr, std::calloc(size, 3));
            void *block = std::malloc(10);
            EXPECT_EQ(nullptr, std::realloc(kept(block), size));
            std::free(kept(block));
        }
        errno = 0;
        EXPECT_EQ(nullptr, reallocarray(nullptr, half, 3));
        EXPECT_EQ(ENOMEM, errno);
        void *out = nullptr;
        EXPECT_EQ(EINVAL, posix_memalign(&out, 3, 10));
        EXPECT_THROW((void)kept(::operator new(half)), std::bad_alloc);
        EXPECT_EQ(nullptr, ::operator new(half, std::nothrow));
        EXPECT_TRUE(works());
    };
    pthread_t t = start(body);
    pthread_join(t, nullptr);
}

TEST(memory, is_had_by_the_child_of_a_threads_fork) {
    auto body = [] {
        const pid_t child = fork();
        if (child == 0) _exit(works() ? 7 : 8);
        int status = 0;
        EXPECT_EQ(child, waitpid(child, &status, 0));
        EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7) << status;
    };
    pthread_t t = start(body);
    pthread_join(t, nullptr);
}

TEST(memory, is_had_by_a_kernel_thread_of_its_own) {
    pthread_attr_t a;
    pthread_attr_init(&a);
    cpu_set_t cpus;
    ASSERT_EQ(0, sched_getaffinity(0, sizeof cpus, &cpus));
    pthread_attr_setaffinity_np(&a, sizeof cpus, &cpus);
    bool right = false;
    auto body = [&] { right = works(); };
    pthread_t t = start(body, &a);
    pthread_join(t, nullptr);
    pthread_attr_destroy(&a);
    EXPECT_TRUE(right);
}

// Blocks that one thread allocates and others free, on all harts, while they print into one stream: the lock of that is
// the C library's.
TEST(memory, of_many_threads_that_print) {
    char *text = nullptr;
    std::size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    ASSERT_NE(nullptr, out);
    constexpr int n = 64, lines = 20;
    std::vector<pthread_t> threads;
    auto body = [&] {
        for (int i = 0; i < lines; ++i) {
            const auto block = std::make_unique<char[]>(20'000);
            std::memset(block.get(), 'y', 999);
            std::fprintf(out, "%s\n", block.get());
            auto inner = [] { std::free(kept(std::malloc(30'000))); };
            pthread_t t = start(inner);
            pthread_join(t, nullptr);
        }
    };
    for (int i = 0; i < n; ++i) threads.push_back(start(body));
    for (pthread_t t : threads) pthread_join(t, nullptr);
    std::fclose(out);
    EXPECT_EQ(std::size_t{n} * lines * 1000, size);
    std::free(text);
}
