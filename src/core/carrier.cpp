#include "core/carrier.hpp"

#include "core/base.hpp"
#include "core/binding.hpp"
#include "core/callbacks.hpp"
#include "core/chaos.hpp"
#include "core/context_mask.hpp"
#include "core/cpu_time.hpp"
#include "core/idle_spin.hpp"
#include "core/input.hpp"
#include "core/overflow.hpp"
#include "core/runtime.hpp"
#include "core/sched.hpp"
#include "sys/clock.hpp"
#include "sys/core_demand.hpp"
#include "sys/cpp_library.hpp"
#include "sys/futex.hpp"
#include "sys/interruption.hpp"
#include "sys/kernel_thread.hpp"
#include "sys/memory.hpp"
#include "sys/message.hpp"
#include "sys/options.hpp"
#include "sys/process.hpp"
#include "sys/signals.hpp"

#include <cerrno>
#include <new>
#include <utility>

namespace comity::core {

// ---- Parking

static __thread bool serves_deadlines __attribute__((tls_model("initial-exec"))) = false;
void serve_deadlines() noexcept { serves_deadlines = true; }

static __thread bool skips_idle_spin __attribute__((tls_model("initial-exec"))) = false;
void skip_idle_spin() noexcept { skips_idle_spin = true; }

bool parker::take() noexcept {
    if (word_.load(std::memory_order_relaxed) != token) return false;
    word_.exchange(empty, std::memory_order_acquire); // acquire[park-token]
    return true;
}

bool parker::sleep_until(std::int64_t deadline, bool tells) noexcept {
    std::uint32_t expected = empty;
    // A token that came meanwhile makes this fail, so a wake cannot be lost between the last look and the sleep.
    if (word_.compare_exchange_strong(expected, parked, std::memory_order_relaxed)) {
        note_asleep();
        const std::uint64_t from = sys::ticks();
        for (;;) {
            const bool late = sys::futex_wait(word_, parked, deadline) == sys::wait_result::timed_out;
            if (word_.load(std::memory_order_relaxed) == token) break;
            expected = parked;
            if (late && word_.compare_exchange_strong(expected, empty, std::memory_order_relaxed)) {
                note_awake();
                return false;
            }
        }
        note_awake();
        if (tells) note_sleep(sys::ticks() - from);
    }
    word_.exchange(empty, std::memory_order_acquire); // acquire[park-token]
    return true;
}

bool parker::wait_until(std::int64_t deadline) noexcept {
    return take() || sleep_until(deadline, deadline == INT64_MAX);
}

// False: it is another's turn, or nobody waits for input.
bool parker::sleep_at_input() noexcept {
    if (!begin_sleeping_for_input()) return false;
    input_reports brought;
    std::uint32_t expected = empty;
    if (word_.compare_exchange_strong(expected, at_input, std::memory_order_relaxed)) {
        note_asleep();
        sleep_for_input(brought);
        note_awake();
        expected = at_input;
        word_.compare_exchange_strong(expected, empty, std::memory_order_relaxed);
    }
    end_sleeping_for_input(brought);
    return true;
}

// True: the token has come, and is taken. Beyond the length for which everybody spins it is for a machine that has
// cores to spare: what other processes run there, and threads that are not Comity's, come first. Who has been given the
// hart has the core with it, or waits for it: beside him there is none for its worker, but for the moment that a grant
// takes.
bool parker::spin_idle(const hart *own) noexcept {
    constexpr std::uint64_t grant_us = 4;
    const std::uint64_t from = sys::ticks();
    std::uint64_t next_look = spin_ticks(), idle_at = from, looked = from;
    for (bool taken = take();; taken = take()) {
        if (taken || awaits_input()) return taken;
        const std::uint64_t now = sys::ticks(), spent = now - from;
        if (spent >= idle_spin_ticks()) return false;
        if (now - looked > ticks_per_us()) { // all idle harts look at one word
            looked = now;
            if (base().is_idle(own)) idle_at = now;
            if (now - idle_at > grant_us * ticks_per_us()) return false;
            if (threads_are_bound.load(std::memory_order_relaxed)) sys::yield_kernel_thread();
        }
        if (spent >= next_look) {
            if (sys::are_cores_short()) return false;
            next_look = 2 * spent;
        }
        for (int i = 0; i < 16; ++i) sys::cpu_relax();
    }
}

void parker::wait_idle(const hart *own, bool serves) noexcept {
    const bool skips = std::exchange(skips_idle_spin, false);
    bool taken = own && !naps_ && !skips ? spin_idle(own) : take();
    bool has_served = false;
    for (; !taken && serves && sleep_at_input(); taken = take()) has_served = true;
    if (has_served) note_served();
    if (!taken) sleep_until(INT64_MAX, !naps_ && (!own || base().is_idle(own))); // else it was not for want of work
    naps_ = is_by_deadline_.load(std::memory_order_relaxed);
}

void parker::wake() noexcept {
    chaos_point();
    is_by_deadline_.store(serves_deadlines, std::memory_order_relaxed);
    const std::uint32_t before = word_.exchange(token, std::memory_order_release); // release[park-token]
    if (before == parked) sys::futex_wake(word_);
    if (before == at_input) wake_who_sleeps_for_input();
}

// ---- Switching

// The clock's system call comes before the change, and writes nothing to either block.
extern "C" COMITY_NEVER_INSTRUMENTED void comity_change_base(void *, void *from, void *to,
                                                             std::uintptr_t base) noexcept {
    auto *next = static_cast<context *>(to);
    charge_cpu(next->on, static_cast<context *>(from), next);
    carry_mask(next->on, static_cast<context *>(from), next);
    set_tls_base(base);
}

namespace {

// From here to the stack switch the TLS is the target's, the stack the old one: nothing may use thread-local variables.
COMITY_UNSANITIZED __attribute__((always_inline)) inline void set_current(carrier *k, context *from,
                                                                          context *to) noexcept {
    ++k->count.switches;
    if (checks_canary_at_switch) check_canary(from);
    tell_release(k);
    if (from->shares_tls) from->caught = *k->caught;
    k->current = to;
    to->on = k;
    const std::uintptr_t base = to->tls_base ? to->tls_base : k->tls_base;
    if (base != k->tls_now) {
        // ThreadSanitizer would take `from` for running on this kernel thread for as long as that stays behind.
        if (orders_switches && k->tls_now == k->tls_base) k->transition.fiber.enter(nullptr, 0);
        k->tls_now = base;
        if (k->unusual.load(std::memory_order_relaxed) == 0) [[likely]]
            set_tls_base_at_once(base);
        else
            arch::call_change_base(&k->unusual, from, to, base);
    }
    if (to->shares_tls || !to->tls_base) { // else the block has been its own since it was made
        *k->slot = to;
        if (to->shares_tls) *k->caught = to->caught;
        to->fiber.enter(to->stack.bottom, static_cast<std::size_t>(to->stack.top - to->stack.bottom));
    }
}

COMITY_UNSANITIZED __attribute__((always_inline)) inline void arrived(context *self) noexcept {
    if (!self->tls_base || self->shares_tls) self->fiber.entered();
    tell_acquire(self->on);
}

// What runs first in the context that is switched to. The sanitizers hear of the arrival before it, by way of the
// carrier.
struct arrival {
    arch::after_fn after;
    void *arg;
};

COMITY_UNSANITIZED __attribute__((always_inline)) inline arrival ordered(carrier *k, arch::after_fn after,
                                                                         void *arg) noexcept {
    if (!orders_switches) return {after, arg};
    k->start_after = after;
    k->start_after_arg = arg;
    return {[](void *carried_by) {
                tell_acquire(carried_by);
                auto *k = static_cast<carrier *>(carried_by);
                auto *after = k->start_after;
                k->start_after = nullptr;
                if (after) after(k->start_after_arg);
            },
            k};
}

struct entry_state {
    static COMITY_UNSANITIZED void pause_entry(void *a, void *b) {
        auto *c = static_cast<context *>(a);
        auto *k = static_cast<carrier *>(b);
        arrived(&k->transition);
        begin_frames();
        k->pause_fn(c, k->pause_arg);
        sys::fatal("comity_context_pause", "the pause function returned; it must end by giving the hart away");
    }
    static COMITY_UNSANITIZED void start_entry(void *a, void *) {
        auto *c = static_cast<context *>(a);
        arrived(c);
        if (auto *k = c->on; k->start_after) {
            auto *after = k->start_after;
            k->start_after = nullptr;
            after(k->start_after_arg);
        }
        c->fn(c->arg);
        sys::fatal("comity_context_run", "the context's function returned; it must end with comity_context_exit");
    }
    // Also the way back: the caller stands where it stood, and this carrier runs nothing else but it.
    static COMITY_UNSANITIZED void call_entry(void *a, void *b) {
        auto *c = static_cast<context *>(a);
        auto *from = static_cast<context *>(b);
        arrived(c);
        c->fn(c->arg);
        c->state = context_state::exited;
        from->state = context_state::running;
        from->returned = true;
        set_current(c->on, c, from);
    }
};

COMITY_UNSANITIZED __attribute__((always_inline)) inline void begin(context *to, void (*fn)(void *),
                                                                    void *arg) noexcept {
    to->state = context_state::running;
    to->broken = false;
    to->fn = fn;
    to->arg = arg;
}

// The transition stack is needed, or the guest may soon be resumed elsewhere: the guest keeps the stack that it runs
// on, and the transition context gets the guest's, which is unused. So its caller stands on a stack that is the guest's
// now, and it cannot return there, also when it was not stopped itself (keep_guest_stack).
COMITY_UNSANITIZED __attribute__((noinline)) void lend_stack(carrier *k) noexcept {
    context *guest = k->guest;
    if (guest == update_mark()) cannot_stop(k);
    k->guest = nullptr;
    std::swap(guest->stack, k->transition.stack);
    std::swap(guest->stack_top, k->transition.stack_top);
    std::swap(guest->floor, k->transition.floor);
    guest->broken = true;
}

// Whatever else a stop has to do is rare: the usual way needs no register beyond the arguments', and so no frame.
COMITY_UNSANITIZED __attribute__((always_inline)) inline bool stops_plainly(const context *from) noexcept {
    const carrier *k = from->on;
    return !is_chaos() && !k->guest && from != &k->transition;
}

COMITY_UNSANITIZED void prepare_to_stop(const context *from) noexcept {
    chaos_point();
    if (from == &from->on->transition) cannot_stop(from->on);
    if (from->on->guest) lend_stack(from->on);
}

// `from` ends, and if it is the guest, so does its use of the stack.
COMITY_UNSANITIZED __attribute__((always_inline)) inline void leave_transition_stack(carrier *k,
                                                                                     const context *from) noexcept {
    if (k->guest == from)
        k->guest = nullptr;
    else if (k->guest) [[unlikely]]
        lend_stack(k);
}

COMITY_UNSANITIZED __attribute__((always_inline)) inline void switch_now(context *from, context *to,
                                                                         arch::after_fn after, void *arg) noexcept {
    from->state = context_state::paused;
    to->state = context_state::running;
    to->broken = true;
    const arrival a = ordered(from->on, after, arg);
    set_current(from->on, from, to);
    arch::comity_arch_switch(&from->sp, to->sp, a.after, a.arg);
    arrived(from);
}

COMITY_UNSANITIZED __attribute__((noinline)) void switch_carefully(context *from, context *to, arch::after_fn after,
                                                                   void *arg) noexcept {
    prepare_to_stop(from);
    switch_now(from, to, after, arg);
}

COMITY_UNSANITIZED __attribute__((always_inline)) inline void pause_now(context *from, void (*fn)(context *, void *),
                                                                        void *arg) noexcept {
    carrier *k = from->on;
    from->state = context_state::paused;
    k->pause_fn = fn;
    k->pause_arg = arg;
    set_current(k, from, &k->transition);
    arch::comity_arch_save_call(&from->sp, k->transition.stack_top, entry_state::pause_entry, from, k);
    arrived(from);
}

COMITY_UNSANITIZED __attribute__((noinline)) void pause_carefully(context *from, void (*fn)(context *, void *),
                                                                  void *arg) noexcept {
    prepare_to_stop(from);
    pause_now(from, fn, arg);
}

} // namespace

void keep_guest_stack(carrier *k) noexcept {
    if (k->guest) lend_stack(k);
}

COMITY_UNSANITIZED void switch_to(context *from, context *to, arch::after_fn after, void *arg) noexcept {
    if (!stops_plainly(from)) [[unlikely]]
        return switch_carefully(from, to, after, arg);
    switch_now(from, to, after, arg);
}

COMITY_UNSANITIZED void switch_start(context *from, context *to, void (*fn)(void *), void *arg, arch::after_fn after,
                                     void *after_arg) noexcept {
    carrier *k = from->on;
    prepare_to_stop(from);
    from->state = context_state::paused;
    begin(to, fn, arg);
    k->start_after = after;
    k->start_after_arg = after_arg;
    set_current(k, from, to);
    arch::comity_arch_save_call(&from->sp, to->stack_top, entry_state::start_entry, to, k);
    arrived(from);
}

COMITY_UNSANITIZED bool call(context *from, context *to, void (*fn)(void *), void *arg) noexcept {
    chaos_point();
    from->state = context_state::paused;
    from->returned = false;
    begin(to, fn, arg);
    set_current(from->on, from, to);
    arch::comity_arch_call(&from->sp, to->stack_top, entry_state::call_entry, to, from);
    arrived(from);
    return from->returned;
}

COMITY_UNSANITIZED void call_from_transition(carrier *k, context *to, void (*fn)(void *), void *arg) noexcept {
    chaos_point();
    begin(to, fn, arg);
    set_current(k, &k->transition, to);
    arch::comity_arch_call_on(to->stack_top, entry_state::call_entry, to, &k->transition);
    arrived(&k->transition);
}

COMITY_UNSANITIZED void call_on_transition(carrier *k, context *to, void (*fn)(void *), void *arg) noexcept {
    chaos_point();
    begin(to, fn, arg);
    k->guest = to;
    set_current(k, &k->transition, to);
    fn(arg);
    k->guest = nullptr;
    to->state = context_state::exited;
    set_current(k, to, &k->transition);
}

COMITY_UNSANITIZED void pause(context *from, void (*fn)(context *, void *), void *arg) noexcept {
    if (!stops_plainly(from)) [[unlikely]]
        return pause_carefully(from, fn, arg);
    pause_now(from, fn, arg);
}

COMITY_UNSANITIZED void exit_context(context *from, void (*fn)(context *, void *), void *arg) noexcept {
    carrier *k = from->on;
    leave_transition_stack(k, from);
    from->state = context_state::exited;
    k->pause_fn = fn;
    k->pause_arg = arg;
    set_current(k, from, &k->transition);
    arch::comity_arch_jump_call(k->transition.stack_top, entry_state::pause_entry, from, k);
}

COMITY_UNSANITIZED void exit_to(context *from, context *to, arch::after_fn after, void *arg) noexcept {
    carrier *k = from->on;
    leave_transition_stack(k, from);
    from->state = context_state::exited;
    to->state = context_state::running;
    to->broken = true;
    const arrival a = ordered(k, after, arg);
    set_current(k, from, to);
    arch::comity_arch_resume(to->sp, a.after, a.arg);
}

COMITY_UNSANITIZED void exit_start(context *from, context *to, void (*fn)(void *), void *arg, arch::after_fn after,
                                   void *after_arg) noexcept {
    chaos_point();
    carrier *k = from->on;
    leave_transition_stack(k, from);
    from->state = context_state::exited;
    begin(to, fn, arg);
    k->start_after = after;
    k->start_after_arg = after_arg;
    set_current(k, from, to);
    arch::comity_arch_jump_call(to->stack_top, entry_state::start_entry, to, k);
}

COMITY_UNSANITIZED void resume(carrier *k, context *to, arch::after_fn after, void *arg) noexcept {
    chaos_point();
    to->state = context_state::running;
    to->broken = true;
    const arrival a = ordered(k, after, arg);
    set_current(k, &k->transition, to);
    arch::comity_arch_resume(to->sp, a.after, a.arg);
}

void resume_unit(unit *self, carrier *k) noexcept { resume(k, context_of(self)); }

COMITY_UNSANITIZED void start(carrier *k, context *to, void (*fn)(void *), void *arg) noexcept {
    begin(to, fn, arg);
    set_current(k, &k->transition, to);
    arch::comity_arch_jump_call(to->stack_top, entry_state::start_entry, to, k);
}

COMITY_UNSANITIZED void rewind(carrier *k, arch::entry_fn fn, void *a, void *b) noexcept {
    arch::comity_arch_jump_call(k->transition.stack_top, fn, a, b);
}

// Does the context's thread seem to be with another one, which may be displaced? A hint: it goes on meanwhile.
COMITY_UNSANITIZED static bool waits_for_another(const context *native) noexcept {
    const sched *s = native->owner;
    if (!s || !s->hooks || !s->hooks->displaced) return false;
    const carrier *k = native->home;
    const context *c = k->current;
    return c && c != &k->transition && c != native;
}

COMITY_UNSANITIZED static hart *hart_of(const carrier *k) noexcept { return k->carried; }

void post_home(context *native) noexcept {
    carrier *k = native->home;
    chaos_point();
    const bool waits = waits_for_another(native); // before it may go on, and end its scheduler
    hart *const h = hart_of(k);
    if (k->home.exchange(carrier::home_state::ready, std::memory_order_acq_rel) ==
        carrier::home_state::asleep) // acq_rel[home]
        return k->park.wake();
    std::atomic_thread_fence(std::memory_order_seq_cst); // seq_cst[demand]
    if (h && base_scheduler::recall(h)) return;          // its kernel thread dozes with another one
    if (waits) base_scheduler::tell_of_wait();           // it may not stop for long
}

exception_state *caught_here() noexcept { return static_cast<exception_state *>(sys::get_cpp_library().get_globals()); }

void leave_handlers() noexcept {
    exception_state *here = caught_here();
    while (here->caught) sys::get_cpp_library().end_catch();
    here->uncaught = 0; // those on their way through the frames that it leaves
}

// ---- Workers

namespace {

constexpr std::size_t worker_stack_size = std::size_t{8} << 20;

void *worker_main(void *argument) {
    constexpr std::uintptr_t own_frames = 1024; // of this function, and what it saves
    auto *k = static_cast<carrier *>(argument);
    sys::name_kernel_thread("comity-hart");
    run_anywhere(); // until it is given a hart
    (void)sys::exchange_mask(sys::mask_of_carriers());
    void *const signal_stack = init_carrier(k);
    // Where stacks are not lent its own stack will do.
    const bool has_stack = stacks_are_lent && map_transition_stack(k);
    if (!has_stack) {
        // Everything below this frame is the transition stack.
        const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
        k->transition.stack_top = reinterpret_cast<std::byte *>((here - own_frames) & ~std::uintptr_t{63});
        k->transition.stack = own_stack();
        k->transition.fiber.adopt_running(k->transition.stack.bottom, k->transition.stack.size());
    }
    k->current = &k->transition;
    *k->slot = &k->transition;
    arch::comity_arch_save_call(
        &k->worker_frame, k->transition.stack_top,
        [](void *worker, void *) { wait_for_grant(static_cast<carrier *>(worker)); }, k, nullptr);
    sys::block_as_lent_threads();
    forget_binding(k);
    forget(k);
    note_asleep();
    *k->slot = nullptr;
    *k->work_slot = nullptr;
    take_signal_stack(signal_stack);
    if (has_stack) sys::unmap_stack(k->transition.stack);
    return nullptr;
}

// A scheduler for which workers are granted harts to end: so those that go on need not look.
void end_here(comity_sched_t *) {
    carrier *k = current_carrier();
    k->carried = nullptr; // it is with the giver
    arch::comity_arch_resume(k->worker_frame, nullptr, nullptr);
}
constexpr comity_sched_callbacks_t end_callbacks{nullptr, nullptr, nullptr, end_here, nullptr, nullptr, nullptr};
sched end_of_workers{&end_callbacks};

} // namespace

sys::stack_memory own_stack() noexcept {
    sys::stack_memory stack;
    void *bottom = nullptr;
    std::size_t size = 0;
    if (COMITY_KNOWS_STACKS && sys::kernel_thread_stack(bottom, size)) {
        stack.bottom = static_cast<std::byte *>(bottom);
        stack.top = stack.bottom + size;
    }
    return stack;
}

// Where the address space is limited, the harts' own stacks take a sixteenth of it at most: those that are left are for
// the program's threads.
static bool stacks_are_small() noexcept {
    return sys::made_once([] {
        constexpr std::size_t of_a_hart = 2 * worker_stack_size, part = 16;
        return stacks_are_lent && sys::address_space_limit() / part / of_a_hart < base().hart_count();
    });
}

bool map_transition_stack(carrier *k) noexcept {
    constexpr std::size_t least = std::size_t{128} << 10;
    const std::size_t size = sys::get_options().stack_size;
    if (!stacks_are_small()) k->transition.stack = sys::map_stack(size < least ? least : size);
    const bool is_whole = static_cast<bool>(k->transition.stack);
    if (!is_whole) k->transition.stack = sys::map_stack(least); // threads do not start on it then
    k->transition.stack_top = k->transition.stack.top;
    k->transition.floor = k->transition.stack.top - k->transition.stack.size() / 2;
    k->lends_stack = stacks_are_lent && is_whole && size >= least;
    return static_cast<bool>(k->transition.stack);
}

void *init_carrier(carrier *k) noexcept {
    k->tls_base = k->tls_now = tls_base();
    if (!changes_base_at_once()) k->unusual.store(base_by_system_call, std::memory_order_relaxed);
    k->slot = current_slot();
    k->work_slot = work_slot();
    k->caught = caught_here();
    k->transition.on = k;
    k->transition.self.forks = context_unit::open_forks::forbidden;
    k->transition.state = context_state::running;
    k->kernel_id = sys::kernel_thread_id();
    void *const signal_stack = give_signal_stack();
    enlist(k);
    return signal_stack;
}

carrier *make_worker(hart *h, int &error) noexcept {
    error = ENOMEM;
    auto *k = new (std::nothrow) carrier;
    if (!k) return nullptr;
    // Not on a stack of the C library's: a context that forks may stand on this thread, while the library believes that
    // the thread of the context's own TLS forks. In the child it would give this one's stack and TLS to the next
    // thread.
    constexpr std::size_t small = std::size_t{256} << 10;
    const std::size_t stack_size = stacks_are_small() ? sys::kernel_thread_overhead() + small : worker_stack_size;
    sys::stack_memory &stack = k->worker_stack;
    stack = sys::map_stack(stack_size);
    k->own.store(h, std::memory_order_relaxed);
    note_awake();
    if (stack) error = sys::start_kernel_thread_within(stack.bottom, stack.top, worker_main, k, k->thread);
    if (error != 0) {
        note_asleep();
        if (stack) sys::unmap_stack(stack);
        delete k;
        return nullptr;
    }
    return k;
}

void end_worker(carrier *k, hart *h) noexcept { base_scheduler::give(h, k, &end_of_workers); }

void free_worker(carrier *k) noexcept {
    sys::join_kernel_thread(k->thread);
    sys::unmap_stack(k->worker_stack);
    delete k;
}

} // namespace comity::core
