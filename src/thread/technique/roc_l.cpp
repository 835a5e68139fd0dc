// RoC-L: return on completion with lazy stack allocation (Iwasaki, sections 3.4.1 and 3.4.3). A thread gets a context
// when it starts and is called on it. If it is never stopped it returns, and whoever called it goes on without a
// switch: a scheduler with the next unit, a joiner after its join. A thread that was stopped ends by a switch.
#include "thread/cache.hpp"

#include "core/carrier.hpp"
#include "sys/message.hpp"

namespace comity {

using core::carrier;
using core::context;

namespace {

int prepare(thread *, carrier *) noexcept { return 0; }

context *get_context(thread *t, carrier *k) noexcept {
    int error = 0;
    context *c = take_context(t, k, error);
    if (!c) [[unlikely]]
        sys::fatal("starting a thread", "no memory for its stack, or no thread-local storage; see COMITY_STACK_SIZE");
    t->c = c;
    c->owner = t->owner;
    return c;
}

void run(unit *u, carrier *k) noexcept {
    auto *t = static_cast<thread *>(u);
    context *c = get_context(t, k);
    const std::uint32_t stack_size = t->stack_size;
    const bool own_tls = t->own_tls;
    core::call(&k->transition, c, roc_l_main, t);
    give_back_context(c, stack_size, own_tls, k);
}

void run_for(thread *t, context *joiner) noexcept {
    context *c = get_context(t, joiner->on);
    t->join.store(reinterpret_cast<std::uintptr_t>(joiner), std::memory_order_relaxed);
    core::call(joiner, c, roc_l_main_for, t);
    if (t->c) // it returned
        give_back_context(c, t->stack_size, t->own_tls, joiner->on);
}

void left(thread *t, carrier *k) noexcept {
    context *c = static_cast<context *>(t->c);
    t->c = nullptr;
    give_back_context(c, t->stack_size, t->own_tls, k);
}

} // namespace

void roc_l_main(void *argument) noexcept {
    auto *t = static_cast<thread *>(argument);
    t->result = t->fn(t->arg);
    const auto *c = static_cast<context *>(t->c);
    if (!core::unbroken(c)) [[unlikely]]
        leave_context(t);
    if (context *waiter = publish_end(t, c->on)) [[unlikely]]
        core::unblock(waiter);
}

void roc_l_main_for(void *argument) noexcept {
    auto *t = static_cast<thread *>(argument);
    t->result = t->fn(t->arg);
    const auto *c = static_cast<context *>(t->c);
    if (!core::unbroken(c)) [[unlikely]]
        leave_context(t);
    t->owner->own_tally(c->on).add_ended();
    t->join.store(thread::ended, std::memory_order_relaxed); // the joiner is the caller
}

constexpr technique roc_l{prepare, run, run_for, left, nullptr};

} // namespace comity
