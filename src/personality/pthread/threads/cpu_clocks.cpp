// The CPU time of threads: clocks, and getrusage.
#include "personality/pthread/cpu_clocks.hpp"

#include "core/carrier.hpp"
#include "core/cpu_time.hpp"
#include "core/tls/block.hpp"
#include "personality/pthread/threads/thread.hpp"
#include "personality/pthread/threads/vfork.hpp"
#include "sys/thread_usage.hpp"

namespace comity::posix {

namespace {

COMITY_NEXT_SYMBOL next<int (*)(clockid_t, timespec *)> next_gettime{"clock_gettime"};
COMITY_NEXT_SYMBOL next<int (*)(clockid_t, timespec *)> next_getres{"clock_getres"};
COMITY_NEXT_SYMBOL next<int (*)(int, sys::usage *)> next_getrusage{"getrusage"};
COMITY_NEXT_SYMBOL next<int (*)(pthread_t, clockid_t *)> next_getcpuclockid{"pthread_getcpuclockid"};

__thread sys::usage_told told __attribute__((tls_model("initial-exec")));

// -1: the kernel's clock is right.
std::int64_t own_cpu_ns() noexcept {
    if (in_vforked_child()) return -1;
    const std::int64_t ns = core::cpu_ns_here();
    const thread *t = current_thread;
    return ns < 0 || !t ? ns : std::max<std::int64_t>(ns - t->cpu_base.load(std::memory_order_relaxed), 0);
}

// -1: it is no thread that lives.
std::int64_t cpu_ns_of_thread(unsigned number) noexcept {
    thread *t = thread_with_number(number);
    if (t && t == current_thread) return own_cpu_ns();
    if (!t) return -1;
    const alive target(t);
    if (!target) return -1;
    const core::context *c = t->signals.context.load(std::memory_order_acquire); // acquire[posix-receiver]
    if (!c) return 0;                                                            // it has not started
    const std::int64_t ns = core::cpu_ns_of(const_cast<core::context *>(c));
    return std::max<std::int64_t>(ns - t->cpu_base.load(std::memory_order_relaxed), 0);
}

std::int64_t cpu_ns_by(clockid_t clock) noexcept {
    if (is_own_cpu_clock(clock)) return own_cpu_ns();
    return is_clock_of_own_thread(clock) ? cpu_ns_of_thread(static_cast<unsigned>(id_of_clock(clock)))
                                         : core::cpu_ns_of_kernel_thread(id_of_clock(clock));
}

bool is_threads_clock(clockid_t clock) noexcept {
    return is_own_cpu_clock(clock) || is_clock_of_own_thread(clock) || is_clock_of_kernel_thread(clock);
}

} // namespace

void begin_cpu_time(thread &t, core::context *c) noexcept {
    const core::tls_block *b = c->tls;
    // Else nothing of what it has used is known yet, or it was told already.
    const bool is_known = b && !b->donor_has_run &&
                          b->cpu_ns.get() + b->donor_cpu_ns.get() <= b->cpu_told.load(std::memory_order_relaxed);
    const bool counts = c->on->counts_cpu.load(std::memory_order_relaxed);
    t.cpu_base.store(is_known && !counts ? b->cpu_told.load(std::memory_order_relaxed) : core::cpu_ns_at_start(c),
                     std::memory_order_relaxed);
    if (told.user + told.system != 0) told = {};
}

} // namespace comity::posix

using namespace comity::posix;
using comity::posix::thread;

// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): glibc's names are reserved ones

COMITY_INTERPOSED int clock_gettime(clockid_t clock, timespec *time) noexcept {
    if (!is_threads_clock(clock)) [[likely]]
        return next_gettime.get()(clock, time);
    const std::int64_t ns = cpu_ns_by(clock);
    if (ns < 0) return next_gettime.get()(clock, time); // where it is an error
    put_time(*time, ns);
    return 0;
}

COMITY_INTERPOSED int clock_getres(clockid_t clock, timespec *time) noexcept {
    if (!is_clock_of_own_thread(clock)) return next_getres.get()(clock, time);
    return next_getres.get()(CLOCK_THREAD_CPUTIME_ID, time);
}

COMITY_INTERPOSED int pthread_getcpuclockid(pthread_t t, clockid_t *clock) noexcept {
    thread *own = thread_of(t);
    if (!own) return next_getcpuclockid.get()(t, clock);
    if (!alive(own)) return ESRCH;
    *clock = clock_of_own_thread(number_of(*own));
    return 0;
}

COMITY_INTERPOSED int getrusage(int whose, comity::sys::usage *into) noexcept {
    const int error = next_getrusage.get()(whose, into);
    if (error != 0 || whose != comity::sys::usage_of_thread) return error;
    const std::int64_t ns = own_cpu_ns();
    comity::sys::usage process;
    if (ns < 0 || next_getrusage.get()(comity::sys::usage_of_process, &process) != 0) return 0;
    comity::sys::set_times(*into, ns, process, told);
    if (current_thread) comity::sys::clear_counts(*into);
    return 0;
}

// NOLINTEND(readability-inconsistent-declaration-parameter-name)
