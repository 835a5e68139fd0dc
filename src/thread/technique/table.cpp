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
    // automatic
    {run_plain_by_call, run_by_call<false>, run_where_it_pays, nullptr, false},
};

constexpr std::array<run_function_t, number_of_techniques> find_runs_without_context() {
    std::array<run_function_t, number_of_techniques> found{};
    for (unsigned i = 0; i < number_of_techniques; ++i)
        if (!techniques[i].eager && !techniques[i].start) found[i] = techniques[i].run;
    return found;
}
constexpr std::array<run_function_t, number_of_techniques> runs_without_context = find_runs_without_context();

// ---- One after the other

bool next_alike::may_go_on(unit_scheduler::slot *w, core::carrier *k) noexcept {
    unit_scheduler *s = w->owner;
    if (!w->take_turns_at_home(at_once)) {
        const auto nothing_beyond = s->hooks->units->sees_nothing_beyond;
        if (!nothing_beyond || !nothing_beyond(s, k)) return false;
    }
    if (!w->ready.empty() && w->owes_ready(w->turns.load(std::memory_order_relaxed))) return false;
    if (s->could_use_harts() && w->fresh.size() > 1) [[unlikely]]
        s->hooks->units->call_help(s);
    return true;
}

namespace {

[[noreturn, gnu::noinline]] void go_on_with(core::context *waiter, core::context *c, core::carrier *k) noexcept {
    if (!keeps_plain_context(k)) leave_to(c, waiter);
    give_back_plain_context(c, k);
    core::exit_to(c, waiter);
}

template <bool alone> [[gnu::always_inline]] inline void run_one_by_one(thread *t, core::context *c) noexcept {
    next_alike next(t->run, alone);
    do {
        t->c = c;
        c->runs = t;
        run_function(t);
        core::carrier *k = c->on;
        if (core::context *waiter = publish_end(t, k, alone)) [[unlikely]]
            go_on_with(waiter, c, k);
        t = next.take(k, c->broken);
    } while (t);
}

} // namespace

COMITY_HOT void run_plain_threads(void *argument) noexcept {
    auto *t = static_cast<thread *>(argument);
    core::context *c = t->c;
    work_of(c->on)->owner->alone() ? run_one_by_one<true>(t, c) : run_one_by_one<false>(t, c);
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

// From the top of the transition stack: a hart that has nothing else comes here again and again.
[[gnu::noinline]] void go_on_elsewhere(core::carrier *k) noexcept {
    core::rewind(
        k,
        [](void *own, void *carried_by) {
            auto *s = static_cast<unit_scheduler *>(own);
            s->hooks->units->next(s, static_cast<core::carrier *>(carried_by));
        },
        work_of(k)->owner, k);
}

[[gnu::noinline]] core::context *find_context(thread *t, core::carrier *k) noexcept {
    int error = 0;
    if (core::context *c = take_context(t, k, error)) return c;
    return put_off(t, k) ? nullptr : await_context(t, k);
}

core::context *tell_waiter(std::uintptr_t found, thread *t, core::carrier *k) noexcept {
    if (end_word::is_waited_for(found)) return waiter_for(found, k, work_of(k)->owner);
    if (found == end_word::detached) {
        lose_result(t);
        dispose(t, k);
    }
    return nullptr;
}

namespace {

// When the thread ends, will its context stay with it, or with this hart?
bool is_kept_here(const thread *t, const core::carrier *k) noexcept {
    return how(t).eager || (is_plain(t) && keeps_plain_context(k));
}

} // namespace

void run_and_return(void *argument) noexcept {
    auto *t = static_cast<thread *>(argument);
    run_function(t);
    if (t->c->broken) [[unlikely]]
        leave_context(t);
}

namespace {

// On the context that goes on where `ended` has left its own for good.
void finish_behind(void *ended) {
    auto *t = static_cast<thread *>(ended);
    core::carrier *k = core::current_carrier();
    part_from_context(t, k);
    if (core::context *waiter = publish_end(t, k)) [[unlikely]]
        core::unblock(waiter);
}

// Leaves the thread's context for good and goes on with the hart's newest unit, if that is a thread that starts by a
// switch too, or a parent. Returns if there is none, or if it is the turn of something else.
template <bool eager> void leave_to_newest(thread *t, unit_scheduler::slot *w) noexcept {
    unit *u = next_unit(w, [](const unit *u) { return u->run == run_by_switch<eager> || u->run == core::resume_unit; });
    if (!u) return;
    if (u->run == core::resume_unit) core::exit_to(t->c, core::context_of(u), finish_behind, t);
    auto *next = static_cast<thread *>(static_cast<comity_thread *>(u));
    core::context *c = get_context<eager>(next, t->c->on);
    if (!eager && !c) [[unlikely]]
        return;
    core::exit_start(t->c, c, run_and_leave, next, finish_behind, t);
}

[[noreturn, gnu::noinline]] void end_and_leave(thread *t) noexcept {
    core::carrier *k = t->c->on;
    unit_scheduler::slot *w = work_of(k);
    core::context *waiter = is_kept_here(t, k) ? t->join.end_for_waiter_here(k, w->owner) : nullptr;
    if (!waiter) {
        how(t).eager ? leave_to_newest<true>(t, w) : leave_to_newest<false>(t, w);
        leave_context(t);
    }
    // Nobody but the waiter disposes of the thread, and it goes on when this stack is left.
    core::context *c = t->c;
    part_from_context(t, k);
    w->add_ended();
    core::exit_to(c, waiter);
}

} // namespace

void run_and_leave(void *argument) noexcept {
    auto *t = static_cast<thread *>(argument);
    run_function(t);
    end_and_leave(t);
}

void leave_context(thread *t) noexcept {
    core::exit_context(
        t->c,
        [](core::context *, void *argument) {
            auto *t = static_cast<thread *>(argument);
            core::carrier *k = core::current_carrier();
            unit_scheduler *s = work_of(k)->owner;
            finish(t, k);
            s->hooks->units->next(s, k);
        },
        t);
}

} // namespace comity
