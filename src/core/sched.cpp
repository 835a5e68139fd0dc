#include "core/sched.hpp"

#include "core/base.hpp"
#include "core/callbacks.hpp"
#include "core/chaos.hpp"
#include "core/runtime.hpp"
#include "sys/kernel_thread.hpp"
#include "sys/message.hpp"

namespace comity::core {

// `child` closes and the calling hart was its last: goes on with its registrant.
[[noreturn]] static void resume_registrant(carrier *k, sched *child) noexcept;

// ---- The account

bool sched::reserve() noexcept {
    std::uint64_t a = account.load(std::memory_order_relaxed);
    while (wanted_of(a) != 0 && !(a & closing)) {
        if (account.compare_exchange_weak(a, a - one_wanted + one_hart, std::memory_order_acq_rel,
                                          std::memory_order_relaxed))
            return true; // acq_rel[account]
    }
    return false;
}

void sched::want(std::uint32_t n) noexcept {
    std::uint64_t a = account.load(std::memory_order_relaxed);
    while (wanted_of(a) < n && !(a & closing)) {
        if (account.compare_exchange_weak(a, a + (n - wanted_of(a)) * one_wanted, std::memory_order_acq_rel,
                                          std::memory_order_relaxed)) // acq_rel[account]
            return;
    }
}

void sched::want_none() noexcept {
    std::uint64_t a = account.load(std::memory_order_relaxed);
    while (wanted_of(a) != 0 && !account.compare_exchange_weak(a, a - wanted_of(a) * one_wanted,
                                                               std::memory_order_acq_rel, // acq_rel[account]
                                                               std::memory_order_relaxed)) {
    }
}

namespace {

enum class callback : std::uintptr_t { enter, yield, block };

COMITY_UNSANITIZED void transfer_entry(void *argument, void *which) {
    sched *s = current_carrier()->current_sched;
    const char *name = "";
    switch (static_cast<callback>(reinterpret_cast<std::uintptr_t>(which))) {
    case callback::enter:
        name = "enter";
        s->callbacks->enter(handle(s));
        break;
    case callback::yield:
        name = "yield";
        s->callbacks->yield(handle(s), static_cast<comity_sched_t *>(argument));
        break;
    case callback::block:
        name = "block";
        s->callbacks->block(handle(s), static_cast<comity_context_t *>(argument));
        break;
    }
    sys::fatal(
        name,
        "a transfer callback returned; it must end by running or resuming a context, entering a child, or yielding");
}

[[noreturn]] void transfer(carrier *k, callback which, void *argument) noexcept {
    rewind(k, transfer_entry, argument, reinterpret_cast<void *>(static_cast<std::uintptr_t>(which)));
}

} // namespace

// ---- Transfers

void enter(carrier *k, sched *child) noexcept {
    chaos_point();
    become(k, child);
    ++k->count.grants;
    transfer(k, callback::enter, nullptr);
}

void yield(carrier *k) noexcept {
    chaos_point();
    sched *child = k->current_sched;
    sched *parent = child->parent;
    if (!parent) sys::fatal("comity_sched_yield", "the base scheduler has no parent to yield to");
    become(k, parent);
    // Who makes work ready first does that, then sees to it that the scheduler wants a hart: so a hart that leaves and
    // finds something wanted takes that upon itself and looks again. Both are changes of the account, so one comes
    // first.
    std::uint64_t a = child->account.load(std::memory_order_relaxed);
    for (;;) {
        const bool stay = sched::wanted_of(a) != 0 && !(a & sched::closing);
        if (!child->account.compare_exchange_weak(a, a - (stay ? sched::one_wanted : sched::one_hart),
                                                  std::memory_order_acq_rel, // acq_rel[account]
                                                  std::memory_order_relaxed))
            continue;
        if (!stay) break;
        std::atomic_thread_fence(std::memory_order_seq_cst); // seq_cst[team-leave]
        become(k, child);
        transfer(k, callback::enter, nullptr);
    }
    // From here on `child` may be gone, unless its end waits for this very hart.
    if (sched::harts_of(a) == 1 && (a & sched::closing)) resume_registrant(k, child);
    transfer(k, callback::yield, handle(child));
}

// "Hart grant and yield", rule 8. In one step, so that whoever takes what is wanted sees all that this hart leaves
// behind; and whether it was the last does not matter.
void give_way(carrier *k) noexcept {
    chaos_point();
    sched *root = k->current_sched;
    std::uint64_t a = root->account.load(std::memory_order_relaxed);
    std::uint64_t to = 0;
    do {
        if (a & sched::closing) yield(k);
        to = a - sched::one_hart + sched::one_pin + (sched::wanted_of(a) == 0 ? sched::one_wanted : 0);
    } while (!root->account.compare_exchange_weak(a, to, std::memory_order_acq_rel, // acq_rel[account]
                                                  std::memory_order_relaxed));
    become(k, root->parent);
    base().stand_in_line(root);
    root->unpin();
    transfer(k, callback::yield, handle(root));
}

// One step, as in give_way. Somebody else is in the scheduler at that moment; before the last one can leave it takes
// what is wanted here, and so sees what this hart leaves behind. The parent is not asked: it would send one hart too
// many.
void leave_surplus(carrier *k, std::uint32_t most, bool leaves_work) noexcept {
    chaos_point();
    sched *s = k->current_sched, *parent = s->parent;
    std::uint64_t a = s->account.load(std::memory_order_relaxed);
    std::uint64_t to = 0;
    do {
        if (sched::harts_of(a) <= most || (a & sched::closing)) return;
        to = a - sched::one_hart + (leaves_work && sched::wanted_of(a) == 0 ? sched::one_wanted : 0);
    } while (!s->account.compare_exchange_weak(a, to, std::memory_order_acq_rel, // acq_rel[account]
                                               std::memory_order_relaxed));
    become(k, parent);
    transfer(k, callback::yield, handle(s));
}

void block(carrier *k, context *c) noexcept {
    ++k->count.blocks;
    transfer(k, callback::block, c);
}

void unblock(context *c) noexcept {
    chaos_point();
    sched *owner = c->owner;
    if (!owner || owner == &base())
        post_home(c); // an adopted thread outside every scheduler: it sleeps in the kernel
    else
        owner->callbacks->unblock(handle(owner), c);
}

bool home_ready(const carrier *k, const sched *s) noexcept {
    if (!k->native || k->home.load(std::memory_order_relaxed) != carrier::home_state::ready) return false;
    const sched *at = k->native->owner;
    while (at && at != s) at = at->parent;
    return at;
}

void go_home(carrier *k, sched *s) noexcept {
    take_home(k);
    for (sched *at = k->native->owner; at != s; at = at->parent)
        at->account.fetch_add(sched::one_hart, std::memory_order_acq_rel); // acq_rel[account]
    become(k, k->native->owner);
    resume(k, k->native);
}

bool let_others_run() noexcept {
    carrier *k = current_carrier();
    if (!k || !k->carried || k->settled || on_transition(k) || base().is_starved()) return false;
    sched *s = k->current_sched;
    return s->hooks && s->hooks->yield && s->hooks->yield(s, k->current);
}

void unblock_all(context *first) noexcept {
    while (first) {
        sched *owner = first->owner;
        context *run = first, *last = first; // the contexts at the front that have this owner
        while (last->next && last->next->owner == owner) last = last->next;
        first = last->next;
        last->next = nullptr;
        if (run != last && owner && owner->hooks)
            owner->hooks->unblock_all(owner, run);
        else
            for (context *next; run; run = next) {
                next = run->next;
                unblock(run);
            }
    }
}

// ---- Fork

// In the child: the harts that were in the scheduler are idle, and nobody borrows it. The base scheduler has forgotten
// which roots want harts; one that wants none asks again when it has use for one.
static void forget_other_harts(sched *s, std::uint64_t own) noexcept {
    const std::uint64_t a = s->account.load(std::memory_order_relaxed);
    const std::uint64_t wanted = s->parent == &base() ? 0 : sched::wanted_of(a) * sched::one_wanted;
    s->account.store((a & sched::closing) | wanted | own, std::memory_order_relaxed);
}

void schedulers_around_fork(const carrier *k, fork_stage stage) noexcept {
    if (!k) return;
    for (sched *s = k->carried ? k->current_sched : k->left; s && s != &base(); s = s->parent) {
        if (stage == fork_stage::child) forget_other_harts(s, k->carried ? sched::one_hart : 0);
        if (s->hooks && s->hooks->around_fork) s->hooks->around_fork(s, stage, k);
    }
}

// ---- Registering

void register_sched(sched *s, const comity_sched_callbacks_t *callbacks) noexcept {
    carrier *k = enter_comity();
    context *c = k->current;
    s->callbacks = callbacks;
    s->parent = k->current_sched;
    s->registrant = c;
    s->next_wanting = nullptr;
    s->listed.store(false, std::memory_order_relaxed);
    s->hooks = nullptr;
    s->account.store(sched::one_hart, std::memory_order_relaxed);
    s->magic = sched::registered_magic;
    if (auto *tell = s->parent->callbacks->register_child) tell(handle(s->parent), handle(s));
    c->owner = s;
    become(k, s);
}

namespace {

void await_harts(sched *s, std::uint64_t own) noexcept;

// The last hart to leave a closing scheduler carries its registrant on ("Unregister's wait").
void close_and_leave(context *, void *argument) {
    auto *s = static_cast<sched *>(argument);
    carrier *k = current_carrier();
    s->account.fetch_or(sched::closing, std::memory_order_acq_rel); // acq_rel[account]
    yield(k);
}

} // namespace

void resume_registrant(carrier *k, sched *child) noexcept {
    context *c = child->registrant;
    child->account.fetch_and(~sched::closing, std::memory_order_relaxed);
    if (c->home && c->home != k) {
        sched *parent = k->current_sched; // by now `child` may end at any time: its thread comes with a hart of its own
        post_home(c);
        become(k, parent);
        transfer(k, callback::yield, handle(child));
    }
    child->account.fetch_add(sched::one_hart, std::memory_order_relaxed); // this hart, which stays after all
    become(k, child);
    resume(k, c);
}

// Out of its parent's list: nobody can enter it any more.
static void take_out(sched *s) noexcept {
    if (s->parent == &base()) base().withdraw(s);
    if (auto *tell = s->parent->callbacks->unregister_child) tell(handle(s->parent), handle(s));
    s->magic = 0;
}

void unregister_sched(const char *call) noexcept {
    carrier *k = current_carrier();
    sched *s = k ? k->current_sched : nullptr;
    if (!s || s == &base() || !s->registered() || s->registrant != k->current)
        sys::fatal(call, "the caller's scheduler was not registered by this context, or was unregistered before");
    end_sched(s, sched::one_hart);
    k = current_carrier();
    take_out(s);
    k->current->owner = s->parent;
    become(k, s->parent);
    leave_comity(k);
}

void unregister_without_hart(sched *s) noexcept {
    end_sched(s, 0);
    take_out(s);
}

void end_sched(sched *s, std::uint64_t own) noexcept {
    // One step decides the end: nobody inside but the caller, nothing wanted, no pin. From then on reserve and want
    // refuse.
    std::uint64_t expected = own;
    while (!s->account.compare_exchange_strong(expected, own | sched::closing,
                                               std::memory_order_acq_rel)) { // acq_rel[account]
        s->want_none();
        if (sched::harts_of(expected) > sched::harts_of(own))
            await_harts(s, own);
        else if (sched::pins_of(expected) != 0)
            sys::yield_kernel_thread(); // a few instructions of somebody else's, who may have lost his core
        expected = own;
    }
}

namespace {

void await_harts(sched *s, std::uint64_t own) noexcept {
    const std::uint32_t least = sched::harts_of(own);
    const auto still_out = [s, least]() noexcept {
        return sched::harts_of(s->account.load(std::memory_order_acquire)) > least; // acquire[account]
    };
    for (int spins = 0; still_out() && spins < 2000; ++spins) sys::cpu_relax();
    if (!still_out()) return;
    if (least == 0)
        sys::yield_kernel_thread(); // a thread outside, whose idle harts have been told to leave
    else
        pause(current_context(), close_and_leave, s);
}

} // namespace

} // namespace comity::core

