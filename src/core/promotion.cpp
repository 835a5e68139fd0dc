#include "core/promotion.hpp"

#include "core/base.hpp"
#include "core/binding.hpp"
#include "core/carrier.hpp"
#include "core/context_mask.hpp"
#include "core/cpu_time.hpp"
#include "core/overflow.hpp"
#include "core/runtime.hpp"
#include "core/sched.hpp"
#include "core/tls/block.hpp"
#include "sys/interruption.hpp"
#include "sys/kernel_thread.hpp"
#include "sys/memory.hpp"
#include "sys/message.hpp"
#include "sys/signals.hpp"

#include <atomic>
#include <new>
#include <utility>

namespace comity::core {

// A kernel thread that lent its TLS, as the carrier that it is while its context is promoted. It lies above its
// transition context's stack, in memory from the kernel: the context may have been stopped within the C library's
// allocator (displacement), with its locks. For the same reason `place` is here.
struct promotion {
    carrier k;
    binding place;
    context ground; // the kernel thread's own frame, to which demote switches
    context *c = nullptr;
    void *signal_stack = nullptr; // of its second kernel thread and those after; null: none yet
    void (*fn)(void *) = nullptr;
    void *arg = nullptr;
    const sys::cpu_set *cpus = nullptr; // where it runs (place_promotion)
    std::uint64_t cpus_id = 0;
    bool stays = false;         // for ever: the process is the child of the context's fork
    bool is_counted_on = false; // stay_promoted
};

namespace {

constexpr std::size_t transition_stack_size = std::size_t{64} << 10;

std::atomic<void (*)() noexcept> way_home{nullptr}; // set_way_home

promotion *make_promotion(context *c) noexcept {
    constexpr std::size_t align = 64;
    static_assert(alignof(promotion) <= align);
    constexpr std::size_t own_size = (sizeof(promotion) + align - 1) / align * align;
    const sys::stack_memory stack = sys::map_stack(transition_stack_size + own_size);
    if (!stack) return nullptr;
    auto *p = new (stack.top - own_size) promotion;
    p->k.transition.stack = stack;
    p->k.bound = &p->place;
    p->c = c;
    p->k.adopted = true;
    p->k.native = c;
    p->k.transition.stack_top = stack.top - own_size;
    p->k.transition.fiber.create();
    return p;
}

// On the donor's kernel thread.
void run_promoted(void *argument) {
    auto *p = static_cast<promotion *>(argument);
    context *c = p->c;
    if (!p->k.slot) init_carrier(&p->k);
    // In the child of a fork, and after the donor was away, it is another one; else the timers' thread may be reading.
    if (const int id = sys::kernel_thread_id(); p->k.kernel_id != id) {
        p->k.kernel_id = id;
        donor_was_replaced(&p->k, c);
        p->place = {};
        p->signal_stack = give_signal_stack(p->signal_stack);
    }
    c->tls->donor_has_run = true;
    p->ground.on = &p->k;
    p->ground.tls_base = p->k.tls_base;
    // The context stands on the same stack.
    const std::byte *bottom = c->tls->stack_bottom;
    const auto size = static_cast<std::size_t>(static_cast<std::byte *>(__builtin_frame_address(0)) - bottom);
    p->ground.fiber.adopt_running(bottom, size);
    if (COMITY_KNOWS_STACKS) c->fiber.adopt_running(bottom, size);
    p->k.current = &p->ground;
    run_on(&p->k, p->cpus, p->cpus_id);
    (void)sys::exchange_mask(mask_of_promoted(c->tls));
    note_awake();
    c->home = &p->k;
    c->owner = nullptr;
    c->caught = *p->k.caught; // what is on its block already, now that it shares it with this thread's other contexts
    c->shares_tls = true;
    if (c->state == context_state::fresh)
        switch_start(&p->ground, c, p->fn, p->arg);
    else
        switch_to(&p->ground, c);
    promoted_stops(c->tls);
    sys::block_as_lent_threads();
    c->shares_tls = false;
    *p->k.caught = c->caught;
    *p->k.slot = c;
    *p->k.work_slot = p->k.work = nullptr; // the block is the context's own again
    note_asleep();
    p->fn(p->arg); // demote's `then`
}

} // namespace

// Of the context that has forked the kernel thread is the parent's.
bool promotable(const context *c) noexcept {
    return c->tls && c->tls->provider == tls_provider::donor && !c->tls->forked;
}

bool can_promote() noexcept { return select_tls_provider() == tls_provider::donor; }

bool prepare_promotion(context *c) noexcept {
    promotion *&p = c->tls->promoted;
    if (!p) p = make_promotion(c);
    return p && have_kernel_thread(c->tls);
}

bool promote_caller() noexcept {
    context *c = current_context();
    if (!promotable(c) || !c->on->carried || !prepare_promotion(c)) return false;
    pause(
        c,
        [](context *self, void *) {
            carrier *k = current_carrier();
            promote(self, nullptr, nullptr);
            block(k, self);
        },
        nullptr);
    return true;
}

void place_promotion(context *c, const sys::cpu_set *cpus, std::uint64_t id) noexcept {
    c->tls->promoted->cpus = cpus;
    c->tls->promoted->cpus_id = id;
}

bool promote(context *c, void (*fn)(void *), void *arg) noexcept {
    if (!prepare_promotion(c)) return false;
    promotion *p = c->tls->promoted;
    p->fn = fn;
    p->arg = arg;
    run_on_donor(c->tls, run_promoted, p);
    return true;
}

std::int64_t promoted_others_cpu(const context *c) noexcept {
    return c->tls->promoted ? c->tls->promoted->k.others_cpu.get() : 0;
}

bool is_promoted(const context *c) noexcept {
    return c->tls && c->tls->promoted && c->home == &c->tls->promoted->k && !c->tls->promoted->stays;
}

bool stay_promoted(context *c, bool stays) noexcept {
    return c->tls && c->tls->promoted && std::exchange(c->tls->promoted->is_counted_on, stays);
}

bool may_demote(const context *c) noexcept { return is_promoted(c) && !c->tls->promoted->is_counted_on; }

void set_way_home(void (*way)() noexcept) noexcept { way_home.store(way, std::memory_order_relaxed); }

void go_back_home(const context *c) noexcept {
    const auto way = way_home.load(std::memory_order_relaxed);
    if (way && may_demote(c)) way();
}

void demote(context *c, void (*then)(void *), void *arg) noexcept {
    promotion *p = c->tls->promoted;
    drop_kept_hart(&p->k); // here, where there is stack enough
    p->fn = then;
    p->arg = arg;
    c->home = nullptr;
    switch_to(c, &p->ground);
}

void leave_fault_handlers() noexcept {
    const std::uint64_t now = sys::exchange_mask(~std::uint64_t{0}); // from here on it stays on this kernel thread
    const bool in_handler = (now & ~sys::mask_of_lent_threads) != 0; // nothing else blocks faults
    context *c = current_context();
    const std::uint64_t usual = c && c->tls ? sys::mask_of_carriers() : 0;
    (void)sys::exchange_mask(in_handler ? usual : now);
    if (c) c->self.is_moved = false; // the jump leads out of our handler, too
}

bool promotion_over(const context *c) noexcept { return donor_asleep(c->tls); }

// To the C library, the thread whose TLS this is has forked: it is the one of the kernel thread, whichever that was.
carrier *stay_after_fork(carrier *k) noexcept {
    context *c = k->current;
    if (is_promoted(c)) c->tls->promoted->stays = true;
    if (k->bound) binding_after_fork(k);
    if (!k->carried) return k;
    if (c->home) {
        k->carried = nullptr;
        become(k, &base());
        c->owner = nullptr;
        return k;
    }
    promotion *&p = c->tls->promoted;
    if (!p) p = make_promotion(c);
    if (!p) sys::fatal("forking", "no memory for the child");
    p->stays = true;
    p->place = {};
    if (!p->k.slot) init_carrier(&p->k);
    p->k.kernel_id = sys::kernel_thread_id();
    p->k.current = c;
    *p->k.work_slot = p->k.work = nullptr;
    c->on = c->home = &p->k;
    c->owner = nullptr;
    c->shares_tls = true;
    return &p->k;
}

void free_promotion(context *c) noexcept {
    promotion *p = c->tls->promoted;
    if (!p) return;
    follow_none(&p->k);
    forget(&p->k);
    p->k.transition.fiber.destroy();
    free_signal_stack(p->signal_stack);
    sys::stack_memory stack = p->k.transition.stack;
    p->~promotion();
    sys::unmap_stack(stack);
    c->tls->promoted = nullptr;
}

} // namespace comity::core
