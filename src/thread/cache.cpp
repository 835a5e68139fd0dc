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

namespace {

constexpr unsigned most_harts = 1024;
constexpr unsigned chunk = 64;             // descriptors that come and go between a hart and the shared list at once
constexpr unsigned hart_contexts = 64;     // a hart keeps at most so many contexts of a kind,
constexpr unsigned shared_contexts = 4096; // and all together so many more

// A list by `result` (descriptors, which have none when they are free) or by context::next.
struct descriptor_list {
    thread *first = nullptr;
    unsigned count = 0;
    void push(thread *t) noexcept {
        t->result = first;
        first = t;
        ++count;
    }
    thread *pop() noexcept {
        thread *t = first;
        if (t) {
            first = static_cast<thread *>(t->result);
            --count;
        }
        return t;
    }
};

struct context_list {
    context *first = nullptr;
    std::atomic<unsigned> count{0}; // written by whoever may push and pop; others read it as a hint
    void push(context *c) noexcept {
        c->next = first;
        first = c;
        count.store(size() + 1, std::memory_order_relaxed);
    }
    context *pop() noexcept {
        context *c = first;
        if (c) {
            first = static_cast<context *>(c->next);
            count.store(size() - 1, std::memory_order_relaxed);
        }
        return c;
    }
    void forget_all() noexcept {
        first = nullptr;
        count.store(0, std::memory_order_relaxed);
    }
    [[nodiscard]] unsigned size() const noexcept { return count.load(std::memory_order_relaxed); }
};

struct alignas(64) hart_cache { // the hart's
    descriptor_list descriptors;
    context_list contexts[2]; // bare and with their own TLS
    std::uint32_t generation = 0;
};

hart_cache caches[most_harts];

core::spinlock shared_lock;
descriptor_list shared_descriptors; // under shared_lock
context_list shared_bare;           // under shared_lock

hart_cache &own_cache(carrier *k) noexcept { return caches[k->carried->id]; }

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

thread *take_descriptor(carrier *k) noexcept {
    hart_cache &c = own_cache(k);
    if (!c.descriptors.first && !refill(c)) [[unlikely]]
        return nullptr;
    return c.descriptors.pop();
}

void give_back_descriptor(thread *t, carrier *k) noexcept {
    if (k) [[likely]] {
        hart_cache &c = own_cache(k);
        c.descriptors.push(t);
        if (c.descriptors.count <= 64 * chunk) [[likely]]
            return;
        shared_lock.lock();
        for (unsigned i = 0; i < chunk; ++i) shared_descriptors.push(c.descriptors.pop());
        shared_lock.unlock();
        return;
    }
    shared_lock.lock();
    shared_descriptors.push(t);
    shared_lock.unlock();
}

context *take_context(const thread *t, carrier *k, int &error) noexcept {
    if (t->stack_size == 0) [[likely]] {
        hart_cache &c = own_cache(k);
        if (t->own_tls) forget_forked(c);
        if (context *found = c.contexts[t->own_tls].pop()) [[likely]]
            return found;
        if (!t->own_tls && shared_bare.size() != 0) {
            shared_lock.lock();
            context *found = shared_bare.pop();
            shared_lock.unlock();
            if (found) return found;
        }
    }
    return core::create_context(t->stack_size, t->own_tls, error);
}

void give_back_context(context *c, std::uint32_t stack_size, bool own_tls, carrier *k) noexcept {
    if (stack_size == 0) [[likely]] {
        if (k) {
            context_list &list = own_cache(k).contexts[own_tls];
            if (list.size() < hart_contexts) [[likely]]
                return list.push(c);
        }
        shared_lock.lock();
        const bool keep = !own_tls && shared_bare.size() < shared_contexts;
        if (keep) shared_bare.push(c);
        shared_lock.unlock();
        if (keep) return;
    }
    core::destroy_context(c);
}

} // namespace comity
