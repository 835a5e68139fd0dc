// A function that is called at a certain time (comity/sync.h says what it may do).
#pragma once

#include "comity/core/cxx20.hpp" // first: nothing else would compile

#include "comity/core.hpp"
#include "comity/sync.h"

#include <chrono>
#include <system_error>
#include <type_traits>
#include <utility>

namespace comity {

// Calls a function of its own, once or again and again, until it is stopped or destroyed. The function must not throw.
template <class Function>
requires(std::is_nothrow_invocable_v<Function &>) class timer {
public:
    explicit timer(Function f) noexcept(std::is_nothrow_move_constructible_v<Function>) : function_(std::move(f)) {}
    timer(const timer &) = delete;
    timer &operator=(const timer &) = delete;
    // Not in the function.
    ~timer() { comity_timer_stop(&timer_); }

    // Throw std::system_error (device_or_resource_busy: it has been started, and is not over;
    // resource_unavailable_try_again: no kernel thread is to be had). A period of 0: once.
    template <class Rep, class Period> void start_in(std::chrono::duration<Rep, Period> time) {
        start(deadline_in(time), 0);
    }
    template <class Clock, class Duration> void start_at(std::chrono::time_point<Clock, Duration> time) {
        start(deadline_at(time), 0);
    }
    // The first time after one period.
    template <class Rep, class Period> void start_every(std::chrono::duration<Rep, Period> period) {
        start(deadline_in(period), std::chrono::ceil<std::chrono::nanoseconds>(period).count());
    }
    // No call begins after it, nor is one under way, but for the one in which it is called. True: one was still due.
    bool stop() noexcept { return comity_timer_stop(&timer_) != 0; }

private:
    void start(std::int64_t deadline, std::int64_t period) {
        const int error = comity_timer_start(
            &timer_, deadline, period, [](void *f) { (*static_cast<Function *>(f))(); }, &function_);
        if (error != 0) throw std::system_error(error, std::generic_category(), "comity::timer");
    }

    Function function_;
    comity_timer_t timer_ = COMITY_TIMER_INIT;
};

} // namespace comity
