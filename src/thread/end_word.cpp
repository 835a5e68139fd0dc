#include "thread/end_word.hpp"

#include "core/base.hpp"
#include "core/runtime.hpp"

namespace comity {

using core::carrier;
using core::context;

// Where there is one hart only, whoever changes the word holds that (see end()).
bool end_word::replace_open(std::uintptr_t what, std::uintptr_t &before) noexcept {
    carrier *k = core::current_carrier();
    const bool needs_hart = core::base().hart_count() == 1 && !(k && k->carried);
    if (needs_hart) k = core::enter_comity();
    before = open;
    const bool replaced = word_.compare_exchange_strong(before, what, std::memory_order_acq_rel); // acq_rel[thread-end]
    if (needs_hart) core::leave_comity(k);
    return replaced;
}

// On the transition context: the waiter is off its stack.
void end_word::park(context *c, void *self) {
    carrier *k = core::current_carrier();
    std::uintptr_t me = reinterpret_cast<std::uintptr_t>(c), before = open;
    if (const unit_scheduler::slot *w = work_of(k); w && w->owner->keeps_order()) me |= in_turn;
    if (static_cast<end_word *>(self)->replace_open(me, before)) core::block(k, c);
    core::resume(k, c);
}

// The waiter is off its stack, and another context is about to go on here.
void end_word::left_behind(void *argument) {
    const waiting w = *static_cast<waiting *>(argument); // on the stack of the waiter, which may go on at once
    std::uintptr_t before = open;
    ++core::current_carrier()->count.blocks;
    if (!w.word->replace_open(reinterpret_cast<std::uintptr_t>(w.who), before)) core::unblock(w.who);
}

bool end_word::spin(const carrier *k) const noexcept {
    core::sched *s = k->current_sched;
    const std::uint64_t from = sys::ticks(), most = core::spin_ticks();
    for (unsigned i = 1; !(s->hooks && s->hooks->other_work(s)); ++i) {
        if (get() != open) return true;
        if (i % 16 == 0 && sys::ticks() - from > most) break;
        sys::cpu_relax();
    }
    return false;
}

void end_word::wait() noexcept {
    context *c = core::adopt()->current;
    carrier *k = c->on;
    std::uintptr_t before = open;
    if (k->carried) {
        if (spin(k)) return;
        core::sched *s = k->current_sched;
        waiting w{this, c};
        if (s->hooks && s->hooks->switch_to_other && s->hooks->switch_to_other(s, c, left_behind, &w)) return;
        core::pause(c, park, this);
    } else if (replace_open(reinterpret_cast<std::uintptr_t>(c), before)) {
        core::sleep_without_hart(k);
    }
}

} // namespace comity
