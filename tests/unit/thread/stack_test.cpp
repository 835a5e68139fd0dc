// Threads on stacks of every size, also where the kernel lacks what Comity would like to use.
#include "comity/sync.hpp"
#include "comity/thread.hpp"

#include "../sanitizers.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace {

constexpr bool sanitized = thread_sanitizer || address_sanitizer;

__attribute__((noinline)) std::uintptr_t use(std::size_t bytes) {
    volatile char room[256];
    room[0] = 1;
    return bytes <= sizeof room ? static_cast<unsigned char>(room[0]) : use(bytes - sizeof room) + room[0];
}

template <std::size_t Frame> __attribute__((noinline)) int overflow_by(int depth) {
    volatile char room[Frame];
    room[0] = static_cast<char>(depth);
    return depth < 0 ? 0 : overflow_by<Frame>(depth + 1) + room[0]; // never
}
int overflow(int depth) { return overflow_by<512>(depth); }

// All madvise calls with this advice fail with EINVAL, as on a kernel that does not know it.
bool forbid_advice(std::uint32_t advice) {
    sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[2])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, advice, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const sock_fprog filter{sizeof program / sizeof *program, program};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

class thread_stacks : public testing::TestWithParam<comity_technique_t> {
public:
    static std::vector<comity::thread> make(std::size_t n, std::size_t stack_size, void (*fn)()) {
        std::vector<comity::thread> threads;
        for (std::size_t i = 0; i < n; ++i)
            threads.emplace_back(comity::thread::attributes{.technique = static_cast<comity::technique>(GetParam()),
                                                            .stack_size = stack_size},
                                 fn);
        return threads;
    }
};
INSTANTIATE_TEST_SUITE_P(each, thread_stacks,
                         testing::Values(COMITY_TECHNIQUE_FULL, COMITY_TECHNIQUE_FULL_L, COMITY_TECHNIQUE_ROC,
                                         COMITY_TECHNIQUE_ROC_L, COMITY_TECHNIQUE_SS, COMITY_TECHNIQUE_SS_L,
                                         COMITY_TECHNIQUE_SC, COMITY_TECHNIQUE_C_FULL, COMITY_TECHNIQUE_C_FULL_E,
                                         COMITY_TECHNIQUE_C_ROC, COMITY_TECHNIQUE_C_ROC_E));

// Threads that wait until this ends. In a scope of threads.
class parked_threads {
public:
    parked_threads(int n, std::size_t stack_size) {
        for (int i = 0; i < n; ++i)
            threads_.emplace_back(comity::thread::attributes{.stack_size = stack_size}, [this] {
                ++arrived_;
                end_.wait();
            });
        while (arrived_ != n) comity::this_thread::yield();
    }
    ~parked_threads() {
        end_.set();
        threads_.clear();
    }

private:
    std::vector<comity::thread> threads_;
    std::atomic<int> arrived_{0};
    comity::event end_;
};

class thread_stacks_death : public testing::Test {
protected:
    void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

} // namespace

