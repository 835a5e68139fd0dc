// A function that is called at a certain time. Protocol "Timer": README.md.
#pragma once

#include "core/spinlock.hpp"
#include "core/timer.hpp"

#include <cstdint>

namespace comity::sync {

class timer : core::timer {
public:
    using function = void (*)(void *);
    enum class [[nodiscard]] result : std::uint8_t{done, started_already, refused};

    // Calls fn(arg) at the deadline, and then every `period` ns, if that is more than 0. Any thread; never switches.
    result start(std::int64_t deadline, std::int64_t period, function fn, void *arg) noexcept;
    // No call begins after it, and none is under way, but for the one in which it is called. True: one that was due is
    // not made. Any thread; never switches.
    bool stop() noexcept;

private:
    static void call(core::timer *t) noexcept;
    void forget_forked() noexcept;
    void call() noexcept;
    [[nodiscard]] bool may_start() const noexcept { return !due_ && (references_ == 0 || caller_ != 0); }
    std::int64_t next_deadline() const noexcept;

    core::spinlock lock_; // for all that follows
    bool due_ = false;    // a call is to be made
    int caller_ = 0;      // the kernel thread on which one is under way, in the process of this generation
    std::uint32_t generation_ = 0;
    // The heap, and the timers' thread from the moment when it has taken the timer out of the heap until it has left.
    unsigned references_ = 0;
    std::int64_t period_ = 0;
    function fn_ = nullptr;
    void *arg_ = nullptr;
};

} // namespace comity::sync
