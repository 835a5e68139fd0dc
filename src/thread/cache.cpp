#include "thread/cache.hpp"

#include "core/runtime.hpp"
#include "core/spinlock.hpp"
#include "core/tls/block.hpp"
#include "sys/clock.hpp"
#include "sys/futex.hpp"
#include "sys/message.hpp"
#include "sys/process.hpp"
#include "sys/stack_pool.hpp"
#include "thread/spare.hpp"

#include <cerrno>
#include <new>
#include <utility>

namespace comity {

using core::carrier;
using core::context;

hart_cache caches[sys::most_harts];

namespace {

constexpr unsigned chunk =
    descriptor_block::size;           // descriptors that come and go between a hart and the shared list at once
constexpr unsigned context_chunk = 8; // bare contexts that come and go between a hart and the core at once
constexpr unsigned full_chunk = 4;    // contexts with storage that come and go between a hart and all others

core::spinlock shared_lock;
descriptor_list shared_descriptors; // under shared_lock

std::atomic<bool> missing{false}; // a context, at a start; by anybody, for good

bool refill(hart_cache &c) noexcept {
    shared_lock.lock();
    for (unsigned i = 0; i < chunk && shared_descriptors.first; ++i) c.descriptors.push(shared_descriptors.pop());
    shared_lock.unlock();
    if (c.descriptors.first) return true;
    auto *block = new (std::nothrow) descriptor_block; // never freed: there are never more than lived at once
    for (unsigned i = 0; block && i < chunk; ++i) c.descriptors.push(&block->threads[i]);
    return block;
}

// ---- Fork. The other harts' caches may be caught in the middle of a change: the child does without them.

void before_fork() noexcept { shared_lock.lock(); }
void parent_after_fork() noexcept { shared_lock.unlock(); }
void child_after_fork() noexcept {
    shared_lock.unlock();
    const carrier *k = core::current_carrier();
    for (unsigned i = 0; i < sys::most_harts; ++i) {
        hart_cache &c = caches[i];
        if (k && k->carried && k->carried->id == static_cast<int>(i)) continue;
        if (c.descriptors.first) c.descriptors = {}; // else not to be written: it is 128 KiB
        for (context_list *list : {&c.contexts[0], &c.contexts[1], &c.small, &c.sized})
            if (list->first) list->forget_all();
    }
}

__attribute__((constructor)) void watch_forks() noexcept {
    if (!sys::at_fork(before_fork, parent_after_fork, child_after_fork))
        sys::warn("no memory to prepare for fork: a child process must not make threads of Comity's");
}

// ---- Contexts

// The hart's list of bare contexts of this size; null: it keeps none. The size is the thread's.
context_list *list_of(hart_cache &c, std::size_t stack_size) noexcept {
    if (stack_size == 0) return &c.contexts[0];
    if (stack_size <= sys::small_stack_size) return &c.small;
    const std::size_t rounded = sys::pooled_stack_size(stack_size);
    if (c.sized.first == nullptr) c.size = rounded;
    return rounded != 0 && rounded == c.size ? &c.sized : nullptr;
}

// One for the caller, and some for the list.
context *make_bare_contexts(std::size_t stack_size, context_list *list, int &error) noexcept {
    context *some[context_chunk];
    unsigned got = stack_size == 0 ? take_bare_contexts(some, context_chunk) : 0;
    if (got == 0) {
        got = core::create_bare_contexts(stack_size, some, list ? context_chunk : 1);
        count_bare_contexts(static_cast<int>(got));
    }
    error = got ? 0 : ENOMEM;
    for (unsigned i = 1; i < got; ++i) list->push(some[i]);
    return got ? some[0] : nullptr;
}

void destroy_bare(context **some, unsigned n) noexcept {
    core::destroy_bare_contexts(some, n);
    count_bare_contexts(-static_cast<int>(n));
}

// The list is full: makes room in it.
void drop_some(context_list &list, bool shared) noexcept {
    context *some[context_chunk];
    for (context *&c : some) c = list.pop();
    if (!shared || !share_bare_contexts(some, context_chunk)) destroy_bare(some, context_chunk);
}

// ---- With storage: a hart keeps few of them, since each may be a kernel thread.

// One of the default size, that was used or is new.
context *take_full_context(hart_cache &own, int &error) noexcept {
    if (context *found = own.contexts[1].pop()) return found;
    context *some[full_chunk];
    if (const unsigned got = take_full_contexts(some, full_chunk)) {
        for (unsigned i = 1; i < got; ++i) own.contexts[1].push(some[i]);
        return some[0];
    }
    context *made = core::create_context(0, true, error);
    if (made) count_full_context(1);
    return made ? made : wake_one();
}

void keep_full_context(context *c, hart_cache &own) noexcept {
    context_list &list = own.contexts[1];
    if (list.size() >= 2 * full_chunk) {
        context *some[full_chunk];
        for (context *&one : some) one = list.pop();
        share_full_contexts(some, full_chunk);
    }
    list.push(c);
}

void destroy_full(context *c, bool of_default_size) noexcept {
    core::destroy_context(c);
    if (of_default_size) count_full_context(-1);
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
    hart_cache &own = own_cache(k);
    if (t->own_tls()) {
        if (t->stack_size != 0) return core::create_context(t->stack_size, true, error);
        forget_forked(own);
        return take_full_context(own, error);
    }
    context_list *list = list_of(own, t->stack_size);
    if (list)
        if (context *found = list->pop()) return found;
    return make_bare_contexts(t->stack_size, list, error);
}

bool contexts_were_missing() noexcept { return missing.load(std::memory_order_relaxed); }

namespace {

// Says so once if it has been like that for a second: nobody can be told by an error number.
void note_put_off() noexcept {
    constexpr std::int64_t second_ns = 1'000'000'000;
    static std::atomic<std::int64_t> since{0}, last{0};
    static std::atomic<bool> told{false};
    const std::int64_t now = sys::now_ns();
    if (now - last.exchange(now, std::memory_order_relaxed) > second_ns) since.store(now, std::memory_order_relaxed);
    if (now - since.load(std::memory_order_relaxed) > second_ns && !told.exchange(true, std::memory_order_relaxed))
        sys::warn("threads that were created wait for memory for their stacks; see COMITY_STACK_SIZE");
}

} // namespace

bool put_off(unit *u, carrier *k) noexcept {
    constexpr std::int64_t between_ns = 500'000;
    missing.store(true, std::memory_order_relaxed);
    const unit_scheduler::slot *w = work_of(k);
    unit_scheduler *s = w->owner;
    if (!s->hooks->units->accept || s->goes_by_descent()) return false;
    note_put_off();
    if (w->ready.empty()) sys::nap(between_ns); // who might leave a context is not on this hart
    s->hooks->units->accept(s, u);
    return true;
}

context *await_context(const thread *t, carrier *k) noexcept {
    constexpr std::int64_t tries = 100, between_ns = 10'000'000;
    for (std::int64_t i = 0; i < tries; ++i) {
        const bool was_settled = std::exchange(k->settled, true); // it keeps the hart, which its caller goes on with
        sys::nap(between_ns);
        k->settled = was_settled;
        int error = 0;
        if (context *c = take_context(t, k, error)) return c;
    }
    sys::fatal("starting a thread", "no memory for its stack, or no thread-local storage; see COMITY_STACK_SIZE");
}

context *make_plain_context(carrier *k) noexcept {
    const thread plain{};
    int error = 0;
    return take_other_context(&plain, k, error);
}

void give_back_other_context(context *c, std::uint32_t stack_size, bool own_tls, carrier *k) noexcept {
    if (own_tls) {
        if (!k || stack_size != 0 || c->tls->used_up || c->tls->forked) return destroy_full(c, stack_size == 0);
        c->tls->has_mask = false;    // the next thread's is the usual one
        forget_forked(own_cache(k)); // else they might be shared
        if (c->tls->id_was_told) c = let_rest(c);
        if (c) keep_full_context(c, own_cache(k));
        return;
    }
    context_list *list = k ? list_of(own_cache(k), stack_size) : nullptr;
    if (!list) return destroy_bare(&c, 1);
    core::check_canary(c);
    if (list->size() >= hart_cache::most_contexts) drop_some(*list, stack_size == 0);
    list->push(c);
}

} // namespace comity
