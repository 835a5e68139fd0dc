// Donors: what a context sees that runs on borrowed TLS, on whichever kernel thread.
#include <atomic>
#include <cerrno>
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "core/context.hpp"
#include "core/tls/base.hpp"
#include "core/tls/block.hpp"
#include "core/tls/sanitized.hpp"
#include "core/tls/visit.hpp"
#include "sys/kernel_thread.hpp"

using namespace comity;
using namespace comity::core;

namespace {

constexpr std::size_t stack_size = 64 * 1024;

thread_local int number = 7;
thread_local std::string text = "from the start";
std::atomic<int> destroyed{0};
struct counted {
    int value = 1;
    ~counted() { ++destroyed; }
};
thread_local counted counts_its_end;

pthread_key_t make_key() {
    pthread_key_t key{};
    pthread_key_create(&key, nullptr);
    return key;
}

// Each provider in turn.
class tls_block_of : public testing::TestWithParam<tls_provider> {
protected:
    void SetUp() override {
        detect_tls_base();
        int error = 0;
        block = make(error);
        if (!block && GetParam() == tls_provider::glibc) GTEST_SKIP() << "no glibc blocks here";
        ASSERT_NE(block, nullptr) << std::strerror(error);
    }
    void TearDown() override { free_tls_block(block); }

    static tls_block *make(int &error) {
        return GetParam() == tls_provider::donor ? make_donor_block(stack_size, error)
                                                 : make_glibc_block(stack_size, error);
    }

    // Runs fn(visit) on the block from beginning to end, on this kernel thread.
    template <class Fn> void on_block(Fn fn) {
        visit v;
        v.block = block;
        v.arg = &fn;
        v.fn = [](visit &self) { (*static_cast<Fn *>(self.arg))(self); };
        enter(v);
        ASSERT_TRUE(v.done);
    }

    // The same, but each stretch between two leave()s runs on another kernel thread than the one before.
    template <class Fn> void on_changing_threads(Fn fn) {
        visit v;
        v.block = block;
        v.arg = &fn;
        v.fn = [](visit &self) { (*static_cast<Fn *>(self.arg))(self); };
        enter(v);
        while (!v.done) std::thread([&] { reenter(v); }).join();
    }

    tls_block *block = nullptr;
};

} // namespace

TEST_P(tls_block_of, begins_with_the_initial_values_and_keeps_its_own) {
    number = 1;
    text = "of the kernel thread";
    on_block([&](visit &) {
        EXPECT_EQ(number, 7);
        EXPECT_EQ(text, "from the start");
        EXPECT_EQ(counts_its_end.value, 1);
        number = 2;
        text = "a text that is too long for the string's own buffer";
    });
    EXPECT_EQ(number, 1);
    EXPECT_EQ(text, "of the kernel thread");
    on_block([&](visit &) {
        EXPECT_EQ(number, 2);
        EXPECT_EQ(text, "a text that is too long for the string's own buffer");
    });
}

TEST_P(tls_block_of, knows_its_base_its_slot_and_its_stack) {
    const std::uintptr_t own = tls_base();
    EXPECT_NE(block->base, own);
    EXPECT_NE(block->current_slot, current_slot());
    EXPECT_EQ(*block->current_slot, nullptr);
    EXPECT_GE(block->stack_top - block->stack_bottom, static_cast<std::ptrdiff_t>(stack_size));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block->stack_top) % 64, 0U);
    on_block([&](visit &) {
        EXPECT_EQ(tls_base(), block->base);
        EXPECT_EQ(current_slot(), block->current_slot);
        auto *here = static_cast<std::byte *>(__builtin_frame_address(0));
        EXPECT_TRUE(here < block->stack_top && here >= block->stack_bottom);
    });
    EXPECT_EQ(tls_base(), own);
}

TEST_P(tls_block_of, has_an_errno_of_its_own) {
    errno = EDOM;
    on_block([&](visit &) {
        EXPECT_EQ(errno, 0);
        errno = ERANGE;
    });
    EXPECT_EQ(errno, EDOM);
    on_block([&](visit &) { EXPECT_EQ(errno, ERANGE); });
}

TEST_P(tls_block_of, moves_between_kernel_threads_with_all_that_it_has) {
    static const pthread_key_t key = make_key();
    std::vector<int> kernel_ids;
    on_changing_threads([&](visit &v) {
        std::vector<std::string> kept;
        const pthread_t self = pthread_self();
        EXPECT_EQ(pthread_getspecific(key), nullptr);
        pthread_setspecific(key, &kept);
        for (int i = 0; i < 20; ++i) {
            kernel_ids.push_back(sys::kernel_thread_id());
            number = i;
            errno = i;
            kept.push_back(std::string(static_cast<std::size_t>(20 + i * 100), static_cast<char>('a' + i)));
            if (i % 3 == 2) kept.erase(kept.begin()); // allocated on one kernel thread, freed on another
            leave(v);
            EXPECT_EQ(errno, i);
            EXPECT_EQ(number, i);
            EXPECT_EQ(pthread_self(), self);
            EXPECT_EQ(pthread_getspecific(key), &kept);
            EXPECT_EQ(kept.back()[5], 'a' + i);
        }
        pthread_setspecific(key, nullptr);
    });
    for (std::size_t i = 1; i < kernel_ids.size(); ++i) EXPECT_NE(kernel_ids[i], kernel_ids[i - 1]);
}

TEST_P(tls_block_of, exceptions_fly_and_are_kept_while_it_moves) {
    on_changing_threads([&](visit &v) {
        for (int i = 0; i < 5; ++i) {
            try {
                throw std::runtime_error("first");
            } catch (const std::exception &first) {
                leave(v);
                EXPECT_STREQ(first.what(), "first");
                try {
                    throw i;
                } catch (int second) {
                    leave(v);
                    EXPECT_EQ(second, i);
                }
                EXPECT_STREQ(first.what(), "first");
                EXPECT_NE(std::current_exception(), nullptr);
            }
            EXPECT_EQ(std::current_exception(), nullptr);
        }
    });
}