// ---- The C interface

using namespace comity::core;

namespace {

carrier *require_hart(const char *call) noexcept {
    carrier *k = current_carrier();
    if (!k || !k->carried) comity::sys::fatal(call, "the caller holds no hart; call it on a context or in a callback");
    return k;
}

carrier *require_transition(const char *call) noexcept {
    carrier *k = require_hart(call);
    if (!on_transition(k))
        comity::sys::fatal(call, "called on an ordinary context; call it in a transfer callback or a pause function");
    return k;
}

carrier *require_context(const char *call) noexcept {
    carrier *k = require_hart(call);
    if (on_transition(k)) comity::sys::fatal(call, "called on a transition context; call it on an ordinary context");
    return k;
}

// The first thing that a registration lacks; null: nothing.
const char *missing(const comity_sched_t *s, const comity_sched_callbacks_t *c) noexcept {
    if (!s) return "the scheduler";
    if (!c) return "its table of callbacks";
    if (!c->enter) return "the callback `enter`";
    if (!c->yield) return "the callback `yield`";
    if (!c->block) return "the callback `block`";
    if (!c->unblock) return "the callback `unblock`";
    return c->request ? nullptr : "the callback `request`";
}

void request_for(const char *call, sched *child, int harts) noexcept {
    if (harts < 1) comity::sys::fatal(call, "the number of harts must be at least 1");
    if (child == &base()) comity::sys::fatal(call, "the base scheduler has no parent to ask");
    const int most = comity_hart_count();
    child->want(static_cast<std::uint32_t>(harts < most ? harts : most));
    child->parent->callbacks->request(handle(child->parent), handle(child), harts);
}

} // namespace

