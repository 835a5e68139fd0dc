// The fork-join pair: its second half stands in the hart's queue while the first runs in the caller. Whoever takes it
// there runs it: the caller itself, as a function call, or another hart, on a context of its own.
#include "comity/fork.h"

#include "core/base.hpp"
#include "core/runtime.hpp"
#include "thread/cache.hpp"
#include "thread/end_word.hpp"

#include <new>

namespace comity {

using core::carrier;
using core::context;
using slot = unit_scheduler::slot;

namespace {

struct second_half : unit { // on the stack of whoever forked
    void (*fn)(void *);
    void *arg;
    const unit_scheduler *owner; // null: counted
    end_word end;
};

// The other hart has left the context for good.
void finish(second_half *h, context *c, carrier *k) noexcept {
    c->self.forks = 0;
    give_back_context(c, 0, false, k);
    const unit_scheduler *s = work_of(k)->owner;
    const std::uintptr_t before = h->end.end(s->alone());
    if (before == end_word::open) return;
    if (context *waiter = waiter_for(before, k, s)) core::resume(k, waiter);
}

void half_main(void *argument) noexcept {
    auto *h = static_cast<second_half *>(argument);
    h->fn(h->arg);
    context *c = core::current_context();
    if (!c->broken) return;
    core::exit_context(
        c,
        [](context *c, void *h) {
            carrier *k = core::current_carrier();
            unit_scheduler *s = work_of(k)->owner;
            finish(static_cast<second_half *>(h), c, k);
            s->hooks->units->next(s, k);
        },
        h);
}

// On a hart that took it from a queue.
void run_half(unit *u, carrier *k) noexcept {
    auto *h = static_cast<second_half *>(u);
    context *c = take_plain_context(k);
    c->owner = work_of(k)->owner;
    c->runs = nullptr;
    c->self.forks = 1; // for comity_thread_exit
    core::call_from_transition(k, c, half_main, h);
    finish(h, c, k);
}

// A scheduler that was opened for the caller's first thread ends when he joins the last one, also in the first half; so
// the second half, which nobody else may outlive there, counts as a unit.
[[gnu::noinline]] bool count_if_it_must(second_half *h, slot *w, const carrier *k) noexcept {
    if (w->owner->registrant != k->current) return false;
    w->add_created();
    h->owner = nullptr;
    return true;
}

// Another hart has the half, or it is counted.
[[gnu::noinline]] int end_slowly(second_half *h, slot *w) noexcept {
    const bool counted = !h->owner, back = counted && w->fresh.pop_if(h);
    if (!back) h->end.wait();
    if (!counted) return 0;
    unit_scheduler *s = w->owner;
    work_of(core::current_carrier())->add_ended();
    if (s->all_ended()) end_default_scheduler(s);
    return back;
}

second_half &half(comity_fork_t *f) noexcept { return *reinterpret_cast<second_half *>(f); }

} // namespace

} // namespace comity

using namespace comity;

extern "C" {

int comity_fork_begin(comity_fork_t *fork, void (*g)(void *), void *b) {
    static_assert(sizeof(second_half) <= sizeof(comity_fork_t));
    const carrier *k = core::current_carrier();
    slot *w = k ? work_of(k) : nullptr;
    if (!w || core::on_transition(k)) [[unlikely]]
        return 0;
    auto *h = new (fork) second_half;
    h->run = run_half;
    h->fn = g;
    h->arg = b;
    h->owner = w->owner;
    const bool counted = w->owner->implicit && count_if_it_must(h, w, k);
    if (w->owner->push(*w, h)) [[likely]] {
        ++k->current->self.forks;
        return 1;
    }
    if (counted) w->add_ended();
    return 0;
}

int comity_fork_end(comity_fork_t *fork) {
    second_half &h = half(fork);
    context *c = core::current_context();
    --c->self.forks;
    slot *w = work_of(c->on);
    if (w->owner == h.owner && w->fresh.pop_if(&h)) [[likely]]
        return 1;
    return end_slowly(&h, w);
}

void comity_fork_join(void (*f)(void *), void *a, void (*g)(void *), void *b) {
    comity_fork_t fork;
    const carrier *k = core::current_carrier();
    const bool outside = !(k && (work_of(k) || core::on_transition(k)));
    unit_scheduler *opened = outside ? open_default_scheduler() : nullptr;
    const bool begun = comity_fork_begin(&fork, g, b);
    f(a);
    if (!begun || comity_fork_end(&fork)) g(b);
    if (opened) end_default_scheduler(opened);
}
}
