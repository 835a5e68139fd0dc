// Threads in a scheduler that runs them by who created whom: a thread starts at its creation, whatever its technique,
// and its creator waits in the scheduler's order meanwhile; the scheduler is told of its end. README.md, "By descent".
#include "thread/descent.hpp"

#include "thread/technique/technique.hpp"

#include <cerrno>

namespace comity {

using core::carrier;
using core::context;

namespace {

const core::unit_hooks *hooks_of(const unit_scheduler *s) noexcept { return s->hooks->units; }

void leave_untracked(thread *t) noexcept {
    t->take_marks(thread::that_is_tracked);
    t->tracked = tracking::none;
}

// On the thread's stack, with its creator off its own.
void start_first(void *argument) noexcept {
    auto *t = static_cast<thread *>(argument);
    hooks_of(t->owner)->gives_way(t->owner, core::context_of(t->next), t);
    run_and_leave(t);
}

// On the transition context.
void run_first(context *creator, void *argument) {
    auto *t = static_cast<thread *>(argument);
    carrier *k = core::current_carrier();
    unit_scheduler *s = t->owner;
    hooks_of(s)->gives_way(s, creator, t);
    t->run(t, k);
    hooks_of(s)->next(s, core::current_carrier());
}

int start(thread *t, context *creator) noexcept {
    if (t->how == COMITY_TECHNIQUE_STACKLESS) {
        core::pause(creator, run_first, t);
        return 0;
    }
    int error = 0;
    if (!how(t).eager && !(t->c = take_context(t, creator->on, error))) return error;
    t->next = &creator->self;
    core::switch_start(creator, own_context(t), start_first, t);
    return 0;
}

} // namespace

void track(thread *t) noexcept {
    t->add_marks(thread::that_is_tracked);
    t->tracked = tracking::told;
}

int begin_by_descent(thread *t, unit_scheduler *s) noexcept {
    track(t);
    context *const creator = core::current_context();
    const bool may_wait = creator->owner == s && creator != &creator->on->transition;
    int error = 0;
    if (may_wait && hooks_of(s)->goes_first(s, t, creator))
        error = start(t, creator);
    else if (!hooks_of(s)->push(s, t))
        error = ENOMEM;
    if (error != 0) leave_untracked(t);
    return error;
}

void give_way_by_descent(thread *t, context *creator) noexcept {
    track(t);
    hooks_of(t->owner)->gives_way(t->owner, creator, t);
}

void end_tracked(thread *t) noexcept { hooks_of(t->owner)->ends(t->owner, t); }

} // namespace comity
