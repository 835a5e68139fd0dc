// What only donors have: a kernel thread, its limits and its promotion.
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <iterator>
#include <set>
#include <thread>
#include <vector>

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "core/tls/base.hpp"
#include "core/tls/block.hpp"
#include "core/tls/sanitized.hpp"
#include "core/tls/visit.hpp"
#include "sys/kernel_thread.hpp"

using namespace comity;
using namespace comity::core;

namespace {

constexpr std::size_t stack_size = 64 * 1024;

tls_block *must_make() {
    detect_tls_base();
    int error = 0;
    tls_block *block = make_donor_block(stack_size, error);
    EXPECT_NE(block, nullptr) << error;
    return block;
}

// Has it a kernel thread only now and then (COMITY_TLS_THREADS)? Its id is above all kernel threads' then.
bool is_on_call(const tls_block *block) { return block->kernel_id > 4'194'304; }

std::size_t kernel_threads() {
    const std::filesystem::directory_iterator all("/proc/self/task");
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}
void await_kernel_threads(std::size_t n) {
    while (kernel_threads() != n) std::this_thread::yield();
}

void await_sleep(tls_block *block) {
    while (!donor_asleep(block)) std::this_thread::yield();
}

std::size_t count_in(const char *path) {
    std::size_t lines = 0;
    FILE *file = std::fopen(path, "r");
    for (int c = 0; file && (c = std::fgetc(file)) != EOF;) lines += c == '\n';
    if (file) std::fclose(file);
    return lines;
}

} // namespace

TEST(donor, is_promoted_to_go_on_with_its_context) {
    tls_block *block = must_make();
    struct state {
        visit v;
        int first_id = 0, second_id = 0;
        pthread_t first_self{}, second_self{};
    } s;
    s.v.block = block;
    s.v.arg = &s;
    s.v.fn = [](visit &v) {
        auto &s = *static_cast<state *>(v.arg);
        s.first_id = sys::kernel_thread_id();
        s.first_self = pthread_self();
        leave(v);
        s.second_id = sys::kernel_thread_id();
        s.second_self = pthread_self();
    };
    enter(s.v);
    EXPECT_FALSE(s.v.done);
    EXPECT_EQ(s.first_id, sys::kernel_thread_id());
    run_on_donor(
        block, [](void *v) { reenter(*static_cast<visit *>(v)); }, &s.v);
    await_sleep(block);
    EXPECT_TRUE(s.v.done);
    if (!is_on_call(block)) {
        EXPECT_EQ(s.second_id, block->kernel_id);
    }
    EXPECT_NE(s.second_id, s.first_id);
    EXPECT_EQ(s.first_self, s.second_self);
    free_tls_block(block);
}

TEST(donor, runs_again_and_again_and_loses_no_wakeup) {
    tls_block *block = must_make();
    int count = 0; // plain: run_on_donor and donor_asleep order it
    for (int i = 0; i < 2000; ++i) {
        run_on_donor(
            block, [](void *n) { ++*static_cast<int *>(n); }, &count);
        await_sleep(block);
        ASSERT_EQ(count, i + 1);
    }
    run_on_donor(
        block, [](void *n) { ++*static_cast<int *>(n); }, &count);
    free_tls_block(block); // waits for what still runs
    EXPECT_EQ(count, 2001);
}

TEST(donor, on_call_has_a_kernel_thread_only_when_it_is_told_to_and_one_id_on_all) {
    const std::size_t others = kernel_threads();
    tls_block *block = must_make();
    if (!is_on_call(block)) {
        free_tls_block(block);
        GTEST_SKIP() << "kernel threads stay";
    }
    await_kernel_threads(others);
    struct state {
        visit v;
        pthread_mutex_t owned = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
        int unlocked = -1;
        std::size_t threads = 0;
    } s;
    s.v.block = block;
    s.v.arg = &s;
    s.v.fn = [](visit &v) {
        auto &s = *static_cast<state *>(v.arg);
        EXPECT_EQ(0, pthread_mutex_lock(&s.owned));
        leave(v);
        s.threads = kernel_threads();
        s.unlocked = pthread_mutex_unlock(&s.owned);
    };
    enter(s.v);
    EXPECT_EQ(block->kernel_id, s.owned.__data.__owner);
    set_donor_start_hook([] { return EAGAIN; });
    EXPECT_FALSE(have_kernel_thread(block));
    set_donor_start_hook(nullptr);
    EXPECT_TRUE(donor_asleep(block));
    EXPECT_TRUE(have_kernel_thread(block));
    EXPECT_TRUE(donor_asleep(block));
    run_on_donor(
        block, [](void *v) { reenter(*static_cast<visit *>(v)); }, &s.v);
    await_sleep(block);
    EXPECT_EQ(others + 1, s.threads);
    EXPECT_EQ(0, s.unlocked);
    await_kernel_threads(others);
    free_tls_block(block);
    await_kernel_threads(others);
}