TEST_P(thread_stacks, of_every_size_hold_what_was_asked_for) {
    const comity::threads scope;
    for (const std::size_t size : {2048UL, 4096UL, 10'000UL, 16384UL, 65536UL, 1UL << 20, 100UL << 20})
        for (comity::thread &t : make(3, size, [] {
                 comity::this_thread::yield();
                 use(600);
                 comity::this_thread::yield();
             }))
            t.join();
    for (comity::thread &t : make(3, 65536, [] { use(60'000); })) t.join();
}

TEST_P(thread_stacks, that_are_small_serve_thousands_that_stop_again_and_again) {
    const comity::threads scope;
    static comity::mutex m;
    static int sum;
    sum = 0;
    for (comity::thread &t : make(5000, 2048, [] {
             for (int i = 0; i < 3; ++i) {
                 m.lock();
                 ++sum;
                 comity::this_thread::yield();
                 m.unlock();
             }
         }))
        t.join();
    EXPECT_EQ(sum, 15'000);
}

// Zero means the default; what is too little for a thread to stop on is made enough.
TEST_P(thread_stacks, of_no_or_hardly_any_size_are_made_large_enough) {
    const comity::threads scope;
    for (const std::size_t size : {0UL, 1UL, 15UL, 500UL})
        for (comity::thread &t : make(3, size, [] {
                 comity::this_thread::yield();
                 use(300);
                 comity::this_thread::yield();
             }))
            t.join();
}

TEST_P(thread_stacks, of_no_possible_size_are_an_error) {
    comity_thread_t *t = nullptr;
    for (const std::size_t size : {SIZE_MAX, SIZE_MAX / 2, std::size_t{1} << 50}) {
        comity_thread_attr_t a{};
        a.technique = GetParam();
        a.stack_size = size;
        const int error = comity_thread_create(
            &t, &a, [](void *p) { return p; }, nullptr);
        EXPECT_TRUE(error == ENOMEM || error == EINVAL) << error;
    }
}

TEST_P(thread_stacks, of_a_joiner_are_not_used_for_more_than_they_have) {
    for (comity::thread &t : make(20, 16384, [] {
             comity::thread({}, [] { use(100'000); }).join(); // a default stack has room for that
         }))
        t.join();
}

TEST_F(thread_stacks_death, an_overflow_is_named) {
    if (sanitized) GTEST_SKIP() << "it names it in its own way";
    EXPECT_EXIT(comity::thread({.stack_size = 20'000}, [] { overflow(0); }).join(), testing::KilledBySignal(SIGSEGV),
                "comity: stack overflow in context [0-9]+, which has ");
}

TEST_F(thread_stacks_death, a_fault_that_is_sent_ends_the_process_too) {
    if (sanitized) GTEST_SKIP() << "it has a handler of its own";
    EXPECT_EXIT((comity::thread([] {}).join(), kill(getpid(), SIGSEGV), sleep(1), _exit(0)),
                testing::KilledBySignal(SIGSEGV), "^$");
    EXPECT_EXIT(comity::thread([] { raise(SIGSEGV), _exit(0); }).join(), testing::KilledBySignal(SIGSEGV), "^$");
}

// Where the first thread's stack has no limit, or a large one, an overflow would take all memory.
void limit_first_stack() {
    rlimit limit{};
    getrlimit(RLIMIT_STACK, &limit);
    limit.rlim_cur = std::min<rlim_t>(limit.rlim_cur, 8 << 20);
    setrlimit(RLIMIT_STACK, &limit);
}

// For the processes of death tests that begin while it lives.
class one_hart {
public:
    one_hart() { setenv("COMITY_HARTS", "1", 1); }
    ~one_hart() { before_ ? setenv("COMITY_HARTS", before_->c_str(), 1) : unsetenv("COMITY_HARTS"); }

private:
    static std::optional<std::string> given() {
        const char *text = std::getenv("COMITY_HARTS");
        return text ? std::optional<std::string>(text) : std::nullopt;
    }
    std::optional<std::string> before_ = given();
};

// Who joins a thread that has not begun runs it on its own stack.
TEST_F(thread_stacks_death, an_overflow_on_the_stack_of_who_joins_is_named) {
    if (sanitized) GTEST_SKIP() << "it names it in its own way";
    limit_first_stack();
    const one_hart nobody_else_takes_it;
    const auto deep = [] { overflow(0); };
    const char *of_first =
        "comity: stack overflow on the stack of the program's first thread, in a thread that it joins; ";
    EXPECT_EXIT(comity::thread(deep).join(), testing::KilledBySignal(SIGSEGV), of_first);
    EXPECT_EXIT(comity::thread([] { overflow_by<60'000>(0); }).join(), testing::KilledBySignal(SIGSEGV), of_first);
    EXPECT_EXIT(comity::thread({.name = "deep one"}, deep).join(), testing::KilledBySignal(SIGSEGV),
                "in a thread that it joins \\(.deep one.\\); set `ulimit -s` higher");
    for (void (*const fn)() : {+deep, +[] { overflow_by<60'000>(0); }})
        EXPECT_EXIT(std::thread([fn] { comity::thread(fn).join(); }).join(), testing::KilledBySignal(SIGSEGV),
                    "stack overflow on the stack of a thread of the program's own, in a thread that it joins; ");
    EXPECT_EXIT((comity::thread([] {}).join(), overflow(0)), testing::KilledBySignal(SIGSEGV),
                "stack overflow on the stack of the program's first thread; ");
}

TEST_F(thread_stacks_death, another_fault_is_no_overflow) {
    if (sanitized) GTEST_SKIP() << "it names it in its own way";
    for (const std::uintptr_t address : {std::uintptr_t{16}, reinterpret_cast<std::uintptr_t>(&overflow_by<512>)})
        EXPECT_EXIT(comity::thread([address] { *reinterpret_cast<volatile int *>(address) = 1; }).join(),
                    testing::KilledBySignal(SIGSEGV), "^$");
}

// A guard of a single page would be jumped over: nothing of this frame is touched but its ends.
TEST_F(thread_stacks_death, an_overflow_by_large_frames_is_named) {
    if (sanitized) GTEST_SKIP() << "it names it in its own way";
    for (const std::size_t size : {64UL << 10, 256UL << 10})
        EXPECT_EXIT(comity::thread({.stack_size = size}, [] { overflow_by<6000>(0); }).join(),
                    testing::KilledBySignal(SIGSEGV), "comity: stack overflow in context [0-9]+, which has ")
            << size;
}

TEST_F(thread_stacks_death, an_overflow_has_the_name_of_the_thread) {
    if (sanitized) GTEST_SKIP() << "it names it in its own way";
    EXPECT_EXIT(comity::thread({.stack_size = 20'000, .name = "deep one"}, [] { overflow(0); }).join(),
                testing::KilledBySignal(SIGSEGV),
                "comity: stack overflow in context [0-9]+ \\(.deep one.\\), which has ");
}

TEST_F(thread_stacks_death, an_overflow_of_a_small_one_is_named) {
    if (sanitized) GTEST_SKIP() << "there are no small stacks";
    EXPECT_DEATH(
        {
            const comity::threads scope;
            parked_threads neighbours(3, 2048); // one of them lies below
            comity::thread({.stack_size = 2048}, [] {
                // a little over its own end, as a signal's frame or a large array would
                volatile char *here = static_cast<char *>(__builtin_frame_address(0));
                for (std::ptrdiff_t i = 256; i < 2150; ++i) here[-i] = 1;
            }).join();
        },
        "stack overflow: context [0-9]+ used more than its small stack");
}

#ifndef NDEBUG
TEST_F(thread_stacks_death, an_overflow_of_a_small_one_is_noticed_when_the_thread_stops) {
    if (sanitized) GTEST_SKIP() << "there are no small stacks";
    EXPECT_DEATH(
        {
            const comity::threads scope;
            parked_threads neighbours(3, 2048);
            const comity::thread runaway({.stack_size = 2048}, [] {
                volatile char *here = static_cast<char *>(__builtin_frame_address(0));
                for (std::ptrdiff_t i = 256; i < 2150; ++i) here[-i] = 1;
                comity::this_thread::yield();
                _exit(0);
            });
            for (;;) comity::this_thread::yield(); // so that there is somebody to give way to
        },
        "stack overflow: context [0-9]+ used more than its small stack");
}
#endif

TEST_F(thread_stacks_death, a_runaway_from_the_lowest_small_one_is_named) {
    if (sanitized) GTEST_SKIP() << "there are no small stacks";
    EXPECT_EXIT(comity::thread({.stack_size = 2048}, [] { overflow(0); }).join(), testing::KilledBySignal(SIGSEGV),
                "comity: stack overflow in context [0-9]+");
}

TEST_F(thread_stacks_death, without_light_guards_threads_have_mapped_ones) {
    if (sanitized) GTEST_SKIP() << "the sanitizers' own calls are filtered too";
    EXPECT_EXIT(
        {
            if (!forbid_advice(102)) _exit(9);
            {
                const comity::threads scope;
                parked_threads parked(300, 16384);
            }
            std::FILE *f = std::fopen("/proc/self/maps", "r");
            int lines = 0;
            for (int c = 0; (c = std::getc(f)) != EOF;) lines += c == '\n';
            if (lines < 300) _exit(1); // 300 stacks, each with a guard that is a mapping
            comity::thread({.stack_size = 16384}, [] { overflow(0); }).join();
        },
        testing::KilledBySignal(SIGSEGV), "comity: stack overflow in context");
}
