// Deferred cancellation. Protocol "Suspend and cancel": README.md.
#include "thread/interruption.hpp"

#include "core/base.hpp"
#include "core/chaos.hpp"
#include "core/runtime.hpp"
#include "sys/fence.hpp"
#include "sys/message.hpp"

#include <cerrno>

namespace comity {

using core::carrier;
using core::context;

int cancel_here() noexcept {
    thread *t = own_thread();
    thread_extension *x = t ? extension_of(t) : nullptr;
    if (!is_cancelled(x) || t->how == COMITY_TECHNIQUE_STACKLESS) return 0;
    if (t->unwinds()) return ECANCELED;
    if (core::current_context()->self.is_in_fork())
        return 0; // a half of a fork must return; it takes effect after that
    comity_thread_exit(COMITY_THREAD_CANCELLED);
}

// ---- Waits that a request ends. Protocol "Cancelled waits".

bool open_to_cancel(thread *t, interruption &i) noexcept {
    announce_wait(t, i);
    core::chaos_point();
    sys::light_fence(); // with end_wait's
    return !is_cancelled(extension_of(t));
}

namespace {

bool lacks_the_only_hart() noexcept {
    const carrier *k = core::current_carrier();
    return core::base().hart_count() == 1 && !(k && k->carried);
}

context *take_waiting(const thread *t) noexcept {
    interruption *i = t->rest().waits.load(std::memory_order_acquire); // acquire[thread-waits]
    return i ? i->take(i) : nullptr;
}

// With `taking` set.
void end_wait(const thread *t, thread_extension *x) noexcept {
    core::chaos_point();
    sys::heavy_fence(); // with that of the thread that waits or has waited
    const interruption *i = t->rest().waits.load(std::memory_order_acquire); // acquire[thread-waits]
    const bool needs_hart = i && i->with_hart && lacks_the_only_hart();
    context *c = needs_hart ? nullptr : take_waiting(t);
    x->state.fetch_and(~thread_extension::taking, std::memory_order_release); // release[taking]
    if (c) core::unblock(c);
    if (!needs_hart) return;
    carrier *k = core::enter_comity();
    // Meanwhile it may have ended, and the descriptor be another thread's. But who waits stays where it is while the
    // caller holds the only hart.
    i = t->rest().waits.load(std::memory_order_acquire); // acquire[thread-waits]
    if (i && is_cancelled(extension_of(t)))
        if ((c = take_waiting(t))) core::unblock(c);
    core::leave_comity(k, core::next_use::not_known);
}

} // namespace

} // namespace comity

using namespace comity;

extern "C" {

int comity_thread_cancel(comity_thread_t *handle) {
    if (!handle) return EINVAL;
    auto *t = static_cast<thread *>(handle);
    if (has_ended(t)) return ESRCH;
    if (is_freed(t)) return EINVAL; // else the request would be the next thread's
    thread_extension *x = extend(t);
    if (!x) return ENOMEM;
    std::uintptr_t before = 0;
    if (context *c = take_suspended(x, thread_extension::requested, before))
        core::unblock(c);
    else if (before == 0)
        end_wait(t, x);
    return before & thread_extension::ending ? ESRCH : 0;
}

int comity_thread_testcancel(void) { return cancel_here(); }

int comity_thread_set_cancel(int enabled) {
    thread *t = own_thread();
    if (!t) return 0;
    thread_extension *x = enabled ? extension_of(t) : extend(t);
    if (!x) return enabled ? 1 : -1;
    const std::uintptr_t before = enabled ? x->state.fetch_and(~thread_extension::disabled, std::memory_order_relaxed)
                                          : x->state.fetch_or(thread_extension::disabled, std::memory_order_relaxed);
    return (before & thread_extension::disabled) == 0;
}

int comity_thread_cleanup_push(comity_cleanup_t *place, void (*fn)(void *), void *arg) {
    thread *t = own_thread();
    if (!t) return EPERM;
    if (!place || !fn) return EINVAL;
    thread_extension *x = extend(t);
    if (!x) return ENOMEM;
    *place = {x->cleanup, fn, arg};
    x->cleanup = place;
    return 0;
}

void comity_thread_cleanup_pop(comity_cleanup_t *place, int execute) {
    thread *t = own_thread();
    thread_extension *x = t ? extension_of(t) : nullptr;
    if (!x || x->cleanup != place)
        sys::fatal("comity_thread_cleanup_pop", "it is not the newest cleanup handler of the calling thread");
    x->cleanup = place->before;
    if (execute) place->fn(place->arg);
}
}
