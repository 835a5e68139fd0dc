// A thread that has not started and whose joiner has it at hand runs on the joiner's own stack: the joiner would wait
// for this thread and nothing else, so it loses nothing, and when the thread is stopped the two are stopped together.
// Only the end is a matter of its own: comity_thread_exit gives up what stands on the stack since the call. A part of
// each join in reverse order, so it stands here to become a part of the joiner's function.
#pragma once

#include "thread/technique/technique.hpp"

namespace comity {

// The thread has what is to be done before it ends: after its function, as a part of it: it may still exit.
void end_on_joiner(thread *t) noexcept;

[[gnu::always_inline]] inline bool may_run_on(const core::context *c) noexcept {
    const core::carrier *k = c->on;
    const std::byte *floor = k->guest == c ? k->transition.floor : c->floor;
    // comity_thread_exit leaves all handlers of exceptions, and those of the joiner are not the thread's; nor are the
    // exceptions that are on their way through it, or the forks that are open on it.
    const core::exception_state *e = core::caught_by(c);
    if ((reinterpret_cast<std::uintptr_t>(e->caught) | e->uncaught | static_cast<unsigned>(c->self.forks)) != 0)
        return false;
    // ThreadSanitizer keeps a stack of calls of its own, which leave_joiner would upset. The frame's address, not a
    // variable's: AddressSanitizer would guard that in a frame that may be left without a return.
    return !core::orders_switches && static_cast<std::byte *>(__builtin_frame_address(0)) > floor;
}

// Returns when the thread has ended. May switch.
[[gnu::always_inline]] inline void run_on_joiner_here(thread *t, core::context *joiner) noexcept {
    if (!is_plain(t) || !may_run_on(joiner)) [[unlikely]]
        return join_by_call<false>(t, joiner);
    t->join.take(joiner);
    t->c = joiner;
    void *const before = joiner->runs;
    joiner->runs = t;
    void *const result = core::arch::comity_arch_call_here(reinterpret_cast<void **>(&t->next), t->fn, t->value);
    if (t->next) [[likely]] { // else it has left
        t->value = result;
        if (t->has(marks_at_end)) [[unlikely]]
            end_on_joiner(t);
    }
    joiner->runs = before;
    work_of(joiner->on)->add_ended();
}

// ---- The same for a stackless thread, which is called with the transition context in the joiner's place.

inline bool catches(const core::carrier *k) noexcept { return k->caught->caught || k->caught->uncaught; }
// What the joiner catches is put aside meanwhile.
void run_beside_exceptions(thread *t, const core::carrier *k) noexcept;

[[gnu::always_inline]] inline void run_stackless_here(thread *t, core::context *joiner) noexcept {
    core::carrier *k = joiner->on;
    t->join.take(joiner);
    void *const before = k->transition.runs;
    k->transition.runs = t;
    core::stand_on_transition(k);
    if (catches(k)) [[unlikely]]
        run_beside_exceptions(t, k);
    else
        run_function(t);
    core::stand_on(k, joiner);
    k->transition.runs = before;
    work_of(k)->add_ended();
}

} // namespace comity