extern "C" {

int64_t comity_now(void) { return comity::sys::now_ns(); }
int64_t comity_deadline_in(int64_t ns) { return comity::sys::deadline_in(ns); }

int comity_hart_count(void) {
    ensure_started();
    return static_cast<int>(base().hart_count());
}

int comity_hart_id(void) {
    carrier *k = current_carrier();
    return k && k->carried ? k->carried->id : -1;
}

void comity_sched_register(comity_sched_t *s, const comity_sched_callbacks_t *c) {
    const char *const call = "comity_sched_register";
    if (const char *what = missing(s, c))
        comity::sys::fatal(call, "%s is NULL (of the callbacks only register_child and unregister_child may be)", what);
    if (unwrap(s)->registered()) comity::sys::fatal(call, "the scheduler is registered already");
    if (carrier *k = current_carrier(); k && on_transition(k))
        comity::sys::fatal(call, "called on a transition context; call it on an ordinary context");
    unwrap(s)->callbacks_of_program = c;
    register_sched(unwrap(s), &callbacks_of_program);
}

void comity_sched_unregister(void) {
    require_context("comity_sched_unregister");
    unregister_sched("comity_sched_unregister");
}

void comity_sched_request(int harts) {
    const char *const call = "comity_sched_request";
    carrier *k = require_hart(call);
    request_for(call, k->current_sched, harts);
}

void comity_sched_request_for(comity_sched_t *s, int harts) {
    request_for("comity_sched_request_for", unwrap(s), harts);
}

void comity_sched_enter(comity_sched_t *child) {
    carrier *k = require_transition("comity_sched_enter");
    if (!child || !unwrap(child)->registered() || unwrap(child)->parent != k->current_sched)
        comity::sys::fatal("comity_sched_enter", "not a child of the current scheduler");
    enter(k, unwrap(child));
}

int comity_sched_reserve(comity_sched_t *child) { return unwrap(child)->reserve(); }

void comity_sched_yield(void) { yield(require_transition("comity_sched_yield")); }

comity_sched_t *comity_sched_current(void) {
    carrier *k = current_carrier();
    return k && k->carried ? handle(k->current_sched) : nullptr;
}

int comity_context_init(comity_context_t **c, const comity_context_attr_t *attr) {
    int error = 0;
    ensure_started();
    *c = create_context(attr ? attr->stack_size : 0, attr && attr->full, error);
    return error;
}

void comity_context_fini(comity_context_t *c) {
    if (unwrap(c)->state == context_state::running || c->home)
        comity::sys::fatal("comity_context_fini", "the context is running, or belongs to a thread of the program");
    destroy_context(unwrap(c));
}

void comity_context_run(comity_context_t *c, void (*fn)(void *), void *arg) {
    carrier *k = require_transition("comity_context_run");
    if (c->state != context_state::fresh && c->state != context_state::exited)
        comity::sys::fatal("comity_context_run", "the context is in use; resume it, or wait until it has exited");
    c->owner = k->current_sched;
    start(k, unwrap(c), fn, arg);
}

void comity_context_pause(void (*fn)(comity_context_t *, void *), void *arg) {
    carrier *k = require_context("comity_context_pause");
    k->callback = nullptr;
    pause(k->current, reinterpret_cast<void (*)(context *, void *)>(fn), arg);
}

void comity_context_exit(void (*fn)(comity_context_t *, void *), void *arg) {
    carrier *k = require_context("comity_context_exit");
    if (k->current->home)
        comity::sys::fatal("comity_context_exit",
                           "a thread of the program cannot exit its context; return from its function");
    k->callback = nullptr;
    exit_context(k->current, reinterpret_cast<void (*)(context *, void *)>(fn), arg);
}

void comity_context_resume(comity_context_t *c) {
    carrier *k = require_transition("comity_context_resume");
    if (c->state != context_state::paused) comity::sys::fatal("comity_context_resume", "the context is not paused");
    if (c->home && c->home != k) {
        post_home(unwrap(c));
        block(k, unwrap(c));
    }
    resume(k, unwrap(c));
}

void comity_context_block(comity_context_t *c) { block(require_transition("comity_context_block"), unwrap(c)); }

void comity_context_unblock(comity_context_t *c) { unblock(unwrap(c)); }

comity_context_t *comity_context_self(void) {
    context *c = current_context();
    return c && c->on && c == &c->on->transition ? nullptr : c;
}

void comity_context_set_local(comity_context_t *c, void *local) { c->local = local; }
void *comity_context_local(const comity_context_t *c) { return c->local; }
}