TEST_P(tls_block_of, a_recursive_mutex_belongs_to_the_context_not_to_the_kernel_thread) {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_t mutex;
    pthread_mutex_init(&mutex, &attributes);
    on_changing_threads([&](visit &v) {
        EXPECT_EQ(pthread_mutex_lock(&mutex), 0);
        leave(v);
        EXPECT_EQ(pthread_mutex_trylock(&mutex), 0);
        leave(v);
        int others = 0;
        std::thread([&] { others = pthread_mutex_trylock(&mutex); }).join();
        EXPECT_EQ(others, EBUSY);
        EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
        EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
    });
    EXPECT_EQ(pthread_mutex_trylock(&mutex), 0);
    pthread_mutex_unlock(&mutex);
    pthread_mutex_destroy(&mutex);
}

TEST_P(tls_block_of, the_c_library_works_there) {
    on_changing_threads([&](visit &v) {
        EXPECT_TRUE(std::isalpha('a') && std::toupper('b') == 'B' && !std::isdigit('c'));
        EXPECT_EQ(std::strtod("2.5e3", nullptr), 2500.0);
        char buffer[64];
        std::snprintf(buffer, sizeof buffer, "%.3f %s", 1.5, std::strerror(ENOENT));
        EXPECT_STREQ(buffer, "1.500 No such file or directory");
        std::vector<void *> blocks;
        for (std::size_t i = 0; i < 400; ++i) {
            blocks.push_back(std::malloc(i * 97 + 1));
            std::memset(blocks.back(), 1, i * 97 + 1);
            if (i % 50 == 0) leave(v);
        }
        for (void *b : blocks) std::free(b);
        int signalled = 0;
        static std::atomic<int> *seen = nullptr;
        std::atomic<int> count{0};
        seen = &count;
        signal(SIGUSR1, [](int) { ++*seen; });
        signalled = raise(SIGUSR1);
        EXPECT_EQ(signalled, 0);
        EXPECT_EQ(count.load(), 1);
        signal(SIGUSR1, SIG_DFL);
    });
}

TEST_P(tls_block_of, the_core_is_that_of_the_kernel_thread_that_runs) {
    cpu_set_t before;
    ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
    std::vector<int> cores;
    for (int i = 0; i < CPU_SETSIZE; ++i)
        if (CPU_ISSET(i, &before)) cores.push_back(i);
    on_block([&](visit &) {
        for (const int core : cores) {
            cpu_set_t only;
            CPU_ZERO(&only);
            CPU_SET(core, &only);
            ASSERT_EQ(sched_setaffinity(0, sizeof only, &only), 0);
            EXPECT_EQ(sched_getcpu(), core);
        }
    });
    sched_setaffinity(0, sizeof before, &before);
}

TEST_P(tls_block_of, destructors_of_its_variables_run_when_it_is_freed) {
    on_block([&](visit &) { counts_its_end.value = 2; });
    const int before = destroyed;
    free_tls_block(block);
    block = nullptr;
    EXPECT_EQ(destroyed, before + 1);
}

TEST_P(tls_block_of, it_may_make_and_join_threads) {
    on_changing_threads([&](visit &v) {
        int seen = 0;
        std::thread made([&] { seen = number + 1; });
        leave(v);
        made.join();
        EXPECT_EQ(seen, 8);
    });
}

TEST_P(tls_block_of, a_fork_on_it_leaves_a_child_that_works) {
    on_block([&](visit &) {
        const pid_t child = fork();
        if (child == 0) {
            tls_after_fork(block);
            std::vector<std::string> strings(100, std::string(1000, 'x'));
            int thread_ran = tls_sanitized; // ThreadSanitizer lets a forked child make no threads
            if (!thread_ran) std::thread([&] { thread_ran = 1; }).join();
            try {
                throw strings.size();
            } catch (std::size_t size) {
                _exit(size == 100 && thread_ran == 1 && strings[99][999] == 'x' ? 0 : 1);
            }
        }
        int status = -1;
        EXPECT_EQ(waitpid(child, &status, 0), child);
        EXPECT_EQ(status, 0);
    });
}

TEST_P(tls_block_of, a_forked_child_frees_what_its_parent_had_and_makes_its_own) {
    if (tls_sanitized) GTEST_SKIP() << "ThreadSanitizer lets a forked child make no threads";
    const pid_t child = fork();
    if (child == 0) {
        tls_after_fork(nullptr);
        free_tls_block(block); // its kernel thread is not here: must not wait for it
        int error = 0;
        block = make(error);
        if (!block) _exit(2);
        int seen = 0;
        on_block([&](visit &) { seen = number; });
        free_tls_block(block);
        _exit(seen == 7 ? 0 : 1);
    }
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
}

TEST_P(tls_block_of, a_child_may_exit_on_the_block_it_was_forked_on) {
    if (tls_sanitized) GTEST_SKIP() << "the sanitizers look for every thread of the parent when the child exits";
    on_block([&](visit &) {
        const pid_t child = fork();
        if (child == 0) {
            tls_after_fork(block);
            std::exit(3);
        }
        int status = -1;
        EXPECT_EQ(waitpid(child, &status, 0), child);
        EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 3);
    });
}

INSTANTIATE_TEST_SUITE_P(, tls_block_of, testing::Values(tls_provider::donor, tls_provider::glibc),
                         [](const auto &info) { return info.param == tls_provider::donor ? "donor" : "glibc"; });
