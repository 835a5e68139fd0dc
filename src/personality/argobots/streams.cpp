#include "personality/argobots/streams.hpp"

#include "core/base.hpp"
#include "core/chaos.hpp"
#include "core/runtime.hpp"
#include "personality/argobots/registry.hpp"
#include "personality/argobots/work.hpp"
#include "sys/backoff.hpp"

#include <new>

namespace comity::abt {

using core::base;

std::atomic<streams *> all_streams{nullptr};

namespace {

constexpr std::uint64_t quantum_us = 100;         // after this time a stream goes where others wait for its hart
constexpr std::uint64_t others_quantum_us = 1000; // and a hart, where other roots wait

streams *as_own(comity_sched_t *s) noexcept { return static_cast<streams *>(core::unwrap(s)); }
streams *as_own(core::sched *s) noexcept { return static_cast<streams *>(s); }

void on_request(comity_sched_t *self, comity_sched_t *child, int) { as_own(self)->child_wants(core::unwrap(child)); }
void on_unregister(comity_sched_t *self, comity_sched_t *child) { as_own(self)->child_ends(core::unwrap(child)); }
void on_hart(comity_sched_t *self) { as_own(self)->next(core::current_carrier()); }
void on_yield(comity_sched_t *self, comity_sched_t *) { on_hart(self); }
void on_block(comity_sched_t *self, comity_context_t *) { on_hart(self); }

// A ULT that left its stream to others goes back to its pool; what waited in place goes on as it stands.
void on_unblock(comity_sched_t *self, comity_context_t *h) {
    context *c = core::unwrap(h);
    auto *t = static_cast<thread *>(c->local);
    if (t->state.load(std::memory_order_relaxed) == ABT_THREAD_STATE_BLOCKED)
        make_ready(t, ABT_POOL_CONTEXT_OP_THREAD_RESUME);
    else
        as_own(self)->make_ready(c);
}

constexpr comity_sched_callbacks_t callbacks{nullptr,  on_unregister, on_request, on_hart,
                                             on_yield, on_block,      on_unblock};

// A wait that spins stands in the way of the stream's other work units, unless there is none.
bool has_other_work(core::sched *s) noexcept {
    return as_own(s)->others_wait(core::current_carrier()) || leaving_ult() != nullptr;
}

struct leaving {
    thread *t;
    core::arch::after_fn after;
    void *arg;
};

bool switch_to_other(core::sched *, context *, core::arch::after_fn after, void *arg) noexcept {
    thread *t = leaving_ult();
    if (!t) return false;
    leaving l{t, after, arg};
    leave_to_parent(
        t,
        [](void *argument) {
            const leaving l = *static_cast<leaving *>(argument);
            mark_blocked(l.t);
            l.after(l.arg);
        },
        &l);
    return true;
}

void unblock_all(core::sched *s, context *first) noexcept {
    for (context *next = nullptr; first; first = next) {
        next = first->next;
        on_unblock(core::handle(s), first);
    }
}

constexpr core::sched_hooks hooks{has_other_work, switch_to_other, unblock_all};

} // namespace

// ---- Begin and end

streams *streams::open() noexcept {
    core::ensure_started();
    auto *s = new (std::nothrow) streams;
    if (!s) return nullptr;
    s->harts_ = base().hart_count();
    core::register_sched(s, &abt::callbacks);
    s->hooks = &abt::hooks;
    s->main_context = s->registrant;
    return s;
}

void streams::close() noexcept {
    core::unregister_sched("ABT_finalize");
    delete this;
}

// ---- Ready contexts

void streams::enqueue(context *c) noexcept {
    lock_.lock();
    ready_.push_back(c);
    lock_.unlock();
}

context *streams::pop_ready(bool primary_only) noexcept {
    if (ready_.empty()) return nullptr;
    lock_.lock();
    context *c =
        primary_only ? ready_.take_if([this](const context *r) { return r == primary->stack; }) : ready_.pop_front();
    lock_.unlock();
    return c;
}

void streams::make_ready(context *c) noexcept {
    pin(); // the stream may run and bring the end before we are done here
    if (c->home) {
        core::post_home(c);
    } else {
        const bool first_stream = primary && c == primary->stack;
        enqueue(c);
        if (!first_stream || !poke_main()) call_hart();
    }
    unpin();
}

// As in scheduler/work_stealing: something is wanted afterwards, so a hart that leaves at this moment comes back.
void streams::call_hart() noexcept {
    std::atomic_thread_fence(std::memory_order_seq_cst); // seq_cst[team-leave]
    core::chaos_point();
    std::uint64_t a = account.load(std::memory_order_relaxed);
    if (wanted_of(a) != 0) return;
    want(1);
    a = account.load(std::memory_order_relaxed);
    if (harts_of(a) < harts_) parent->callbacks->request(handle(parent), handle(this), 1);
}

void streams::child_wants(core::sched *child) noexcept {
    children_.add(child);
    call_hart();
}

// ---- What a hart does

void streams::next(carrier *k) noexcept {
    for (;;) {
        if (should_give_way(k)) {
            leave_place(k);
            core::give_way(k);
        }
        const unsigned turn = turns_.load(std::memory_order_relaxed);
        turns_.store(turn + 1, std::memory_order_relaxed);
        if (turn % 2) go_home(k);
        if (turn % 16 == 15) enter_child(k);
        const bool primary_only = keeps_to_primary(k);
        if (context *c = pop_ready(primary_only)) {
            // It may have been called for several.
            if (!ready_.empty() || !children_.empty()) call_hart();
            auto *t = static_cast<thread *>(c->local);
            go_to_place(k, t->on);
            t->on->since = sys::ticks();
            if (c->state == core::context_state::fresh || c->state == core::context_state::exited)
                core::start(k, c, stream_main, t->on);
            core::resume(k, c, nothing);
        }
        go_home(k);
        enter_child(k);
        if (primary_only && !ready_.empty()) { // the others', for a worker
            leave_place(k);
            core::give_way(k);
        }
        if (wait_for_work(k)) continue;
        leave_place(k);
        core::yield(k);
    }
}

// Where each stream can have a hart, the main ULT's thread carries the primary stream only: another's ULT may wait for
// the main ULT in a loop of its own, and no other thread can run that one.
bool streams::keeps_to_primary(const carrier *k) const noexcept {
    if (k != main_context->home || !k->adopted || parent != &base()) return false;
    const int streams = count_streams();
    return streams > 1 && streams <= static_cast<int>(harts_) && base().has_worker(k->carried);
}

// Both return if there is none.
void streams::go_home(carrier *k) noexcept {
    if (!core::home_ready(k, this)) return;
    leave_place(k); // the main ULT goes to its stream's by itself
    core::go_home(k, this);
}

void streams::enter_child(carrier *k) noexcept {
    core::sched *child = children_.pick();
    if (!child) return;
    if (!children_.empty()) call_hart(); // it wants more than this hart, or others do
    leave_place(k);
    core::enter(k, child);
}

// A hart of a root waits a little before it leaves: new work mostly follows soon.
bool streams::wait_for_work(carrier *k) noexcept {
    if (parent != &base()) return false;
    const std::uint64_t from = sys::ticks(), most = core::spin_ticks();
    for (unsigned i = 1; !(i % 16 == 0 && sys::ticks() - from > most); ++i) {
        if (others_wait(k)) return true;
        if (base().pressed()) return false;
        sys::cpu_relax();
    }
    return false;
}

// Others in the process wait for a hart, and this one has been here for long; there is something to leave behind.
bool streams::should_give_way(carrier *k) noexcept {
    if (parent != &base() || ready_.empty() || !base().pressed_by_others(this)) return false;
    if (sys::ticks() - k->granted_at <= others_quantum_us * core::ticks_per_us()) return false;
    return harts_of(account.load(std::memory_order_relaxed)) > 1 || base().should_have_the_last(k->carried);
}

bool streams::should_rotate(const carrier *k, std::uint64_t since) noexcept {
    const bool others = others_wait(k);
    if (!others && !(parent == &base() && base().pressed_by_others(this))) return core::chaos_chance(16);
    return sys::ticks() - since > (others ? quantum_us : others_quantum_us) * core::ticks_per_us();
}

void streams::rotate() noexcept {
    core::pause(
        core::current_context(),
        [](context *c, void *argument) {
            auto *self = static_cast<streams *>(argument);
            if (c->home)
                core::post_home(c);
            else
                self->enqueue(c); // this hart comes to it, or tells when it gives way
            self->next(core::current_carrier());
        },
        this);
}

// ---- The main ULT

void streams::main_goes_on() noexcept {
    main_waits();
    go_to_place(core::current_carrier(), primary);
}

void streams::main_waits() noexcept {
    for (;;) {
        if (main_direct_) {
            main_direct_ = false;
            return;
        }
        if (main_.exchange(main_runs, std::memory_order_acq_rel) & main_turn) return; // acq_rel[abt-main]
        core::pause(
            main_context,
            [](context *c, void *argument) { // its thread only came to carry somebody else
                auto *self = static_cast<streams *>(argument);
                std::uint32_t expected = main_runs;
                carrier *k = core::current_carrier();
                if (!self->main_.compare_exchange_strong(expected, main_waiting,
                                                         std::memory_order_acq_rel)) // acq_rel[abt-main]
                    core::resume(k, c, nothing);
                self->next(k);
            },
            this);
    }
}

void streams::claim_main(carrier *k) noexcept {
    const std::uint32_t before = main_.exchange(main_runs, std::memory_order_acq_rel); // acq_rel[abt-main]
    if (before & main_posted)
        for (sys::backoff b; !core::take_home(k);) b.pause(); // whoever posted is a few instructions away
    main_direct_ = true;
}

void streams::send_main() noexcept {
    const std::uint32_t before =
        main_.fetch_or(main_turn | main_posted, std::memory_order_acq_rel); // acq_rel[abt-main]
    if (before == main_waiting) core::post_home(main_context);
}

// The primary stream may go on while the program's own thread, which carried it last, sleeps: it is woken to carry it
// again, instead of a worker that would have to wake that thread for the main ULT soon after. False: it does not sleep,
// or is on its way.
bool streams::poke_main() noexcept {
    const carrier *k = main_context->home;
    if (!k || k->home.load(std::memory_order_relaxed) != carrier::home_state::asleep) return false;
    std::uint32_t expected = main_waiting;
    if (!main_.compare_exchange_strong(expected, main_waiting | main_posted,
                                       std::memory_order_acq_rel)) // acq_rel[abt-main]
        return false;
    core::post_home(main_context);
    return true;
}

} // namespace comity::abt
