// Frames of interrupted code, by single steps through code that throws, switches stacks by a jump, and calls the C
// library: at each instruction, also the unwinder's own.
#include "sys/call_frames.hpp"
#include "sys/sanitized.hpp"

#include <csetjmp>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

using namespace comity::sys;

#if defined(__x86_64__)

namespace {

constexpr greg_t steps = 0x100; // the flag by which the processor traps after each instruction

struct counts {
    long instructions, outermost, unwinds, not_known, without_outer, may_return;
} count;
std::uintptr_t outer_function;
volatile bool is_over = false;

bool is_outer(std::uintptr_t code) noexcept { return code - outer_function < 256; }

void on_step(int, siginfo_t *, void *frame) {
    auto &flags = static_cast<ucontext_t *>(frame)->uc_mcontext.gregs[REG_EFL];
    if (is_over) return void(flags &= ~steps);
    ++count.instructions;
    bool met = false;
    frame_place rest;
    const frames_end end = visit_call_frames(
        interruption_at(frame),
        [](const call_frame &f, void *argument) {
            *static_cast<bool *>(argument) |= f.function == outer_function;
            return true;
        },
        &met, rest);
    if (end == frames_end::unwinds) return void(++count.unwinds);
    ++(end == frames_end::outermost ? count.outermost : count.not_known);
    if (met) return;
    ++count.without_outer;
    count.may_return += end == frames_end::not_known && may_return_between(rest.sp, UINTPTR_MAX, is_outer);
}

struct counted {
    volatile int &n;
    ~counted() { n = n + 1; }
};
[[gnu::noinline]] void throws_at(int depth, volatile int &n) {
    const counted c{n};
    if (depth == 0) throw depth;
    throws_at(depth - 1, n);
    asm volatile("");
}
void throw_and_catch() {
    volatile int n = 0;
    try {
        throws_at(3, n);
    } catch (int) {
        n = n + 1;
    }
    EXPECT_EQ(n, 5);
}

std::jmp_buf there;
[[gnu::noinline]] void jump() { std::longjmp(there, 1); }
void set_and_jump() {
    if (setjmp(there) == 0) jump();
}

void sort() {
    int of[20];
    for (int i = 0; i < 20; ++i) of[i] = 7 * i % 20;
    std::qsort(of, 20, sizeof *of, [](const void *a, const void *b) {
        return *static_cast<const int *>(a) - *static_cast<const int *>(b);
    });
    EXPECT_EQ(of[3], 3);
    std::free(std::malloc(100'000));
}

[[gnu::noinline]] void outer(void (*what)()) {
    asm volatile("pushfq; orq $0x100, (%%rsp); popfq" ::: "memory", "cc");
    what();
    is_over = true;
    asm volatile("");
}

counts step_through(void (*what)()) {
    if (sanitized) return {};
    what(); // what is bound and allocated at the first time is no matter
    struct sigaction a {
    }, before{};
    a.sa_sigaction = on_step;
    a.sa_flags = SA_SIGINFO;
    sigaction(SIGTRAP, &a, &before);
    count = {};
    is_over = false;
    outer_function = reinterpret_cast<std::uintptr_t>(&outer);
    outer(what);
    sigaction(SIGTRAP, &before, nullptr);
    return count;
}

} // namespace

TEST(call_frames, of_calls_are_met_at_each_instruction) {
    const counts c = step_through(sort);
    if (sanitized) GTEST_SKIP() << "a sanitizer's own code would be stepped through";
    EXPECT_GT(c.instructions, 1000);
    EXPECT_EQ(c.outermost, c.instructions);
    EXPECT_EQ(c.without_outer, 0);
}

TEST(call_frames, of_an_exceptions_unwinding_are_met_or_said_to_be_unknown) {
    const counts c = step_through(throw_and_catch);
    if (sanitized) GTEST_SKIP() << "a sanitizer's own code would be stepped through";
    EXPECT_GT(c.unwinds, 100);
    EXPECT_EQ(c.outermost + c.unwinds, c.instructions);
    EXPECT_EQ(c.without_outer, 0);
}

TEST(call_frames, of_a_jump_are_met_or_may_be_there) {
    const counts c = step_through(set_and_jump);
    if (sanitized) GTEST_SKIP() << "a sanitizer's own code would be stepped through";
    EXPECT_GT(c.outermost, 10);
    EXPECT_EQ(c.without_outer, c.may_return);
}

#endif

// ---- Handlers on the stack

namespace {

interruption found, interrupted;
bool is_found = false;
unsigned frames_looked_at = 0;

void look_for_handler(int, siginfo_t *, void *frame) {
    interrupted = interruption_at(frame);
    is_found = find_handler(found, frames_looked_at);
}

bool finds_in_handler(unsigned frames) {
    frames_looked_at = frames;
    is_found = false;
    raise(SIGUSR1);
    return is_found;
}

#if defined(__x86_64__)
// As the C library's, but no table tells of it.
asm(".pushsection .text\n"
    ".balign 64\n"
    "go_back_to_the_kernel: mov $15, %rax\n"
    "syscall\n"
    ".balign 64\n"
    ".popsection");
extern "C" void go_back_to_the_kernel();
#endif

} // namespace

TEST(handler, is_found_on_the_stack_where_there_is_one) {
    constexpr unsigned enough = 16;
    struct sigaction a {
    }, before{};
    a.sa_sigaction = look_for_handler;
    a.sa_flags = SA_SIGINFO;
    sigaction(SIGUSR1, &a, &before);
    interruption none{};
    EXPECT_FALSE(find_handler(none, enough));
    EXPECT_TRUE(finds_in_handler(enough));
    EXPECT_EQ(found.frame, interrupted.frame);
    EXPECT_EQ(found.pc, interrupted.pc);
    EXPECT_FALSE(finds_in_handler(1)); // find_handler has been called by the handler
    sigaction(SIGUSR1, &before, nullptr);
}

#if defined(__x86_64__)
TEST(handler, is_found_where_no_table_tells_of_the_way_back) {
    struct {
        void (*handler)(int, siginfo_t *, void *);
        unsigned long flags;
        void (*restorer)();
        unsigned long mask;
    } kernels{look_for_handler, SA_SIGINFO | 0x04000000 /* SA_RESTORER */, go_back_to_the_kernel, 0};
    struct sigaction before {};
    sigaction(SIGUSR1, nullptr, &before);
    ASSERT_EQ(syscall(SYS_rt_sigaction, SIGUSR1, &kernels, nullptr, sizeof kernels.mask), 0);
    EXPECT_TRUE(finds_in_handler(16));
    EXPECT_EQ(found.frame, interrupted.frame);
    EXPECT_EQ(found.pc, interrupted.pc);
    sigaction(SIGUSR1, &before, nullptr);
}

#endif
