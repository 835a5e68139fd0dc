#include "thread/cell.hpp"

#include "core/chaos.hpp"

namespace comity {

using core::carrier;
using core::context;
using core::waiter;

namespace {

// On the transition context. After the lock is free the context may be resumed elsewhere.
void park_in_cell(context *c, void *argument) {
    auto *w = static_cast<waiter *>(argument);
    carrier *k = core::current_carrier();
    core::chaos_point();
    w->lock.lock();
    const bool stops = !w->expired.load(std::memory_order_relaxed);
    w->inside = stops;
    w->lock.unlock();
    if (stops) core::block(k, c);
    core::resume(k, c);
}

context *expire_cell(core::timer *t) noexcept {
    return end_cell(*reinterpret_cast<waiter *>(reinterpret_cast<char *>(t) - offsetof(waiter, deadline)), false);
}

struct cell_interruption : interruption {
    waiter *place;
};

context *take_from_cell(interruption *i) noexcept {
    return end_cell(*static_cast<cell_interruption *>(i)->place, false);
}

} // namespace

bool stop_in_cell(waiter &w, std::int64_t deadline, thread *self) noexcept {
    w.deadline.at = deadline;
    w.deadline.expired = expire_cell;
    if (!core::arm(w.deadline)) return false;
    cell_interruption i{{take_from_cell}, &w};
    if (!self || open_to_cancel(self, i)) core::pause(w.who, park_in_cell, &w);
    if (self) close_to_cancel(self);
    core::cancel(w.deadline);
    return true;
}

} // namespace comity
