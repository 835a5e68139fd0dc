#include "core/context.hpp"

#include "core/promotion.hpp"
#include "core/runtime.hpp"
#include "core/spinlock.hpp"
#include "core/tls/block.hpp"
#include "sys/options.hpp"

#include <cerrno>
#include <new>

namespace comity::core {

extern "C" {
__thread context *comity_tls_current = nullptr;
}

__attribute__((noinline)) context **current_slot() noexcept {
    context **slot = &comity_tls_current;
    asm volatile("" : "+r"(slot));
    return slot;
}

// For gdb (tools/gdb): every context that exists, by id.
extern "C" {
context *comity_all_contexts = nullptr;
}

namespace {
spinlock all_contexts_lock;
std::uint64_t next_id = 1; // under all_contexts_lock
constexpr std::size_t least_stack = std::size_t{16} << 10;
} // namespace

void enlist(context *c) noexcept {
    all_contexts_lock.lock();
    c->id = next_id++;
    c->all_prev = nullptr;
    c->all_next = comity_all_contexts;
    if (c->all_next) c->all_next->all_prev = c;
    comity_all_contexts = c;
    all_contexts_lock.unlock();
}

void delist(context *c) noexcept {
    all_contexts_lock.lock();
    (c->all_prev ? c->all_prev->all_next : comity_all_contexts) = c->all_next;
    if (c->all_next) c->all_next->all_prev = c->all_prev;
    all_contexts_lock.unlock();
}

void contexts_before_fork() noexcept { all_contexts_lock.lock(); }
void contexts_after_fork() noexcept { all_contexts_lock.unlock(); } // in both processes

context *create_context(std::size_t stack_size, bool full, int &error) noexcept {
    if (stack_size == 0) stack_size = sys::get_options().stack_size;
    if (stack_size < least_stack) stack_size = least_stack;
    auto *c = new (std::nothrow) context;
    if (!c) {
        error = ENOMEM;
        return nullptr;
    }
    if (full) {
        c->tls = make_tls_block(stack_size, error);
        if (!c->tls) {
            delete c;
            return nullptr;
        }
        c->tls_base = c->tls->base;
        *c->tls->current_slot = c; // it is the only one to run on this block
        c->stack_top = c->tls->stack_top;
    } else {
        c->stack = sys::map_stack(stack_size);
        if (!c->stack) {
            error = ENOMEM;
            delete c;
            return nullptr;
        }
        c->stack_top = c->stack.top;
        c->shares_tls = true;
        c->fiber.create();
    }
    enlist(c);
    count_context();
    error = 0;
    return c;
}

void destroy_context(context *c) noexcept {
    if (c->at_end) c->at_end(c);
    delist(c);
    c->fiber.destroy();
    free_promotion(c);
    if (c->tls) free_tls_block(c->tls);
    if (c->stack) sys::unmap_stack(c->stack);
    delete c;
}

} // namespace comity::core
