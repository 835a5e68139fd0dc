#include "thread/end_word.hpp"

#include "core/base.hpp"
#include "core/chaos.hpp"
#include "core/runtime.hpp"
#include "sys/backoff.hpp"
#include "sys/clock.hpp"
#include "sys/futex.hpp"
#include "thread/cell.hpp"

namespace comity {

using core::carrier;
using core::context;
using core::waiter;

// Takes who waits for an end out of the word. Where there is one hart only, whoever changes the word holds that.
struct join_interruption : interruption {
    end_word *word = nullptr;
    context *who = nullptr;
    const thread *self = nullptr;

    static context *take_waiter(interruption *i) noexcept {
        const auto &own = *static_cast<join_interruption *>(i);
        for (sys::backoff b;;) {
            std::uintptr_t now = own.word->get();
            if (now > end_word::detached && end_word::waiter_in(now) == own.who) {
                if (own.word->word_.compare_exchange_strong(now, end_word::open,
                                                            std::memory_order_acq_rel)) // acq_rel[thread-end]
                    return own.who;
            } else if (now != end_word::open || own.self->rest().waits.load(std::memory_order_relaxed) != i) {
                return nullptr; // it has ended, or the thread has not begun to wait, and will not
            }
            b.pause(); // it is about to enter the word
        }
    }
};

bool end_word::replace(std::uintptr_t &before, std::uintptr_t what) noexcept {
    carrier *k = core::current_carrier();
    const bool needs_hart = core::base().hart_count() == 1 && !(k && k->carried); // see end()
    if (needs_hart) k = core::enter_comity();
    const bool replaced = word_.compare_exchange_strong(before, what, std::memory_order_acq_rel); // acq_rel[thread-end]
    if (needs_hart) core::leave_comity(k, core::next_use::not_known);
    return replaced;
}

void end_word::wake(std::uintptr_t word) noexcept {
    if ((word & timed) != timed) return core::unblock(waiter_in(word));
    if (context *c = end_cell(*reinterpret_cast<waiter *>(word & ~timed), true)) core::unblock(c);
}

// On the transition context: the waiter is off its stack.
void end_word::park(context *c, void *self) {
    carrier *k = core::current_carrier();
    std::uintptr_t me = reinterpret_cast<std::uintptr_t>(c), before = open;
    if (const unit_scheduler::slot *w = work_of(k); w && (w->owner->keeps_order() || w->owner->affinity_of(c)))
        me |= in_turn;
    core::chaos_point();
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

bool end_word::spin(const carrier *k, std::int64_t deadline) const noexcept {
    core::sched *s = k->current_sched;
    const std::uint64_t from = sys::ticks(), most = core::spin_ticks();
    for (unsigned i = 1; !(s->hooks && s->hooks->other_work(s)); ++i) {
        if (get() != open) return true;
        if (i % 16 == 0) {
            const std::uint64_t spun = sys::ticks() - from;
            if (spun > most || core::is_wanted_beyond(k, spun) || sys::now_ns() >= deadline) break;
        }
        sys::cpu_relax();
    }
    return false;
}

void end_word::stop(context *c) noexcept {
    core::sched *s = c->on->current_sched;
    if (const unit_scheduler::slot *w = work_of(c->on); w && w->owner->affinity_of(c))
        return core::pause(c, park, this);
    waiting w{this, c};
    if (s->hooks && s->hooks->switch_to_other && s->hooks->switch_to_other(s, c, left_behind, &w)) return;
    core::pause(c, park, this);
}

// A context that has left the only hart in a scheduler that it opened comes back before it enters the word: replace()
// would have it do so, and it would sleep with the hart.
static context *come_to_wait() noexcept {
    context *c = core::adopt()->current;
    if (!c->on->carried && core::base().hart_count() == 1) (void)core::come_back();
    return c;
}

void end_word::wait(comity_thread *self) noexcept {
    context *c = come_to_wait();
    carrier *k = c->on;
    std::uintptr_t before = open;
    if (!k->carried) {
        if (replace_open(reinterpret_cast<std::uintptr_t>(c), before)) core::sleep_without_hart(k);
        return;
    }
    if (spin(k, sys::no_deadline)) return;
    auto *t = static_cast<thread *>(self);
    if (!t) return stop(c);
    join_interruption i;
    i.take = join_interruption::take_waiter;
    i.with_hart = true;
    i.word = this;
    i.who = c;
    i.self = t;
    if (open_to_cancel(t, i)) stop(c);
    close_to_cancel(t);
}

// ---- With a deadline: the word has a place of the waiter's, which anybody may end; the waiter takes it back.

// Nobody is to be had who would wake the waiter: it looks again and again, and others run in between.
void end_word::poll(std::int64_t deadline) const noexcept {
    while (get() == open && sys::now_ns() < deadline) {
        comity_thread_yield();
        sys::yield_kernel_thread();
    }
}

void end_word::sleep_until(waiter &place, std::int64_t deadline, comity_thread *self) noexcept {
    std::uintptr_t mine = reinterpret_cast<std::uintptr_t>(&place) | timed, before = open;
    carrier *k = place.who->on;
    const bool in_kernel = !k->carried;
    place.inside = in_kernel; // a native context that sleeps in the kernel may be posted home at any time
    if (!replace_open(mine, before)) return;
    bool refused = false;
    if (!in_kernel)
        refused = !stop_in_cell(place, deadline, static_cast<thread *>(self));
    else if (!core::sleep_without_hart(k, deadline) && !end_cell(place, false))
        core::sleep_without_hart(k); // somebody has ended it: his post is on its way
    before = mine;
    if (replace(before, open)) {
        if (refused) poll(deadline);
        return;
    }
    while (!was_told(place)) sys::yield_kernel_thread(); // who has ended the thread is about to
}

void end_word::wait_until(std::int64_t deadline, comity_thread *self) noexcept {
    context *c = come_to_wait();
    if (sys::now_ns() >= deadline || (c->on->carried && spin(c->on, deadline))) return;
    waiter own;
    sleep_until(cell_for(c, own), deadline, self);
}

} // namespace comity
