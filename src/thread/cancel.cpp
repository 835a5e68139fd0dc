// Deferred cancellation. Protocol "Suspend and cancel": README.md.
#include "thread/extension.hpp"

#include "sys/message.hpp"

#include <cerrno>

namespace comity {

int cancel_here() noexcept {
    thread *t = own_thread();
    thread_extension *x = t ? extension_of(t) : nullptr;
    if (!is_cancelled(x) || t->how == COMITY_TECHNIQUE_STACKLESS) return 0;
    // What a prepared thread is called with is its data; then `unwinds` is its own, and not an earlier thread's.
    if (t->value == t->data && t->unwinds) return ECANCELED;
    comity_thread_exit(COMITY_THREAD_CANCELLED);
}

} // namespace comity

using namespace comity;

extern "C" {

int comity_thread_cancel(comity_thread_t *handle) {
    if (!handle) return EINVAL;
    auto *t = static_cast<thread *>(handle);
    if (has_ended(t)) return ESRCH;
    thread_extension *x = extend(t);
    if (!x) return ENOMEM;
    std::uintptr_t before = 0;
    if (core::context *c = take_suspended(x, thread_extension::requested, before)) core::unblock(c);
    if (before & thread_extension::ending) return ESRCH;
    return 0;
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
