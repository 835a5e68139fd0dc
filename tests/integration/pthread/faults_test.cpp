// Handlers of faults on threads' own signal stacks. On Comity's threads and on the C library's.
#include "start.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <csetjmp>
#include <csignal>
#include <cstddef>
#include <memory>
#include <optional>

#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

constexpr std::size_t signal_stack_size = 64 * 1024;
thread_local std::byte *signal_stack = nullptr;
thread_local sigjmp_buf out;
thread_local int on_it = 0;        // how often a handler ran there
thread_local char *page = nullptr; // which a handler opens
std::atomic<int> wrong{0};

bool is_on_signal_stack() {
    const auto *here = static_cast<std::byte *>(__builtin_frame_address(0));
    return signal_stack && here >= signal_stack && here < signal_stack + signal_stack_size;
}

// A signal stack of the calling thread's, while it lives.
class own_signal_stack {
public:
    own_signal_stack() : memory_(new std::byte[signal_stack_size]) {
        signal_stack = memory_.get();
        stack_t to{};
        to.ss_sp = signal_stack;
        to.ss_size = signal_stack_size;
        EXPECT_EQ(0, sigaltstack(&to, &before_));
    }
    ~own_signal_stack() {
        if (before_.ss_flags & SS_DISABLE) before_.ss_size = signal_stack_size;
        EXPECT_EQ(0, sigaltstack(&before_, nullptr));
    }

private:
    std::unique_ptr<std::byte[]> memory_;
    stack_t before_{};
};

class fault_handler {
public:
    explicit fault_handler(void (*f)(int, siginfo_t *, void *), int flags = SA_ONSTACK) {
        struct sigaction a {};
        a.sa_sigaction = f;
        a.sa_flags = SA_SIGINFO | flags;
        sigaction(SIGSEGV, &a, &before_);
        struct sigaction now {};
        sigaction(SIGSEGV, nullptr, &now);
        EXPECT_EQ(f, now.sa_sigaction);
        EXPECT_EQ(SA_SIGINFO | flags, now.sa_flags & (SA_SIGINFO | SA_ONSTACK | SA_NODEFER));
    }
    ~fault_handler() { sigaction(SIGSEGV, &before_, nullptr); }

private:
    struct sigaction before_ {};
};

__attribute__((noinline)) int overflow(volatile char *above) {
    volatile char here[4096];
    here[0] = *above;
    if (here[0] == 1) return 0; // never
    return overflow(here) + here[0];
}

template <class F> void in_three_threads_and_main(F f) {
    std::array<pthread_t, 3> threads{};
    for (pthread_t &t : threads) t = start(f);
    for (const pthread_t t : threads) pthread_join(t, nullptr);
    f();
}

} // namespace

TEST(faults, overflows_are_handled_on_the_threads_signal_stack) {
    wrong = 0;
    const fault_handler h([](int, siginfo_t *, void *) {
        on_it += is_on_signal_stack();
        stack_t now{};
        sigaltstack(nullptr, &now);
        const stack_t none{nullptr, SS_DISABLE, 0};
        wrong += now.ss_sp != signal_stack || now.ss_flags != SS_ONSTACK;
        wrong += sigaltstack(&none, nullptr) != -1 || errno != EPERM;
        usleep(100); // it may go on elsewhere
        wrong += !is_on_signal_stack();
        siglongjmp(out, 1);
    });
    auto f = [] {
        const own_signal_stack s;
        on_it = 0;
        volatile int n = 0;
        sigsetjmp(out, 1);
        usleep(100);
        n = n + 1;
        volatile char c = 0;
        if (n <= 5) overflow(&c);
        EXPECT_EQ(5, on_it);
        stack_t now{};
        sigaltstack(nullptr, &now);
        EXPECT_EQ(signal_stack, now.ss_sp);
        EXPECT_EQ(0, now.ss_flags);
    };
    in_three_threads_and_main(f);
    EXPECT_EQ(0, wrong);
}

