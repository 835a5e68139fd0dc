#include "core/context.hpp"

#include "core/promotion.hpp"
#include "core/runtime.hpp"
#include "core/spinlock.hpp"
#include "core/tls/block.hpp"
#include "sys/message.hpp"
#include "sys/options.hpp"
#include "sys/stack_pool.hpp"

#include <cerrno>
#include <new>

namespace comity::core {

extern "C" {
__thread context *comity_tls_current = nullptr;
__thread void *comity_tls_work = nullptr;
}

__attribute__((noinline)) void **work_slot() noexcept {
    void **slot = &comity_tls_work;
    asm volatile("" : "+r"(slot));
    return slot;
}

__attribute__((noinline)) context **current_slot() noexcept {
    context **slot = &comity_tls_current;
    asm volatile("" : "+r"(slot));
    return slot;
}

// ---- Memory of contexts: chunks that are never given back, so that a pointer to a context always points to one.

// For gdb (tools/gdb), which finds every context here: those whose id is not 0.
struct context_chunk {
    context_chunk *next = nullptr;
    std::uint64_t carved = 0; // so many of `first` have been used; under contexts_lock
    context *first = nullptr;
};
extern "C" {
context_chunk *comity_context_chunks = nullptr; // the newest first; under contexts_lock
}

namespace {

spinlock contexts_lock;
context *free_contexts = nullptr; // by `next`; under contexts_lock, as is next_id
std::uint32_t next_id = 1;        // never 0, also when it has come round

constexpr std::size_t chunk_size = std::size_t{1} << 20;
constexpr std::size_t chunk_contexts = (chunk_size - sizeof(context)) / sizeof(context);
constexpr std::size_t least_full_stack = std::size_t{16} << 10;
constexpr unsigned most_at_once = 8;

// Under contexts_lock.
context *take_memory() noexcept {
    if (context *c = free_contexts) {
        allow_memory(c, sizeof *c);
        free_contexts = c->next;
        return c;
    }
    context_chunk *chunk = comity_context_chunks;
    return chunk && chunk->carved < chunk_contexts ? &chunk->first[chunk->carved++] : nullptr;
}

// Without the lock: another thread may do the same at this moment, then there are two.
bool add_chunk() noexcept {
    auto *at = static_cast<std::byte *>(sys::map_pages(chunk_size));
    if (!at) return false;
    auto *chunk = new (at) context_chunk;
    static_assert(sizeof(context_chunk) <= alignof(context));
    chunk->first = reinterpret_cast<context *>(at + alignof(context));
    contexts_lock.lock();
    chunk->next = comity_context_chunks;
    comity_context_chunks = chunk;
    contexts_lock.unlock();
    return true;
}

unsigned allocate_contexts(context **out, unsigned n) noexcept {
    unsigned got = 0;
    do {
        contexts_lock.lock();
        for (; got < n && (out[got] = take_memory()); ++got) {
            new (out[got]) context;
            out[got]->id = next_id;
            next_id += next_id == UINT32_MAX ? 2 : 1;
        }
        contexts_lock.unlock();
    } while (got < n && add_chunk());
    return got;
}

} // namespace

context *allocate_context() noexcept {
    context *c = nullptr;
    return allocate_contexts(&c, 1) ? c : nullptr;
}

namespace {
void free_contexts_of(context **contexts, unsigned n) noexcept {
    for (unsigned i = 0; i < n; ++i) contexts[i]->id = 0;
    contexts_lock.lock();
    for (unsigned i = 0; i < n; ++i) {
        contexts[i]->next = free_contexts;
        free_contexts = contexts[i];
        forbid_memory(contexts[i], sizeof(context));
    }
    contexts_lock.unlock();
}
} // namespace

void free_context(context *c) noexcept { free_contexts_of(&c, 1); }

void contexts_before_fork() noexcept {
    sys::stack_pool_before_fork();
    contexts_lock.lock();
    sys::own_memory_before_fork();
}
void contexts_after_fork() noexcept { // in both processes
    sys::own_memory_after_fork();
    contexts_lock.unlock();
    sys::stack_pool_after_fork();
}

// Without the lock: the process is about to die, and a context whose stack overflowed stays where it is.
COMITY_UNSANITIZED const context *overflowed_at(const void *address) noexcept {
    for (const context_chunk *chunk = comity_context_chunks; chunk; chunk = chunk->next)
        for (std::uint64_t i = 0; i < chunk->carved; ++i) {
            const context &c = chunk->first[i];
            if (c.id == 0) continue;
            const sys::stack_memory &stack = c.tls ? c.tls->stack : c.stack;
            // Below the lowest of small stacks, but a page away from others at most, there is a guard.
            const std::size_t guard = stack.kind == sys::guard_kind::canary ? sys::page_size() : stack.guard_size;
            if (address >= stack.bottom - guard && address < stack.bottom) return &c;
        }
    return nullptr;
}

void check_canary(const context *c) noexcept {
    if (!sys::canary_intact(c->stack)) [[unlikely]]
        sys::fatal("stack overflow", "context %u used more than its small stack of %zu bytes; give it a larger one",
                   c->id, sys::small_stack_size);
}

// ---- Contexts

namespace {

std::size_t standard_or(std::size_t stack_size) noexcept {
    return stack_size ? stack_size : sys::get_options().stack_size;
}

std::byte *middle(std::byte *bottom, void *top) noexcept {
    return bottom + (static_cast<std::byte *>(top) - bottom) / 2;
}

// Making and freeing storage waits for kernel threads: the watch must not take that for a wait of the program's.
class settled {
public:
    settled() noexcept : k_(current_carrier()), before_(k_ && k_->settled) { set(true); }
    ~settled() { set(before_); }
    settled(const settled &) = delete;
    settled &operator=(const settled &) = delete;

private:
    void set(bool to) const noexcept {
        std::atomic_signal_fence(std::memory_order_seq_cst); // with the handler: seq_cst[settled]
        if (k_) k_->settled = to;
        std::atomic_signal_fence(std::memory_order_seq_cst); // seq_cst[settled]
    }
    carrier *k_;
    bool before_; // in a callback it was settled already
};

context *create_full(std::size_t stack_size, int &error) noexcept {
    context *c = allocate_context();
    if (!c) {
        error = ENOMEM;
        return nullptr;
    }
    const settled here;
    c->tls = make_tls_block(stack_size < least_full_stack ? least_full_stack : stack_size, error);
    if (!c->tls) {
        free_context(c);
        return nullptr;
    }
    c->tls_base = c->tls->base;
    *c->tls->current_slot = c; // it is the only one to run on this block
    c->stack_top = c->tls->stack_top;
    c->floor = middle(c->tls->stack_bottom, c->stack_top);
    count_contexts(1);
    error = 0;
    return c;
}

} // namespace

unsigned create_bare_contexts(std::size_t stack_size, context **out, unsigned n) noexcept {
    stack_size = standard_or(stack_size);
    const bool standard = stack_size >= sys::get_options().stack_size;
    if (stack_size < least_bare_stack) stack_size = least_bare_stack;
    sys::stack_memory stacks[most_at_once];
    const unsigned with_stack = sys::take_stacks(stack_size, stacks, n < most_at_once ? n : most_at_once);
    const unsigned got = allocate_contexts(out, with_stack);
    if (got < with_stack) sys::give_back_stacks(stacks + got, with_stack - got);
    for (unsigned i = 0; i < got; ++i) {
        context *c = out[i];
        c->stack = stacks[i];
        c->stack_top = sys::coloured_top(stacks[i]);
        // Whoever is called on this stack instead of one of its own expects the default size.
        c->floor = standard ? middle(c->stack.bottom, c->stack_top) : static_cast<std::byte *>(c->stack_top);
        c->shares_tls = true;
        c->fiber.create();
    }
    count_contexts(got);
    return got;
}

context *create_context(std::size_t stack_size, bool full, int &error) noexcept {
    if (full) return create_full(standard_or(stack_size), error);
    context *c = nullptr;
    error = create_bare_contexts(stack_size, &c, 1) ? 0 : ENOMEM;
    return c;
}

void destroy_bare_contexts(context **contexts, unsigned n) noexcept {
    sys::stack_memory stacks[most_at_once];
    for (unsigned i = 0; i < n; ++i) {
        context *c = contexts[i];
        if (c->at_end) c->at_end(c);
        check_canary(c);
        c->fiber.destroy();
        forget_frames(c->stack.bottom, c->stack.top); // those that were left without a return
        stacks[i] = c->stack;
    }
    sys::give_back_stacks(stacks, n);
    free_contexts_of(contexts, n);
}

void destroy_context(context *c) noexcept {
    if (!c->tls) return destroy_bare_contexts(&c, 1);
    if (c->at_end) c->at_end(c);
    c->fiber.destroy();
    const settled here;
    free_promotion(c);
    free_tls_block(c->tls);
    free_context(c);
}

} // namespace comity::core
