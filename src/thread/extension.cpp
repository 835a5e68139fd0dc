#include "thread/extension.hpp"

#include "thread/technique/technique.hpp"

#include <cstdlib>
#include <new>

namespace comity {

thread_extension *extend(thread *t) noexcept {
    if (thread_extension *x = extension_of(t)) return x;
    auto *made = new (std::nothrow) thread_extension;
    if (!made) return nullptr;
    thread_extension *there = nullptr;
    if (!t->more.compare_exchange_strong(there, made, std::memory_order_acq_rel)) { // acq_rel[thread-more]
        delete made;
        return there;
    }
    t->extended.store(1, std::memory_order_relaxed);
    return made;
}

// Cleanup handlers come first, as they may use the thread's values.
void end_extension(thread *t) noexcept {
    thread_extension *x = extension_of(t);
    x->state.fetch_or(thread_extension::ending, std::memory_order_relaxed);
    while (comity_cleanup_t *c = x->cleanup) {
        x->cleanup = c->before;
        c->fn(c->arg);
    }
    destroy_values(x);
}

void free_extension(thread *t) noexcept {
    thread_extension *x = extension_of(t);
    t->extended.store(0, std::memory_order_relaxed);
    t->more.store(nullptr, std::memory_order_relaxed);
    std::free(x->values);
    delete x;
}

} // namespace comity
