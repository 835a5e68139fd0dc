#include "thread/cache.hpp"

#include "core/runtime.hpp"
#include "core/spinlock.hpp"
#include "sys/message.hpp"
#include "sys/process.hpp"

#include <atomic>
#include <new>

namespace comity {

using core::carrier;
using core::context;

hart_cache caches[most_harts];

namespace {

constexpr unsigned chunk = 64;             // descriptors that come and go between a hart and the shared list at once
constexpr unsigned shared_contexts = 4096; // bare contexts that all harts together keep beside their own

core::spinlock shared_lock;
descriptor_list shared_descriptors; // under shared_lock
context_list shared_bare;           // under shared_lock

bool refill(hart_cache &c) noexcept {
    shared_lock.lock();
    for (unsigned i = 0; i < chunk && shared_descriptors.first; ++i) c.descriptors.push(shared_descriptors.pop());
    shared_lock.unlock();
    if (c.descriptors.first) return true;
    auto *block = new (std::nothrow) thread[chunk]; // never freed: there are never more than lived at once
    for (unsigned i = 0; block && i < chunk; ++i) c.descriptors.push(&block[i]);
    return block;
}

// ---- Fork. The other harts' caches may be caught in the middle of a change: the child does without them.

void before_fork() noexcept { shared_lock.lock(); }
void parent_after_fork() noexcept { shared_lock.unlock(); }
void child_after_fork() noexcept {
    shared_lock.unlock();
    const carrier *k = core::current_carrier();
    for (unsigned i = 0; i < most_harts; ++i) {
        hart_cache &c = caches[i];
        if (k && k->carried && k->carried->id == static_cast<int>(i)) continue;
        if (c.descriptors.first) c.descriptors = {}; // else not to be written: it is 128 KiB
        for (context_list &list : c.contexts)
            if (list.first) list.forget_all();
    }
}

__attribute__((constructor)) void watch_forks() noexcept {
    if (!sys::at_fork(before_fork, parent_after_fork, child_after_fork))
        sys::warn("no memory to prepare for fork: a child process must not make threads of Comity's");
}

// Contexts with their own TLS do not survive a fork: their kernel threads are in the parent.
void forget_forked(hart_cache &c) noexcept {
    const std::uint32_t now = core::generation();
    if (c.generation == now) return;
    if (c.generation != 0)
        while (context *old = c.contexts[1].pop()) core::destroy_context(old);
    c.generation = now;
}

} // namespace

thread *make_descriptors(hart_cache &c) noexcept { return refill(c) ? c.descriptors.pop() : nullptr; }

void share_descriptors(thread *t, hart_cache *own) noexcept {
    shared_lock.lock();
    shared_descriptors.push(t);
    for (unsigned i = 1; own && i < chunk; ++i) shared_descriptors.push(own->descriptors.pop());
    shared_lock.unlock();
}

context *take_other_context(const thread *t, carrier *k, int &error) noexcept {
    if (t->stack_size == 0) {
        if (t->own_tls) {
            hart_cache &c = own_cache(k);
            forget_forked(c);
            if (context *found = c.contexts[1].pop()) return found;
        } else if (shared_bare.size() != 0) {
            shared_lock.lock();
            context *found = shared_bare.pop();
            shared_lock.unlock();
            if (found) return found;
        }
    }
    return core::create_context(t->stack_size, t->own_tls, error);
}

void give_back_other_context(context *c, std::uint32_t stack_size, bool own_tls, carrier *k) noexcept {
    if (stack_size == 0) {
        if (k && own_tls && own_cache(k).contexts[1].size() < hart_cache::most_contexts)
            return own_cache(k).contexts[1].push(c);
        shared_lock.lock();
        const bool keep = !own_tls && shared_bare.size() < shared_contexts;
        if (keep) shared_bare.push(c);
        shared_lock.unlock();
        if (keep) return;
    }
    core::destroy_context(c);
}

} // namespace comity
