// C-Full, C-Full-E, C-RoC and C-RoC-E: child-first (Iwasaki, sections 3.3.4 and 3.5). The thread starts at its
// creation, and its parent waits in the hart's queue of fresh units, where others may steal it. The -E release the
// context at the thread's end (eager stack release), the others when the thread is disposed of.
//
// A thread that ends takes its parent out of the queue if that is still the newest there. In the RoC variants, if the
// thread itself was never stopped either, nothing stands between the two and it returns.
#include "thread/descent.hpp"
#include "thread/technique/technique.hpp"

namespace comity {

using core::context;

namespace {

// No place in the queue: it waits its turn as any that may go on.
[[gnu::noinline]] void give_way(thread *t, context *parent) noexcept {
    t->owner->goes_by_descent() ? give_way_by_descent(t, parent) : core::unblock(parent);
}

// On the thread's stack: the parent is off its own, and may go on elsewhere from now on.
[[gnu::always_inline]] inline void expose_parent(thread *t) noexcept {
    t->next->run = core::resume_unit;
    if (!t->owner->push_parent(*work_of(t->c->on), t->next)) [[unlikely]]
        give_way(t, core::context_of(t->next));
}

void leaving_main(void *argument) noexcept {
    auto *t = static_cast<thread *>(argument);
    expose_parent(t);
    run_and_leave(t); // the hart then finds the parent, or whatever else there is
}

void returning_main(void *argument) noexcept {
    auto *t = static_cast<thread *>(argument);
    unit *const parent = t->next;
    expose_parent(t);
    run_function(t);
    if (t->c->broken || !work_of(t->c->on)->fresh.pop_if(parent)) leave_context(t);
}

} // namespace

int start_by_switch(thread *t, context *parent) noexcept {
    t->next = &parent->self;
    core::switch_start(parent, own_context(t), leaving_main, t);
    return 0;
}

int start_by_call(thread *t, context *parent) noexcept {
    t->next = &parent->self;
    if (parent->on->guest) [[unlikely]]
        core::keep_guest_stack(parent->on); // a thief may resume the parent, or who waits for it, while the child runs
    if (!core::call(parent, own_context(t), returning_main, t)) return 0;
    part_from_context(t, parent->on);
    if (context *waiter = publish_end(t, parent->on)) [[unlikely]]
        core::unblock(waiter);
    return 0;
}

} // namespace comity
