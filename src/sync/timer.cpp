// Timers, and their C interface (comity/sync.h). All zero is their initial state.
#include "sync/timer.hpp"

#include "core/chaos.hpp"
#include "core/runtime.hpp"
#include "sync/interface.hpp"
#include "sys/backoff.hpp"
#include "sys/clock.hpp"
#include "sys/kernel_thread.hpp"

#include "comity/sync.h"

#include <cerrno>

namespace comity::sync {

// With the lock. Who was calling when the process was forked is not there in the child.
void timer::forget_forked() noexcept {
    if (caller_ == 0 || generation_ == core::generation()) return;
    caller_ = 0;
    if (--references_ == 0) due_ = false;
}

timer::result timer::start(std::int64_t deadline, std::int64_t period, function fn, void *arg) noexcept {
    lock_.lock();
    forget_forked();
    result how = result::started_already;
    if (may_start()) {
        at = deadline;
        serve = call;
        period_ = period;
        fn_ = fn;
        arg_ = arg;
        due_ = core::arm(*this); // its thread takes this lock before it reads anything
        references_ += due_;
        how = due_ ? result::done : result::refused;
    }
    lock_.unlock();
    return how;
}

bool timer::stop() noexcept {
    lock_.lock();
    forget_forked();
    const bool was_due = due_;
    due_ = false;
    if (was_due && core::cancel(*this)) --references_;
    const bool within = caller_ != 0 && caller_ == sys::kernel_thread_id();
    for (sys::backoff b; references_ != 0 && !within;) { // the timers' thread has it, or is about to call
        lock_.unlock();
        b.pause();
        lock_.lock();
    }
    lock_.unlock();
    return was_due;
}

// Those that it is too late for are left out.
std::int64_t timer::next_deadline() const noexcept {
    const std::int64_t now = sys::now_ns();
    std::int64_t next = 0;
    const std::int64_t periods = now > at ? (now - at) / period_ + 1 : 1;
    if (__builtin_mul_overflow(periods, period_, &next) || __builtin_add_overflow(at, next, &next))
        return sys::no_deadline;
    return next;
}

void timer::call(core::timer *t) noexcept { static_cast<timer *>(t)->call(); }

// On the timers' thread.
void timer::call() noexcept {
    core::chaos_point();
    lock_.lock();
    if (due_) {
        const function fn = fn_;
        void *const arg = arg_;
        due_ = period_ > 0;
        caller_ = sys::kernel_thread_id();
        generation_ = core::generation();
        lock_.unlock();
        fn(arg);
        lock_.lock();
        caller_ = 0;
        // Unless it was stopped meanwhile, or started anew for another time.
        if (due_ && references_ == 1) {
            at = next_deadline();
            due_ = core::arm(*this);
            references_ += due_;
        }
    }
    --references_;
    lock_.unlock(); // the last access
}

} // namespace comity::sync

using namespace comity;

namespace {
sync::timer &of(comity_timer_t *t) noexcept { return sync::object<sync::timer>(t); }
} // namespace

extern "C" {

void comity_timer_init(comity_timer_t *t) { new (t) sync::timer; }
int comity_timer_start(comity_timer_t *t, int64_t deadline, int64_t period, void (*fn)(void *), void *arg) {
    if (!t || !fn || period < 0) return EINVAL;
    switch (of(t).start(deadline, period, fn, arg)) {
    case sync::timer::result::started_already:
        return EBUSY;
    case sync::timer::result::refused:
        return EAGAIN;
    case sync::timer::result::done:
        break;
    }
    return 0;
}
int comity_timer_stop(comity_timer_t *t) { return of(t).stop(); }
}
