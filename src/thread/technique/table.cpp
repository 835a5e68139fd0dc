// The techniques of Iwasaki's table 3.1, in the order of comity_technique_t.
#include "thread/technique/technique.hpp"

#include "core/sched.hpp"

namespace comity {

constexpr technique techniques[number_of_techniques] = {
    // the default: RoC-L
    {run_plain_by_call, run_by_call<false>, run_on_joiner, nullptr, false},
    // Full, Full-L
    {run_by_switch<true>, run_by_switch<true>, join_by_switch<true>, nullptr, true},
    {run_by_switch<false>, run_by_switch<false>, join_by_switch<false>, nullptr, false},
    // RoC, RoC-L
    {run_by_call<true>, run_by_call<true>, join_by_call<true>, nullptr, true},
    {run_plain_by_call, run_by_call<false>, run_on_joiner, nullptr, false},
    // SS, SS-L; a joiner is not stateless, so it is saved
    {run_separately<true>, run_separately<true>, join_by_call<true>, nullptr, true},
    {run_plain_separately, run_separately<false>, run_on_joiner, nullptr, false},
    // SC
    {run_plain_on_scheduler, run_separately<false>, run_on_joiner, nullptr, false},
    // stackless
    {run_stackless, run_stackless, join_stackless, nullptr, false},
    // C-Full, C-Full-E, C-RoC, C-RoC-E; the other columns serve a parent that cannot wait in a queue
    {run_by_switch<true>, run_by_switch<true>, join_by_switch<true>, start_by_switch, true},
    {run_by_switch<false>, run_by_switch<false>, join_by_switch<false>, start_by_switch, false},
    {run_by_call<true>, run_by_call<true>, join_by_call<true>, start_by_call, true},
    {run_plain_by_call, run_by_call<false>, run_on_joiner, start_by_call, false},
};

// ---- One after the other

namespace {

// A unit that the context may run next, instead of leaving that to the scheduler: the hart's newest, if it is started in
// the same way as what has just ended there. Null: none, or it is the turn of something else.
[[gnu::always_inline]] inline thread *next_alike(unit_scheduler::slot *w,
                                                 void (*run)(unit *, core::carrier *) noexcept) noexcept {
    if (++w->turns % unit_scheduler::turns_at_home == 0) return nullptr;
    if (w->turns % 4 == 0 && w->ready.load(std::memory_order_relaxed) != 0) return nullptr;
    unit *u = w->fresh.pop();
    if (!u) return nullptr;
    if (w->owner->could_use_harts() && !w->fresh.empty()) [[unlikely]]
        w->owner->hooks->units->call_help(w->owner);
    if (u->run == run) [[likely]]
        return static_cast<thread *>(static_cast<comity_thread *>(u));
    w->fresh.push(u); // there is room: it stood there
    return nullptr;
}

} // namespace

void run_plain_threads(void *argument) noexcept {
    auto *t = static_cast<thread *>(argument);
    core::context *c = t->c;
    for (;;) {
        const auto run = t->run;
        c->runs = t;
        t->value = t->fn(t->value);
        core::carrier *k = c->on;
        if (core::context *waiter = publish_end(t, k)) [[unlikely]]
            leave_to(c, waiter);
        t = next_alike(work_of(k), run);
        if (!t) break;
        t->c = c;
    }
    if (c->broken) [[unlikely]]
        leave_to(c, nullptr);
}

void leave_to(core::context *c, core::context *next) noexcept {
    core::exit_context(
        c,
        [](core::context *c, void *next) {
            core::carrier *k = core::current_carrier();
            unit_scheduler *s = work_of(k)->owner;
            give_back_plain_context(c, k);
            if (next) core::resume(k, static_cast<core::context *>(next));
            s->hooks->units->next(s, k);
        },
        next);
}

// ---- What they share

void run_and_return(void *argument) noexcept {
    auto *t = static_cast<thread *>(argument);
    t->value = t->fn(t->value);
    if (t->c->broken) [[unlikely]]
        leave_context(t);
}

void run_and_leave(void *argument) noexcept {
    auto *t = static_cast<thread *>(argument);
    t->value = t->fn(t->value);
    leave_context(t);
}

void leave_context(thread *t) noexcept {
    core::exit_context(
        t->c,
        [](core::context *, void *argument) {
            auto *t = static_cast<thread *>(argument);
            core::carrier *k = core::current_carrier();
            unit_scheduler *s = work_of(k)->owner;
            part_from_context(t, k);
            if (core::context *waiter = publish_end(t, k)) core::resume(k, waiter);
            s->hooks->units->next(s, k);
        },
        t);
}

} // namespace comity
