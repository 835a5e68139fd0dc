// What this preload object puts before the C library. Each function may be called before any constructor has run, by
// every library of the process.
#include "core/cpu_time.hpp"
#include "core/displacement.hpp"
#include "core/own_code.hpp"
#include "core/sched.hpp"
#include "personality/pthread/c_library.hpp"
#include "personality/pthread/condition.hpp"
#include "personality/pthread/cpu_clocks.hpp"
#include "sys/kernel_thread.hpp"
#include "sys/next_symbol.hpp"
#include "sys/thread_usage.hpp"

#include <cerrno>
#include <ctime>

using comity::posix::condition;
namespace c_library = comity::posix::c_library;

#define COMITY_INTERPOSED extern "C" __attribute__((visibility("default")))

namespace {

COMITY_NEXT_SYMBOL comity::sys::next_symbol<int (*)(useconds_t)> next_usleep{"usleep"};
COMITY_NEXT_SYMBOL comity::sys::next_symbol<int (*)(const timespec *, timespec *)> next_nanosleep{"nanosleep"};
COMITY_NEXT_SYMBOL comity::sys::next_symbol<int (*)(clockid_t, int, const timespec *, timespec *)> next_clock_nanosleep{
    "clock_nanosleep"};

// A handler may call these in a wait that a request ends at any instruction (the C library's, and condition::wait). So
// they throw nothing, and calling them needs no table that says where a thread must not be unwound.
COMITY_NEXT_SYMBOL comity::sys::next_symbol<int (*)(clockid_t, timespec *) noexcept> next_gettime{"clock_gettime"};
COMITY_NEXT_SYMBOL comity::sys::next_symbol<int (*)(int, comity::sys::usage *) noexcept> next_getrusage{"getrusage"};

__attribute__((constructor)) void find_all_next() noexcept { comity::sys::find_all_next(); }

static_assert(sizeof(condition) <= sizeof(pthread_cond_t));
static_assert(alignof(condition) <= alignof(pthread_cond_t));

// Null: the C library serves it.
condition *ours(pthread_cond_t *c) noexcept {
    return c_library::is_private(c) ? reinterpret_cast<condition *>(c) : nullptr;
}

} // namespace

// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): glibc's names are reserved ones

COMITY_INTERPOSED int pthread_cond_wait(pthread_cond_t *c, pthread_mutex_t *m) {
    condition *o = ours(c);
    return o ? o->wait(m, CLOCK_MONOTONIC, nullptr) : c_library::wait(c, m);
}

COMITY_INTERPOSED int pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m, const timespec *deadline) {
    condition *o = ours(c);
    return o ? o->wait(m, c_library::clock_of(c), deadline) : c_library::timed_wait(c, m, deadline);
}

// glibc has this one under two versions, since its threads moved into libc.so.6.
COMITY_INTERPOSED int comity_clockwait(pthread_cond_t *c, pthread_mutex_t *m, clockid_t clock,
                                       const timespec *deadline) {
    condition *o = ours(c);
    if (!o) return c_library::clock_wait(c, m, clock, deadline);
    if (clock != CLOCK_MONOTONIC && clock != CLOCK_REALTIME) return EINVAL;
    return o->wait(m, clock, deadline);
}
COMITY_INTERPOSED __attribute__((alias("comity_clockwait"))) decltype(comity_clockwait) comity_clockwait_before;
asm(".symver comity_clockwait, pthread_cond_clockwait@@GLIBC_2.34");
asm(".symver comity_clockwait_before, pthread_cond_clockwait@GLIBC_2.30");

COMITY_INTERPOSED int pthread_cond_signal(pthread_cond_t *c) noexcept {
    condition *o = ours(c);
    if (!o) return c_library::signal(c);
    o->signal();
    return 0;
}

COMITY_INTERPOSED int pthread_cond_broadcast(pthread_cond_t *c) noexcept {
    condition *o = ours(c);
    if (!o) return c_library::broadcast(c);
    o->broadcast();
    return 0;
}

COMITY_INTERPOSED int pthread_cond_destroy(pthread_cond_t *c) noexcept {
    condition *o = ours(c);
    if (!o) return c_library::destroy(c);
    o->await_waiters();
    return 0;
}

// Who spins until another thread has done something may wait for a thread that has no hart yet.
COMITY_INTERPOSED int sched_yield() noexcept {
    comity::core::give_way_in_loop(false);
    if (!comity::core::let_others_run()) comity::sys::yield_kernel_thread();
    return 0;
}

// So may a thread that sleeps a little, again and again, until another one has done something. Others have one turn;
// what is left of the time, the kernel thread sleeps. In a handler that has interrupted Comity's own code nothing
// switches.
static void let_others_run_before_sleep() noexcept {
    if (!comity::core::is_in_handler_amid_comity()) (void)comity::core::let_others_run();
}
COMITY_INTERPOSED int usleep(useconds_t us) {
    let_others_run_before_sleep();
    return next_usleep.get()(us);
}
COMITY_INTERPOSED int nanosleep(const timespec *time, timespec *left) {
    let_others_run_before_sleep();
    return next_nanosleep.get()(time, left);
}
COMITY_INTERPOSED int clock_nanosleep(clockid_t clock, int flags, const timespec *time, timespec *left) {
    let_others_run_before_sleep();
    return next_clock_nanosleep.get()(clock, flags, time, left);
}

// A kernel thread carries other contexts while its own computation waits, and ranks go from one to another.
COMITY_INTERPOSED int clock_gettime(clockid_t clock, timespec *time) noexcept {
    const bool is_own = comity::posix::is_own_cpu_clock(clock);
    if (!is_own && !comity::posix::is_clock_of_kernel_thread(clock)) [[likely]]
        return next_gettime.get()(clock, time);
    const std::int64_t ns =
        is_own ? comity::core::cpu_ns_here() : comity::core::cpu_ns_of_kernel_thread(comity::posix::id_of_clock(clock));
    if (ns < 0) return next_gettime.get()(clock, time);
    comity::posix::put_time(*time, ns);
    return 0;
}
COMITY_INTERPOSED int getrusage(int whose, comity::sys::usage *into) noexcept {
    static __thread comity::sys::usage_told told __attribute__((tls_model("initial-exec")));
    const int error = next_getrusage.get()(whose, into);
    if (error != 0 || whose != comity::sys::usage_of_thread) return error;
    const std::int64_t ns = comity::core::cpu_ns_here();
    comity::sys::usage process;
    if (ns < 0 || next_getrusage.get()(comity::sys::usage_of_process, &process) != 0) return 0;
    comity::sys::set_times(*into, ns, process, told);
    return 0;
}

// NOLINTEND(readability-inconsistent-declaration-parameter-name)
