// Sleeping: a context leaves its hart to others until its deadline; a kernel thread without a hart sleeps in the
// kernel.
#include "comity/thread.h"

#include "core/runtime.hpp"
#include "core/sched.hpp"
#include "core/timer.hpp"
#include "core/waiter.hpp"
#include "sys/clock.hpp"
#include "sys/futex.hpp"
#include "sys/kernel_thread.hpp"

#include <atomic>
#include <cstddef>

namespace comity {

using core::carrier;
using core::context;
using core::waiter;

namespace {

void sleep_in_kernel(std::int64_t deadline) noexcept {
    const std::atomic<std::uint32_t> nobody_writes{0};
    while (sys::futex_wait(nobody_writes, 0, deadline) != sys::wait_result::timed_out) {
    }
}

struct sleeper {
    waiter *place;
    bool refused = false; // there is nobody who could wake it
};

context *wake_up(core::timer *t) noexcept {
    return reinterpret_cast<waiter *>(reinterpret_cast<char *>(t) - offsetof(waiter, deadline))->who;
}

// On the transition context: from arm on the sleeper may be resumed elsewhere.
void fall_asleep(context *c, void *argument) {
    carrier *k = core::current_carrier();
    auto *s = static_cast<sleeper *>(argument);
    if (core::arm(s->place->deadline)) core::block(k, c);
    s->refused = true;
    core::resume(k, c);
}

void sleep_until(std::int64_t deadline) noexcept {
    carrier *k = core::current_carrier();
    if (!k || !k->carried) return sleep_in_kernel(deadline);
    if (sys::now_ns() >= deadline) return comity_thread_yield();
    context *c = k->current;
    waiter own;
    sleeper s{c->home ? &c->home->native_waiter : &own};
    s.place->who = c;
    s.place->deadline.at = deadline;
    s.place->deadline.expired = wake_up;
    core::pause(c, fall_asleep, &s);
    if (!s.refused) return;
    while (sys::now_ns() < deadline) { // no kernel thread is to be had: others run meanwhile, if they can
        comity_thread_yield();
        sys::yield_kernel_thread();
    }
}

} // namespace
} // namespace comity

extern "C" {
void comity_thread_sleep_until(int64_t deadline) { comity::sleep_until(deadline); }
void comity_thread_sleep_for(int64_t ns) { comity::sleep_until(comity_deadline_in(ns)); }
}
