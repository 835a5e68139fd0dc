#include "thread/extension.hpp"

#include "core/chaos.hpp"
#include "sys/backoff.hpp"
#include "thread/descent.hpp"
#include "thread/own_storage.hpp"
#include "thread/technique/technique.hpp"

#include <new>

namespace comity {

// Whoever uses it marks it: the thread that finds what another one has just made ends by its own mark.
thread_extension *extend(thread *t) noexcept {
    thread_extension *there = extension_of(t);
    if (!there) {
        auto *made = new (std::nothrow) thread_extension;
        if (!made) return nullptr;
        const bool is_first =
            t->rest().more.compare_exchange_strong(there, made, std::memory_order_acq_rel); // acq_rel[thread-more]
        core::chaos_point();
        if (is_first)
            there = made;
        else
            delete made;
    }
    if (!t->is_extended()) t->marks.fetch_or(thread::that_is_extended, std::memory_order_relaxed);
    return there;
}

void await_taker(const thread_extension *x) noexcept {
    for (sys::backoff b; x->state.load(std::memory_order_acquire) & thread_extension::taking;) // acquire[taking]
        b.pause();
}

// Cleanup handlers come first, as they may use the thread's values; then, as at a POSIX thread's end, the destructors
// of its variables, those of its keys, and those of what these have made.
static void end_extension(const thread *t) noexcept {
    thread_extension *x = extension_of(t);
    x->state.fetch_or(thread_extension::ending, std::memory_order_relaxed);
    await_taker(x); // whose request may be why it ends, and who then has no right to the handle any more
    while (comity_cleanup_t *c = x->cleanup) {
        x->cleanup = c->before;
        c->fn(c->arg);
    }
    if (x->has_own_storage) end_own_storage();
    destroy_values(x);
    if (x->has_own_storage) end_own_storage();
}

void end_with_more(thread *t) noexcept {
    if (t->is_extended()) end_extension(t);
    if (t->has(thread::that_is_tracked)) end_tracked(t);
}

void free_extension(thread *t) noexcept {
    thread_extension *x = extension_of(t);
    t->take_marks(thread::that_is_extended);
    t->rest().more.store(nullptr, std::memory_order_relaxed);
    sys::free_own(x->values, x->number_of_values * sizeof(key_value));
    delete x;
}

} // namespace comity
