// The techniques of Iwasaki's table 3.1, in the order of comity_technique_t.
#include "thread/technique/technique.hpp"

#include "core/sched.hpp"

namespace comity {

constexpr technique techniques[number_of_techniques] = {
    {run_by_call<false>, run_on_joiner, nullptr, false},                // the default: RoC-L
    {run_by_switch<true>, join_by_switch<true>, nullptr, true},         // Full
    {run_by_switch<false>, join_by_switch<false>, nullptr, false},      // Full-L
    {run_by_call<true>, join_by_call<true>, nullptr, true},             // RoC
    {run_by_call<false>, run_on_joiner, nullptr, false},                // RoC-L
    {run_separately<true>, join_by_call<true>, nullptr, true},          // SS; a joiner is not stateless, so it is saved
    {run_separately<false>, run_on_joiner, nullptr, false},             // SS-L
    {run_on_scheduler, run_on_joiner, nullptr, false},                  // SC
    {run_stackless, join_stackless, nullptr, false},                    // stackless
    {run_by_switch<true>, join_by_switch<true>, start_by_switch, true}, // C-Full: run and run_for serve a parent that
    {run_by_switch<false>, join_by_switch<false>, start_by_switch, false}, // C-Full-E: cannot wait in a queue
    {run_by_call<true>, join_by_call<true>, start_by_call, true},          // C-RoC
    {run_by_call<false>, run_on_joiner, start_by_call, false},             // C-RoC-E
};

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
