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
using open_forks = core::context_unit::open_forks;
using pool::popped;
using run_function_t = void (*)(unit *, carrier *) noexcept;
using slot = unit_scheduler::slot;

namespace {

// On the stack of whoever forked.
struct second_half : unit {
    // One of these, and perhaps:
    enum way : std::uint16_t {
        usual,
        counted, // as a unit that was created
        opening, // the pair opened the scheduler
        refused, // nobody else may have it: it stands in no queue
    };
    static constexpr std::uint16_t outermost = 4; // of those that are open on its context
    second_half(run_function_t run_half, void (*g)(void *), void *b) noexcept : fn(g), arg(b) { run = run_half; }
    std::uint16_t how = usual;
    bool goes(way w) const noexcept { return (how & ~outermost) == w; }
    void go(way w) noexcept { how = static_cast<std::uint16_t>((how & outermost) | w); }
    void (*fn)(void *);
    void *arg;
    end_word end;
};

// The other hart has left the context for good.
void finish(second_half *h, context *c, carrier *k) noexcept {
    c->self.forks = open_forks::none;
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
    if (!c) [[unlikely]] {
        if (put_off(h, k)) return;
        const thread plain{};
        c = await_context(&plain, k);
    }
    c->owner = work_of(k)->owner;
    c->runs = nullptr;
    c->self.forks = open_forks::some; // for comity_thread_exit
    core::call_from_transition(k, c, half_main, h);
    finish(h, c, k);
}

// ---- Begin. Each step ends with the next one: the usual case needs no frame.

[[gnu::always_inline]] inline void open_outermost(second_half *h, context *c) noexcept {
    c->self.forks = open_forks::some;
    h->how |= second_half::outermost;
}

[[gnu::noinline]] void refuse(second_half *h) noexcept { h->go(second_half::refused); }

[[gnu::noinline, gnu::cold]] void call_help(unit_scheduler *s) noexcept { s->hooks->units->call_help(s); }

[[gnu::noinline]] void publish(slot *w) noexcept {
    w->fresh.publish();
    if (w->owner->could_use_harts()) call_help(w->owner);
}

// The deque is full, or closed. May switch.
[[gnu::noinline]] void offer_slowly(second_half *h, slot *w) noexcept {
    if (w->owner->push(*w, h)) return;
    if (h->goes(second_half::counted)) w->add_ended();
    if (h->goes(second_half::opening)) end_default_scheduler(w->owner);
    refuse(h);
}

[[gnu::always_inline]] inline void offer_by(second_half *h, slot *w, unit_scheduler *s) noexcept {
    if (!w->fresh.push_unpublished(h)) [[unlikely]]
        return offer_slowly(h, w);
    if (!w->fresh.has_public()) [[unlikely]]
        return publish(w);
    if (s->could_use_harts()) [[unlikely]]
        return call_help(s);
}

// A scheduler that was opened for the caller's first thread ends when he joins the last one, also in the first half; so
// the second half, which nobody else may outlive there, counts as a unit.
[[gnu::noinline]] void offer_counted(second_half *h, slot *w, const context *c) noexcept {
    if (w->owner->registrant == c) {
        w->add_created();
        h->go(second_half::counted);
    }
    offer_by(h, w, w->owner);
}

[[gnu::always_inline]] inline void offer(second_half *h, slot *w, context *c) noexcept {
    if (!c->self.is_in_fork()) [[unlikely]] {
        if (c->self.forks == open_forks::forbidden) return refuse(h);
        open_outermost(h, c);
    }
    unit_scheduler *s = w->owner;
    if (s->implicit) [[unlikely]]
        return offer_counted(h, w, c);
    offer_by(h, w, s);
}

// In a context with TLS of its own, or outside every scheduler of threads.
[[gnu::noinline]] void offer_anywhere(second_half *h) noexcept {
    (void)core::come_back();
    const carrier *k = core::current_carrier();
    if (!(k && (work_of(k) || core::on_transition(k))) && open_default_scheduler()) h->go(second_half::opening);
    context *c = core::adopt()->current;
    if (slot *w = work_of(c->on)) return offer(h, w, c);
    if (c->self.forks == open_forks::none) open_outermost(h, c);
    refuse(h);
}

// ---- End

// Who opened the scheduler ends it, and therefore both halves before.
int end_opened(second_half *h, slot *w) noexcept {
    if (w->fresh.pop_if(h))
        h->fn(h->arg);
    else
        h->end.wait();
    end_default_scheduler(work_of(core::current_carrier())->owner);
    return 0;
}

int end_counted(second_half *h, slot *w) noexcept {
    const bool back = w->fresh.pop_if(h);
    if (!back) h->end.wait();
    unit_scheduler *s = w->owner;
    work_of(core::current_carrier())->add_ended();
    if (s->all_ended()) end_default_scheduler(s);
    return back;
}

// Another hart has the half, or it is an unusual one.
[[gnu::noinline]] int end_slowly(second_half *h, slot *w) noexcept {
    if (h->how & second_half::outermost) core::current_context()->self.forks = open_forks::none;
    if (h->goes(second_half::refused)) return 1;
    if (h->goes(second_half::opening)) return end_opened(h, w);
    if (h->goes(second_half::counted)) return end_counted(h, w);
    if (w->fresh.pop_if(h)) return 1;
    h->end.wait();
    return 0;
}

// In a context with TLS of its own, or one that has left its hart since it began.
[[gnu::noinline]] int end_anywhere(second_half *h) noexcept {
    (void)core::come_back();
    return end_slowly(h, work_of(core::current_carrier()));
}

// It was taken from the end of the deque, where a thief may take it, too.
[[gnu::noinline]] int end_doubtfully(second_half *h, slot *w) noexcept {
    return w->fresh.settle_pop() ? 1 : end_slowly(h, w);
}

} // namespace

} // namespace comity

using namespace comity;

extern "C" {

COMITY_HOT void comity_fork_begin(comity_fork_t *fork, void (*g)(void *), void *b) {
    static_assert(sizeof(second_half) <= sizeof(comity_fork_t));
    auto *h = new (fork) second_half(run_half, g, b);
    auto *w = static_cast<slot *>(core::work_at_hand());
    if (!w) [[unlikely]]
        return offer_anywhere(h);
    offer(h, w, core::current_context());
}

COMITY_HOT int comity_fork_end(comity_fork_t *fork) {
    auto *h = reinterpret_cast<second_half *>(fork);
    auto *w = static_cast<slot *>(core::work_at_hand());
    if (!w) [[unlikely]]
        return end_anywhere(h);
    if (h->how != second_half::usual) [[unlikely]]
        return end_slowly(h, w);
    switch (w->fresh.try_pop_if(h)) {
    case popped::yes:
        return 1;
    case popped::perhaps:
        return end_doubtfully(h, w);
    case popped::no:
        break;
    }
    return end_slowly(h, w);
}

void comity_fork_join(void (*f)(void *), void *a, void (*g)(void *), void *b) {
    comity_fork_t fork;
    comity_fork_begin(&fork, g, b);
    f(a);
    if (comity_fork_end(&fork)) g(b);
}
}
