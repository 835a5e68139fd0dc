// A place (core::waiter) that stands in no list: one context stops there, once, until somebody ends that: who tells it
// that what it waits for has come, its deadline, or a request to cancel it. Protocol "Cells": README.md.
#pragma once

#include "core/sched.hpp"
#include "core/waiter.hpp"
#include "thread/interruption.hpp"

#include <cstddef>
#include <cstdint>

namespace comity {

// The place for the running context (core/waiter.hpp says why a native one has its own).
inline core::waiter &cell_for(core::context *c, core::waiter &own) noexcept {
    core::waiter &w = c->home ? c->home->native_waiter : own;
    w.who = c;
    w.inside = w.told = false;
    w.expired.store(false, std::memory_order_relaxed);
    return w;
}

// Ends the wait, also one that has not begun; returns the context, which the caller makes ready, or null.
inline core::context *end_cell(core::waiter &w, bool told) noexcept {
    w.lock.lock();
    w.expired.store(true, std::memory_order_relaxed);
    w.told |= told;
    core::context *c = w.inside ? w.who : nullptr;
    w.inside = false;
    w.lock.unlock();
    return c;
}

inline bool was_told(core::waiter &w) noexcept {
    w.lock.lock();
    const bool told = w.told;
    w.lock.unlock();
    return told;
}

// The running context, on a hart, stops until the cell is ended, its deadline has passed or `self` (or null) is
// cancelled. False: nobody is to be had who would wake it at the deadline. Switches.
[[nodiscard]] bool stop_in_cell(core::waiter &w, std::int64_t deadline, thread *self) noexcept;

} // namespace comity
