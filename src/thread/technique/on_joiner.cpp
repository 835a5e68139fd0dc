// A thread that has not started and whose joiner has it at hand runs on the joiner's own stack: the joiner would wait
// for this thread and nothing else, so it loses nothing, and when the thread is stopped the two are stopped together.
// Only the end is a matter of its own: comity_thread_exit gives up what stands on the stack since the call.
#include "thread/technique/technique.hpp"

#include <utility>

namespace comity {

using core::carrier;
using core::context;

namespace {

// After its function, as a part of it: it may still exit.
[[gnu::noinline]] void end_here(thread *t) noexcept {
    core::arch::comity_arch_call_here(
        reinterpret_cast<void **>(&t->next),
        [](void *argument) -> void * {
            end_with_more(static_cast<thread *>(argument));
            return nullptr;
        },
        t);
}

bool may_run_on(const context *c) noexcept {
    const carrier *k = c->on;
    const std::byte *floor = k->guest == c ? k->transition.floor : c->floor;
    // comity_thread_exit leaves all handlers of exceptions, and those of the joiner are not the thread's; nor are the
    // exceptions that are on their way through it, or the forks that are open on it.
    const core::exception_state *e = core::caught_by(c);
    if ((reinterpret_cast<std::uintptr_t>(e->caught) | e->uncaught | static_cast<std::uint32_t>(c->self.forks)) != 0)
        return false;
    // ThreadSanitizer keeps a stack of calls of its own, which leave_joiner would upset.
    return !core::orders_switches && static_cast<std::byte *>(__builtin_frame_address(0)) > floor;
}

} // namespace

void run_on_joiner(thread *t, context *joiner) noexcept {
    if (!is_plain(t) || !may_run_on(joiner)) return join_by_call<false>(t, joiner);
    t->join.take(joiner);
    t->c = joiner;
    void *const before = joiner->runs;
    joiner->runs = t;
    void *const result = core::arch::comity_arch_call_here(reinterpret_cast<void **>(&t->next), t->fn, t->value);
    if (t->next) [[likely]] { // else it has left
        t->value = result;
        if (t->has(marks_at_end)) [[unlikely]]
            end_here(t);
    }
    joiner->runs = before;
    work_of(joiner->on)->add_ended();
}

void leave_joiner(thread *t) noexcept { core::arch::comity_arch_leave(std::exchange(t->next, nullptr)); }

} // namespace comity