TEST(donor, on_call_ends_as_a_thread_does) {
    tls_block *block = must_make();
    struct ends {
        ~ends() { *word = 1; }
        int *word = nullptr;
    };
    int ended = 0;
    visit v;
    v.block = block;
    v.arg = &ended;
    v.fn = [](visit &v) {
        thread_local ends e;
        e.word = static_cast<int *>(v.arg);
    };
    enter(v);
    free_tls_block(block);
    EXPECT_EQ(1, ended);
}

TEST(donor, takes_no_signal) {
    tls_block *block = must_make();
    sigset_t mask;
    sigemptyset(&mask);
    run_on_donor(
        block, [](void *m) { pthread_sigmask(SIG_SETMASK, nullptr, static_cast<sigset_t *>(m)); }, &mask);
    await_sleep(block);
    for (const int s : {SIGINT, SIGTERM, SIGUSR1, SIGCHLD, SIGALRM, SIGPROF, SIGRTMIN})
        EXPECT_TRUE(sigismember(&mask, s)) << s;
    free_tls_block(block);
}

TEST(donor, a_limit_on_threads_is_an_error_that_leaks_nothing) {
    const std::size_t mappings = count_in("/proc/self/maps");
    set_donor_start_hook([] { return EAGAIN; });
    for (int i = 0; i < 50; ++i) {
        int error = 0;
        errno = EDOM;
        EXPECT_EQ(make_donor_block(stack_size, error), nullptr);
        EXPECT_EQ(error, EAGAIN);
        EXPECT_EQ(errno, EDOM);
    }
    set_donor_start_hook(nullptr);
    if (!tls_sanitized) { // sanitizers map memory of their own
        EXPECT_LE(count_in("/proc/self/maps"), mappings + 2);
    }
    int error = 0;
    EXPECT_EQ(make_donor_block(SIZE_MAX, error), nullptr);
    EXPECT_EQ(error, ENOMEM);
    EXPECT_EQ(make_donor_block(SIZE_MAX / 4, error), nullptr);
    EXPECT_EQ(error, ENOMEM);
    free_tls_block(must_make());
}

TEST(donor, many_are_made_and_freed_from_many_threads) {
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([] {
            for (int round = 0; round < 5; ++round) {
                std::vector<tls_block *> blocks;
                for (int i = 0; i < 40; ++i) blocks.push_back(must_make());
                std::set<std::uintptr_t> bases;
                for (tls_block *b : blocks) bases.insert(b->base);
                EXPECT_EQ(bases.size(), blocks.size());
                for (tls_block *b : blocks) free_tls_block(b);
            }
        });
    for (auto &t : threads) t.join();
}

TEST(donor, blocks_and_stacks_lie_at_many_places_of_the_caches) {
    std::vector<tls_block *> blocks;
    std::set<std::uintptr_t> base_lines, stack_lines, base_pages;
    for (int i = 0; i < 128; ++i) {
        blocks.push_back(must_make());
        base_lines.insert(blocks.back()->base / 64 % 64);
        stack_lines.insert(reinterpret_cast<std::uintptr_t>(blocks.back()->stack_top) / 64 % 64);
        base_pages.insert(blocks.back()->base / 4096 % 16);
    }
    EXPECT_GE(base_lines.size(), 60U);
    EXPECT_GE(stack_lines.size(), 60U);
    // Stacks at an even number of pages from one to the next would take 8 at most.
    if (!tls_sanitized) { // sanitizers map memory of their own between them
        EXPECT_GT(base_pages.size(), 8U);
    }
    for (tls_block *b : blocks) free_tls_block(b);
}

TEST(donor, stays_unharmed_when_the_c_library_signals_every_thread) {
    tls_block *block = must_make();
    visit v;
    v.block = block;
    v.fn = [](visit &self) {
        // At the very top of the context's stack, where the donor's signal frame would fall without room for it.
        volatile unsigned char marks[2048];
        for (auto &m : marks) m = 0x5a;
        leave(self);
        for (const auto &m : marks) ASSERT_EQ(m, 0x5a);
    };
    enter(v);
    ASSERT_EQ(setgid(getgid()), 0); // glibc has every thread do it, in a signal handler
    reenter(v);
    EXPECT_TRUE(v.done);
    free_tls_block(block);
}
