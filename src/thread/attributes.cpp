// What a thread is called, what it is, and what it does at the moment.
#include "core/overflow.hpp"
#include "thread/extension.hpp"

#include <cerrno>
#include <cstring>
#include <mutex>

using namespace comity;

namespace {

// A glance from outside: what it reads may change at the same moment, but contexts and descriptors are never unmapped.
COMITY_UNSANITIZED comity_thread_state_t glance(const thread *t) noexcept {
    if (has_ended(t) || is_freed(t)) return COMITY_THREAD_ENDED;
    const thread_extension *x = extension_of(t);
    if (x && (x->state.load(std::memory_order_relaxed) & ~thread_extension::bits) != 0) return COMITY_THREAD_SUSPENDED;
    if (t == own_thread()) return COMITY_THREAD_RUNNING;
    const core::context *c = t->c; // before its start perhaps an earlier thread's, which runs something else or nothing
    if (!c || c->runs != t || c->state == core::context_state::exited || c->state == core::context_state::fresh)
        return COMITY_THREAD_CREATED;
    return c->state == core::context_state::running ? COMITY_THREAD_RUNNING : COMITY_THREAD_PAUSED;
}

// For the report of an overflow, in a signal's handler: without the lock. Whatever is written meanwhile, it ends with
// 0.
const char *name_of(const core::context *c) noexcept {
    const thread *t = c->state == core::context_state::running ? thread_of(c) : nullptr;
    const thread_extension *x = t ? extension_of(t) : nullptr;
    return x ? x->name : nullptr;
}

} // namespace

extern "C" {

int comity_thread_set_name(comity_thread_t *handle, const char *name) {
    if (!handle || !name || is_freed(static_cast<thread *>(handle))) return EINVAL;
    thread_extension *x = extend(static_cast<thread *>(handle));
    if (!x) return ENOMEM;
    const std::size_t n = strnlen(name, COMITY_THREAD_NAME_MAX);
    x->name_lock.lock();
    std::memcpy(x->name, name, n);
    x->name[n] = 0;
    x->name_lock.unlock();
    core::name_contexts_by(name_of);
    return 0;
}

int comity_thread_name(const comity_thread_t *handle, char *buffer, size_t size) {
    if (!handle || !buffer || size == 0) return EINVAL;
    buffer[0] = 0;
    thread_extension *x = extension_of(static_cast<const thread *>(handle));
    if (!x) return 0;
    x->name_lock.lock();
    const std::size_t n = strnlen(x->name, size - 1);
    std::memcpy(buffer, x->name, n);
    x->name_lock.unlock();
    buffer[n] = 0;
    return 0;
}

int comity_thread_get_attr(const comity_thread_t *t, comity_thread_attr_t *attr) {
    if (!t || !attr) return EINVAL;
    *attr = {};
    attr->technique = static_cast<comity_technique_t>(t->how);
    attr->stack_size = t->stack_size;
    attr->own_tls = t->own_tls();
    attr->detached = is_detached(static_cast<const thread *>(t));
    attr->priority = t->rank();
    return 0;
}

int comity_thread_set_priority(comity_thread_t *t, unsigned char priority) {
    if (!t || is_freed(static_cast<thread *>(t))) return EINVAL;
    t->set_rank(priority);
    return 0;
}
unsigned char comity_thread_priority(const comity_thread_t *t) { return t ? t->rank() : 0; }

comity_thread_state_t comity_thread_state(const comity_thread_t *t) {
    return t ? glance(static_cast<const thread *>(t)) : COMITY_THREAD_ENDED;
}
}