// As a garbage collector's barrier does: the instruction is done again, and all registers are as they were.
TEST(faults, are_mended_by_handlers_that_sleep) {
    const fault_handler h([](int, siginfo_t *, void *) {
        on_it += is_on_signal_stack();
        usleep(200);
        volatile double d = std::sqrt(2.0 + on_it);
        (void)d;
        mprotect(page, 4096, PROT_READ | PROT_WRITE);
    });
    auto f = [](bool on_own) {
        std::optional<own_signal_stack> s;
        if (on_own) s.emplace();
        on_it = 0;
        page = static_cast<char *>(mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        double sum = 0, products = 1;
        for (int i = 1; i <= 20; ++i) {
            mprotect(page, 4096, PROT_NONE);
            const double more = std::sqrt(i), factor = 1.0 + 1.0 / i;
            *const_cast<volatile char *>(page) = static_cast<char>(i);
            sum += more * more;
            products *= factor;
        }
        EXPECT_EQ(on_own ? 20 : 0, on_it);
        EXPECT_EQ(20, *page);
        EXPECT_NEAR(210, sum, 1e-9);
        EXPECT_NEAR(21, products, 1e-9);
        munmap(page, 4096);
        signal_stack = nullptr;
    };
    auto with = [f] { f(true); };
    auto without = [f] { f(false); };
    in_three_threads_and_main(with);
    in_three_threads_and_main(without);
}

// The thread's mask has it, and no other thread's.
TEST(faults, are_blocked_while_they_are_handled) {
    const fault_handler h([](int, siginfo_t *, void *) {
        sigset_t now;
        sigemptyset(&now);
        pthread_sigmask(SIG_BLOCK, nullptr, &now);
        wrong += sigismember(&now, SIGSEGV) != 1;
        usleep(100);
        siglongjmp(out, 1);
    });
    wrong = 0;
    auto f = [] {
        const own_signal_stack s;
        volatile int n = 0;
        volatile int *volatile nowhere = nullptr;
        sigsetjmp(out, 1);
        sigset_t now;
        sigemptyset(&now);
        pthread_sigmask(SIG_BLOCK, nullptr, &now);
        wrong += sigismember(&now, SIGSEGV) != 0;
        n = n + 1;
        if (n <= 20) *nowhere = 1;
    };
    in_three_threads_and_main(f);
    EXPECT_EQ(0, wrong);
}

TEST(faults, of_handlers_end_the_process) {
    const pid_t child = fork();
    if (child == 0) {
        const fault_handler h([](int, siginfo_t *, void *) {
            static std::atomic<int> times{0};
            if (++times == 5) _exit(5);
            volatile int *volatile nowhere = nullptr;
            *nowhere = 1;
        });
        auto f = [] {
            const own_signal_stack s;
            volatile int *volatile nowhere = nullptr;
            *nowhere = 1;
        };
        pthread_join(start(f), nullptr);
        _exit(0);
    }
    int status = -1;
    EXPECT_EQ(child, waitpid(child, &status, 0));
    EXPECT_TRUE(WIFSIGNALED(status));
    EXPECT_EQ(SIGSEGV, WTERMSIG(status));
}

TEST(handlers_of_faults, are_set_in_the_child_of_a_fork_beside_a_thread_that_sets_some) {
    static std::atomic<bool> over;
    over = false;
    static constexpr auto set_one = [] {
        struct sigaction a {};
        a.sa_handler = [](int) {};
        a.sa_flags = SA_ONSTACK;
        sigaction(SIGFPE, &a, nullptr);
    };
    auto sets = [] {
        while (!over) set_one();
    };
    const pthread_t t = start(sets);
    for (int i = 0; i < 3; ++i) {
        const pid_t child = fork();
        if (child == 0) {
            alarm(10);
            set_one();
            _exit(0);
        }
        int status = -1;
        EXPECT_EQ(child, waitpid(child, &status, 0));
        EXPECT_EQ(0, status);
        if (status != 0) break;
    }
    over = true;
    pthread_join(t, nullptr);
    signal(SIGFPE, SIG_DFL);
}
