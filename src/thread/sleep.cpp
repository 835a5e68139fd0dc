// Sleeping: a context leaves its hart to others until its deadline; a kernel thread without a hart sleeps in the
// kernel.
#include "comity/thread.h"

#include "core/runtime.hpp"
#include "sys/clock.hpp"
#include "sys/futex.hpp"
#include "sys/kernel_thread.hpp"
#include "thread/cell.hpp"

#include <atomic>

namespace comity {

namespace {

void sleep_in_kernel(std::int64_t deadline) noexcept {
    const std::atomic<std::uint32_t> nobody_writes{0};
    while (sys::futex_wait(nobody_writes, 0, deadline) != sys::wait_result::timed_out) {
    }
}

int sleep_until(std::int64_t deadline) noexcept {
    core::carrier *k = core::current_carrier();
    if (!k || !k->carried) {
        sleep_in_kernel(deadline);
        return 0;
    }
    if (const int cancelled = cancel_here()) return cancelled;
    if (sys::now_ns() >= deadline) {
        comity_thread_yield();
        return 0;
    }
    core::waiter own;
    if (stop_in_cell(cell_for(k->current, own), deadline, thread_to_interrupt())) return cancel_here();
    while (sys::now_ns() < deadline) { // no kernel thread is to be had: others run meanwhile, if they can
        comity_thread_yield();
        sys::yield_kernel_thread();
        if (const int cancelled = cancel_here()) return cancelled;
    }
    return 0;
}

} // namespace
} // namespace comity

extern "C" {
int comity_thread_sleep_until(int64_t deadline) { return comity::sleep_until(deadline); }
int comity_thread_sleep_for(int64_t ns) { return comity::sleep_until(comity_deadline_in(ns)); }
}
