// Sleeping: the hart goes on with others. And giving way.
#include "comity/scheduler.h"
#include "core/carrier.hpp"
#include "core/sched.hpp"
#include "personality/pthread/threads/sleeping_call.hpp"
#include "personality/pthread/threads/thread.hpp"
#include "sys/kernel_thread.hpp"

#include <algorithm>

#include <unistd.h>

namespace comity::posix {

namespace {

COMITY_NEXT_SYMBOL next<unsigned (*)(unsigned)> next_sleep{"sleep"};
COMITY_NEXT_SYMBOL next<decltype(::usleep) *> next_usleep{"usleep"};
COMITY_NEXT_SYMBOL next<int (*)(const timespec *, timespec *)> next_nanosleep{"nanosleep"};
COMITY_NEXT_SYMBOL next<int (*)(clockid_t, int, const timespec *, timespec *)> next_clock_nanosleep{"clock_nanosleep"};

// Is it one of our threads, or the first one, whose signals we deliver, or does it hold a hart that others can use? So
// does a rank of a region; but the thread that opened it is the program's, whose sleep a handler ends.
bool sleeps_here() noexcept {
    if (is_amid_comity() || core::stays_in_handler || (!current_thread && core::is_in_handler_amid_comity()))
        return false;
    (void)habit::before_wait();
    if (receiver_here()) return true;
    const core::context *c = core::current_context();
    return c && c->on->carried && (comity_scheduler_self() || !c->home);
}

// A sleep in the kernel until a time of its own, so that it ends no later where it has begun anew.
struct kernels_sleep {
    timespec until, limit;
    int operator()() { // the first thread may be cancelled in it
        const int error = next_clock_nanosleep.get()(CLOCK_MONOTONIC, TIMER_ABSTIME, &limit, nullptr);
        return error == 0 ? 0 : (errno = error, -1);
    }
};
timespec *limit_of(kernels_sleep &s) noexcept { return s.limit = s.until, &s.limit; }

// Is the caller in the scheduler of threads itself, and not in a region below?
bool is_among_threads() noexcept {
    const comity_scheduler_t *s = comity_scheduler_self();
    return s && s == the_scheduler();
}

// The program's first thread: as one of the scheduler's, in a region, or without a hart. Its hart must not go on with
// another thread on its kernel thread, which would have to be moved off that to end the sleep in time. So it goes on on
// a worker's, if others want it, and else is kept.
bool first_sleeps_until(std::int64_t deadline) {
    const bool may_leave = is_among_threads();
    if (may_leave && core::is_hart_wanted()) (void)core::go_without_hart();
    const timespec until{deadline / 1'000'000'000, deadline % 1'000'000'000};
    return if_it_sleeps(true, kernels_sleep{until, until}, {after_handler::ends, may_leave}) == 0;
}

// True: until then; false: a handler has run.
bool sleep_until(std::int64_t deadline) {
    receiver *r = receiver_here();
    if (r && !current_thread) return first_sleeps_until(deadline);
    test_cancel();
    if (r) {
        const auto never = []() noexcept { return false; };
        const std::uint32_t seen = r->handled;
        const std::int64_t now = sys::now_ns();
        if (deadline <= now) return sched_yield(), true;
        // It does not spin, since nothing comes before its time but signals; and it is no shorter than it takes to
        // begin: who polls with the shortest sleeps would keep a core busy, where the kernel adds 50 us to each, as
        // here the timers' wait does.
        constexpr std::int64_t shortest = 5'000;
        const signalled_wait e = wait_or_signal<true>(&r->awaits, never, std::max(deadline, now + shortest), false);
        act_upon(e);
        return r->handled == seen;
    }
    if (comity_thread_sleep_until(deadline) == ECANCELED) act_upon(signalled_wait::cancelled);
    return true;
}

// Who spins at a lock by such calls may wait for a thread without a hart, which the kernel lets run. Two that spin
// would give a hart to each other and keep the core from it for as long as the kernel's own time slice.
constexpr unsigned yields_for_the_kernel = 32;
__thread unsigned yields __attribute__((tls_model("initial-exec"))) = 0; // the thread's

int interrupted(std::int64_t deadline, timespec *left) noexcept {
    if (left) {
        const std::int64_t ns = deadline - sys::now_ns();
        *left = {ns > 0 ? ns / 1'000'000'000 : 0, ns > 0 ? ns % 1'000'000'000 : 0};
    }
    return EINTR;
}

} // namespace
} // namespace comity::posix

using namespace comity::posix;

// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): glibc's names are reserved ones

COMITY_INTERPOSED int clock_nanosleep(clockid_t clock, int flags, const timespec *time, timespec *left) {
    if (!sleeps_here() || !is_clock(clock)) return next_clock_nanosleep.get()(clock, flags, time, left);
    if (!is_time(time) || time->tv_sec < 0) return EINVAL;
    const bool absolute = flags & TIMER_ABSTIME;
    const std::int64_t deadline = absolute ? deadline_of(clock, *time) : comity::sys::deadline_in(nanoseconds(*time));
    return sleep_until(deadline) ? 0 : interrupted(deadline, absolute ? nullptr : left);
}
COMITY_INTERPOSED int nanosleep(const timespec *time, timespec *left) {
    if (!sleeps_here()) return next_nanosleep.get()(time, left);
    const int error = clock_nanosleep(CLOCK_MONOTONIC, 0, time, left);
    if (error == 0) return 0;
    errno = error;
    return -1;
}
COMITY_INTERPOSED int usleep(useconds_t us) {
    if (!sleeps_here()) return next_usleep.get()(us);
    if (sleep_until(comity::sys::deadline_in(std::int64_t{us} * 1000))) return 0;
    errno = EINTR;
    return -1;
}
COMITY_INTERPOSED unsigned sleep(unsigned seconds) {
    if (!sleeps_here()) return next_sleep.get()(seconds);
    const std::int64_t deadline = comity::sys::deadline_in(std::int64_t{seconds} * 1'000'000'000);
    timespec left{};
    if (sleep_until(deadline)) return 0;
    interrupted(deadline, &left);
    return static_cast<unsigned>(left.tv_sec);
}
COMITY_INTERPOSED int sched_yield() noexcept {
    const bool is_turn = ++yields % yields_for_the_kernel == 0;
    if (is_turn) give_way_to_threads();
    if (!comity::core::let_others_run() || is_turn) comity::sys::yield_kernel_thread();
    deliver_here(); // a loop of such calls is seldom found outside of them
    return 0;
}
// The header makes another name of it.
COMITY_INTERPOSED int comity_pthread_yield() noexcept asm("pthread_yield");
int comity_pthread_yield() noexcept { return sched_yield(); }

COMITY_ALSO_NAMED(__sched_yield, sched_yield);
COMITY_ALSO_NAMED(__nanosleep, nanosleep);

// NOLINTEND(readability-inconsistent-declaration-parameter-name)
