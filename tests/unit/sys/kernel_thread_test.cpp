#include "sys/kernel_thread.hpp"

#include <atomic>
#include <cerrno>
#include <cstring>

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "sys/clock.hpp"
#include "sys/futex.hpp"
#include "sys/memory.hpp"

using namespace comity::sys;

namespace {

struct shared {
    std::atomic<std::uint32_t> state{0}; // 1 started, 2 may end, 3 ended
    int id = 0;
    sigset_t mask{};
    std::size_t stack_size = 0;
    char name[16] = "";

    void wait_until(std::uint32_t wanted) {
        for (std::uint32_t seen = 0; (seen = state.load()) < wanted;) (void)futex_wait(state, seen);
    }
    void set(std::uint32_t value) {
        state = value;
        futex_wake_all(state);
    }
};

void *look_around(void *argument) {
    auto &s = *static_cast<shared *>(argument);
    s.id = kernel_thread_id();
    pthread_sigmask(SIG_SETMASK, nullptr, &s.mask);
    pthread_attr_t attributes;
    pthread_getattr_np(pthread_self(), &attributes);
    pthread_attr_getstacksize(&attributes, &s.stack_size);
    pthread_attr_destroy(&attributes);
    name_kernel_thread("a-name-that-is-far-too-long");
    pthread_getname_np(pthread_self(), s.name, sizeof s.name);
    s.set(1);
    s.wait_until(2);
    s.set(3);
    return nullptr;
}

} // namespace

TEST(kernel_thread, takes_no_signal_but_faults_and_has_the_stack_asked_for) {
    static shared s;
    ASSERT_EQ(start_kernel_thread(look_around, &s, 300'001), 0);
    s.wait_until(1);
    EXPECT_NE(s.id, kernel_thread_id());
    EXPECT_TRUE(sigismember(&s.mask, SIGINT));
    EXPECT_TRUE(sigismember(&s.mask, SIGALRM));
    EXPECT_FALSE(sigismember(&s.mask, SIGSEGV));
    EXPECT_GE(s.stack_size, 300'001U);
    EXPECT_LT(s.stack_size, 600'000U);
    EXPECT_STREQ(s.name, "a-name-that-is-");
    sigset_t own;
    pthread_sigmask(SIG_SETMASK, nullptr, &own);
    EXPECT_FALSE(sigismember(&own, SIGINT));
    s.set(2);
    s.wait_until(3);
}

TEST(kernel_thread, cpu_time_of_a_busy_thread_grows_and_of_a_missing_one_is_unknown) {
    const int id = kernel_thread_id();
    EXPECT_EQ(id, getpid());
    const std::int64_t before = thread_cpu_ns(id);
    ASSERT_GE(before, 0);
    for (const std::int64_t end = now_ns() + 20'000'000; now_ns() < end;) cpu_relax();
    EXPECT_GT(thread_cpu_ns(id), before);
    errno = EDOM;
    EXPECT_EQ(thread_cpu_ns(4'000'000), -1);
    EXPECT_EQ(errno, EDOM);
}

TEST(kernel_thread, a_size_that_no_memory_holds_is_an_error) {
    static shared s;
    EXPECT_NE(start_kernel_thread(look_around, &s, std::size_t{1} << 62), 0);
}

TEST(clock, ticks_and_time_go_forward) {
    const std::int64_t time = now_ns();
    const std::uint64_t tick = ticks();
    while (now_ns() < time + 1'000'000) cpu_relax();
    EXPECT_GT(ticks(), tick);
}

TEST(kernel_thread, runs_on_the_callers_memory_with_its_variables_there) {
    stack_memory stack = map_stack(kernel_thread_overhead() + 64 * 1024);
    ASSERT_TRUE(stack);
    struct seen {
        void *frame = nullptr, *variable = nullptr;
        bool sequences = false;
        int core = -1;
    } s;
    joinable_thread thread = 0;
    const auto look = [](void *argument) -> void * {
        static thread_local int variable = 0;
        auto &s = *static_cast<seen *>(argument);
        s.frame = __builtin_frame_address(0);
        s.variable = &variable;
        void *base = nullptr;
#if defined(__x86_64__)
        asm volatile("movq %%fs:0, %0" : "=r"(base));
#else
        asm volatile("mrs %0, tpidr_el0" : "=r"(base));
#endif
        s.sequences = unregister_restartable_sequences(base);
        s.core = sched_getcpu();
        return nullptr;
    };
    ASSERT_EQ(start_kernel_thread_on(stack.bottom, stack.top, look, &s, thread), 0);
    join_kernel_thread(thread);
    EXPECT_TRUE(s.frame > stack.bottom && s.frame < stack.top);
    EXPECT_TRUE(s.variable > stack.bottom && s.variable < stack.top);
    EXPECT_TRUE(s.sequences);
    EXPECT_GE(s.core, 0);
    unmap_stack(stack);
}

TEST(kernel_thread, memory_that_is_too_small_is_refused) {
    alignas(64) char memory[1024];
    joinable_thread thread = 1;
    EXPECT_EQ(start_kernel_thread_on(memory, memory + sizeof memory, look_around, nullptr, thread), EINVAL);
    EXPECT_EQ(thread, 0U);
}
