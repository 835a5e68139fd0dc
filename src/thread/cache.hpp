// Descriptors and contexts of threads, kept per hart so that creating one costs a few instructions. What a hart keeps
// is touched only by code that holds this hart and does not switch in between.
#pragma once

#include "sys/enumeration.hpp"
#include "sys/options.hpp"
#include "thread/thread.hpp"

#include <atomic>
#include <cstdint>

namespace comity {

// Free descriptors, by unit::next.
struct descriptor_list {
    thread *first = nullptr;
    unsigned count = 0;
    void push(thread *t) noexcept {
        t->next = first;
        first = t;
        ++count;
    }
    void drop_first() noexcept {
        first = static_cast<thread *>(static_cast<comity_thread *>(first->next));
        --count;
    }
    thread *pop() noexcept {
        thread *t = first;
        if (t) drop_first();
        return t;
    }
};

// Contexts that have exited, by context::next.
struct context_list {
    core::context *first = nullptr;
    std::atomic<unsigned> count{0}; // written by whoever may push and pop; others read it as a hint
    void push(core::context *c) noexcept {
        c->next = first;
        first = c;
        count.store(size() + 1, std::memory_order_relaxed);
    }
    core::context *drop_first() noexcept {
        core::context *c = first;
        first = c->next;
        count.store(size() - 1, std::memory_order_relaxed);
        return c;
    }
    core::context *pop() noexcept { return first ? drop_first() : nullptr; }
    void forget_all() noexcept {
        first = nullptr;
        count.store(0, std::memory_order_relaxed);
    }
    [[nodiscard]] unsigned size() const noexcept { return count.load(std::memory_order_relaxed); }
};

struct alignas(64) hart_cache {
    static constexpr unsigned most_contexts = 1024, most_descriptors = 4096;
    descriptor_list descriptors;
    context_list contexts[2]; // of the default size: bare and with their own TLS
    // Bare ones of other sizes: small stacks, and those of one size more.
    context_list small, sized;
    std::size_t size = 0; // of the stacks in `sized`, as the pool rounds it; changes while it is empty
    std::uint32_t generation = 0;
    // Of the automatic technique: how many of 256 threads that ran on their joiners' stacks were stopped, the latest
    // ones counting most; and how often that was too many.
    std::uint16_t stopped = 0, declined = 0;
};

[[gnu::visibility("hidden")]] extern hart_cache caches[sys::most_harts];
inline hart_cache &own_cache(const core::carrier *k) noexcept { return caches[k->carried->id]; }

// The rare cases of the functions below.
thread *make_descriptors(hart_cache &c) noexcept;
void share_descriptors(thread *t, hart_cache *own) noexcept;
core::context *take_other_context(const thread *t, core::carrier *k, int &error) noexcept;
void give_back_other_context(core::context *c, std::uint32_t stack_size, bool own_tls, core::carrier *k) noexcept;

// That of the hart whose slot it is. The slot remembers it, unless its scheduler ends with the last thread
// (`implicit`), for which each join has to look.
inline hart_cache &cache_of(unit_scheduler::slot &w) noexcept {
    if (w.cache) [[likely]]
        return *static_cast<hart_cache *>(w.cache);
    hart_cache *own = &caches[w.hart];
    if (!w.owner->implicit) w.cache = own;
    return *own;
}

// A descriptor; null when there is no memory. For the calling hart.
inline thread *take_descriptor(unit_scheduler::slot &w) noexcept {
    hart_cache &c = cache_of(w);
    thread *t = c.descriptors.pop();
    return t ? t : make_descriptors(c);
}

// k: the calling carrier with a hart, or null.
inline void give_back_descriptor(thread *t, const core::carrier *k) noexcept {
    hart_cache *own = k ? &own_cache(k) : nullptr;
    t->join.begin(end_word::freed);
    t->stack_size = 0;
    if (own && own->descriptors.count < hart_cache::most_descriptors) [[likely]]
        return own->descriptors.push(t);
    share_descriptors(t, own);
}

// A fresh or exited context as the thread's attributes want it; null with an error number.
inline core::context *take_context(const thread *t, core::carrier *k, int &error) noexcept {
    if (is_plain(t)) [[likely]]
        if (core::context *found = own_cache(k).contexts[0].pop()) [[likely]]
            return found;
    return take_other_context(t, k, error);
}

// A bare context of the default size. Null: there is no memory.
core::context *make_plain_context(core::carrier *k) noexcept;
inline core::context *take_plain_context(core::carrier *k) noexcept {
    core::context *found = own_cache(k).contexts[0].pop();
    if (found) [[likely]]
        return found;
    return make_plain_context(k);
}

// Will the hart keep one more of them itself? It touches that only after it has left it.
inline bool keeps_plain_context(const core::carrier *k) noexcept {
    return own_cache(k).contexts[0].size() < hart_cache::most_contexts;
}

// There is no context for a unit that was taken from its scheduler to be started: it goes back there, to be started
// later, and others go on, of which some will end and leave theirs. The unit may be gone afterwards. For the calling
// hart. False: its scheduler has no such place for it.
[[nodiscard]] bool put_off(unit *u, core::carrier *k) noexcept;
// Where put_off says no: what the kernel refuses may be there a moment later. Ends the program when there is none for a
// second.
core::context *await_context(const thread *t, core::carrier *k) noexcept;

// What take_context gave for a thread with these attributes. k: as above. The context must have exited.
inline void give_back_context(core::context *c, std::uint32_t stack_size, bool own_tls, core::carrier *k) noexcept {
    if (k && stack_size == 0 && !own_tls && keeps_plain_context(k)) [[likely]]
        return own_cache(k).contexts[0].push(c);
    give_back_other_context(c, stack_size, own_tls, k);
}

// What take_plain_context gave.
inline void give_back_plain_context(core::context *c, core::carrier *k) noexcept { give_back_context(c, 0, false, k); }

// ---- The begin of a thread

inline constexpr comity_thread_attr_t default_attributes{};

inline bool valid(const comity_thread_attr_t &a) noexcept {
    return sys::number_of(a.technique) < number_of_techniques && a.stack_size <= UINT32_MAX;
}

// Stackless threads have no stack, and neither storage nor an affinity of their own.
inline bool is_possible(const comity_thread_attr_t &a) noexcept {
    const bool needs_context = a.hart_count != 0 || a.own_tls || a.stack_size != 0;
    return valid(a) && !(needs_context && a.technique == COMITY_TECHNIQUE_STACKLESS);
}

inline bool is_plain(const comity_thread_attr_t &a) noexcept { return a.stack_size == 0 && !a.own_tls; }

// Is it joinable, without an affinity, and plain?
inline bool is_plain_joinable(const comity_thread_attr_t &a) noexcept {
    std::uint64_t flags = 0; // own_tls and detached
    static_assert(offsetof(comity_thread_attr_t, detached) == offsetof(comity_thread_attr_t, own_tls) + sizeof(int));
    std::memcpy(&flags, reinterpret_cast<const std::byte *>(&a) + offsetof(comity_thread_attr_t, own_tls),
                sizeof flags);
    return sys::number_of(a.technique) < number_of_techniques && (a.stack_size | a.hart_count | flags) == 0;
}

// Fills in a fresh descriptor of such a thread, but for `marks`; `stack_size` is 0 in a free one.
[[gnu::always_inline]] inline void dress_plainly(thread *t, unit_scheduler *s, const comity_thread_attr_t &a,
                                                 run_function_t run, void *(*fn)(void *)) noexcept {
    t->run = run;
    t->set_rank(a.priority);
    t->how = static_cast<std::uint8_t>(a.technique);
    t->fn = fn;
    t->owner = s;
    t->join.begin(end_word::open);
}

// Fills in a fresh descriptor. The attributes are valid.
[[gnu::always_inline]] inline void dress(thread *t, unit_scheduler *s, const comity_thread_attr_t &a,
                                         void *(*fn)(void *)) noexcept {
    const technique &h = techniques[a.technique];
    const bool plain = is_plain(a);
    dress_plainly(t, s, a, plain ? h.run : h.run_special, fn);
    t->mark_as((a.own_tls ? thread::with_tls : 0) | (h.eager ? thread::that_has_context : 0) |
               (plain ? 0 : thread::that_is_special));
    t->stack_size = static_cast<std::uint32_t>(a.stack_size);
    if (a.detached) t->join.begin(end_word::detached);
}

} // namespace comity
