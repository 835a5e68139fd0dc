#include "thread/thread.hpp"

#include "core/base.hpp"
#include "core/kernel_state.hpp"
#include "core/runtime.hpp"
#include "sys/message.hpp"
#include "thread/cache.hpp"
#include "thread/descent.hpp"
#include "thread/interruption.hpp"
#include "thread/prepare.hpp"
#include "thread/technique/on_joiner.hpp"

#include <cerrno>

namespace comity {

using core::carrier;
using core::context;
using slot = unit_scheduler::slot;

namespace {

// What the caller's hart has of its scheduler of units; null: there is no such scheduler, or no hart.
[[gnu::always_inline]] inline slot *work_here() noexcept {
    if (void *work = core::work_at_hand()) [[likely]]
        return static_cast<slot *>(work);
    const context *c = core::current_context();
    return c ? work_of(c->on) : nullptr;
}

// The calling carrier if it holds a hart, else null.
carrier *carrier_with_hart() noexcept {
    carrier *k = core::current_carrier();
    return k && k->carried ? k : nullptr;
}

// What the caller's hart has of the scheduler that the caller's threads belong to; opens one where there is none. Null:
// no memory, or the caller has kernel state of its own.
[[gnu::noinline]] slot *work_for_caller() noexcept {
    carrier *k = core::current_carrier();
    if (slot *w = k ? work_of(k) : nullptr) return w;
    if (core::come_back())
        if (slot *w = work_of(k)) return w;
    if (core::own_kernel_state() != 0) return nullptr; // as comity_threads_begin
    unit_scheduler *s = open_default_scheduler();
    if (!s) return nullptr;
    s->implicit = true;
    return work_of(core::current_carrier());
}

// The current scheduler was opened by work_for_caller: if the caller did that, and no thread lives, it ends.
[[gnu::noinline]] void end_if_idle(const carrier *k) noexcept {
    unit_scheduler *s = work_of(k)->owner;
    if (s->registrant == k->current && s->all_ended()) end_default_scheduler(s);
}

// ---- The begin of a thread

// A chain of children that start at once, or of joins that run the threads themselves, would never come to its
// scheduler; so every so many of them the caller lets others go on first.
constexpr std::uint64_t turn = 1024;
bool is_turn(const std::atomic<std::uint64_t> &count) noexcept {
    return count.load(std::memory_order_relaxed) % turn == turn - 1;
}
// May switch.
void take_turns(const comity_thread_attr_t &a) noexcept {
    const carrier *k = core::current_carrier();
    const slot *w = k ? work_of(k) : nullptr;
    if (w && techniques[a.technique].start && is_turn(w->created)) comity_thread_yield();
}

[[gnu::noinline]] int prepare(thread *&made, const comity_thread_attr_t &a, void *(*fn)(void *)) noexcept {
    slot *w = work_for_caller();
    thread *t = w ? take_descriptor(*w) : nullptr;
    if (!t) return core::own_kernel_state() != 0 ? EPERM : ENOMEM;
    made = t;
    carrier *k = core::current_carrier();
    const int error = equip(t, w->owner, a, fn, k);
    if (error != 0 && w->owner->implicit) end_if_idle(k);
    return error;
}

// Does the context execute a thread with an affinity? In a scheduler that has such threads.
[[gnu::noinline, gnu::cold]] bool has_affinity(const unit_scheduler *s, const context *c) noexcept {
    return s->affinity_of(c);
}

// A parent that is bound to its kernel thread, or stands where nothing can be stopped, cannot wait in the queue.
bool may_wait_in_queue(const unit_scheduler *s, const context *parent) noexcept {
    return !parent->home && parent->owner == s && parent != &parent->on->transition;
}

// One with an affinity must not be taken from there by everybody.
bool may_start_child(const unit_scheduler *s, const context *parent) noexcept {
    return may_wait_in_queue(s, parent) && !(s->has_affinities() && has_affinity(s, parent));
}

int start_child(thread *t, carrier *k) noexcept {
    int error = 0;
    if (!how(t).eager && !(t->c = take_context(t, k, error))) return error;
    return how(t).start(t, k->current);
}

// The thread goes, or stands again where it was prepared.
template <bool was_prepared> [[gnu::noinline]] int launch_failed(thread *t, int error) noexcept {
    carrier *k = core::current_carrier();
    slot *w = work_of(k);
    w->add_ended();
    was_prepared ? put_back_prepared(t) : dispose(t, k);
    if (w->owner->implicit) end_if_idle(k);
    return error;
}

// The hart's queue has not taken it. Returns 0 or an error number. May switch.
[[gnu::noinline]] int give_to_scheduler(thread *t, unit_scheduler *s) noexcept {
    if (s->goes_by_descent()) return begin_by_descent(t, s);
    return s->hooks->units->push(s, t) ? 0 : ENOMEM;
}

template <bool was_prepared> int launch(thread *t, carrier *k, slot *w) noexcept {
    w->add_created();
    if (how(t).start && may_start_child(t->owner, k->current)) {
        const int error = start_child(t, k);
        return error == 0 ? 0 : launch_failed<was_prepared>(t, error);
    }
    if (w->owner->push_parent(*w, t)) [[likely]]
        return 0;
    const int error = give_to_scheduler(t, w->owner);
    return error == 0 ? 0 : launch_failed<was_prepared>(t, error);
}

// Whatever is not the usual case of comity_thread_create.
[[gnu::noinline]] int create_slowly(comity_thread_t **out, const comity_thread_attr_t &a, void *(*fn)(void *),
                                    void *arg) noexcept {
    if (!fn || !is_possible(a) || (!out && !a.detached)) return EINVAL;
    take_turns(a);
    thread *t = nullptr;
    if (const int error = prepare(t, a, fn)) return error;
    t->value = arg;
    if (out) *out = t; // before it runs: child-first it may be over when launch returns
    carrier *k = core::current_carrier();
    return launch<false>(t, k, work_of(k));
}

[[gnu::noinline]] int push_slowly(slot *w, thread *t) noexcept {
    if (w->owner->push_parent(*w, t)) return 0; // it has grown
    const int error = give_to_scheduler(t, w->owner);
    return error == 0 ? 0 : launch_failed<false>(t, error);
}

[[gnu::noinline, gnu::cold]] int call_help(unit_scheduler *s) noexcept {
    s->hooks->units->call_help(s);
    return 0;
}

// The new thread waits in the hart's queue.
[[gnu::always_inline]] inline int push_new(thread *t, slot *w, unit_scheduler *s) noexcept {
    w->add_created();
    if (!w->fresh.push_if_room(t)) [[unlikely]]
        return push_slowly(w, t);
    return s->could_use_harts() ? call_help(s) : 0;
}

// A thread with plain attributes that waits in the hart's queue. eager: it has its context from now on.
template <bool eager>
[[gnu::always_inline]] inline int create_in_queue(comity_thread_t **out, const comity_thread_attr_t &a,
                                                  void *(*fn)(void *), void *arg, slot *w,
                                                  run_function_t run) noexcept {
    if (!fn || !out) [[unlikely]]
        return EINVAL;
    hart_cache &own = cache_of(*w);
    thread *t = own.descriptors.first;
    if (!t || (eager && !own.contexts[0].first)) [[unlikely]]
        return create_slowly(out, a, fn, arg);
    own.descriptors.drop_first();
    if constexpr (eager) t->c = own.contexts[0].drop_first();
    unit_scheduler *const s = w->owner;
    t->mark_as(eager ? thread::that_has_context : 0);
    dress_plainly(t, s, a, run, fn);
    t->value = arg;
    *out = t;
    return push_new(t, w, s);
}

// One that starts at once, with the caller in the queue. It is not the caller's turn to let others go on.
[[gnu::always_inline]] inline int create_and_start(comity_thread_t **out, const comity_thread_attr_t &a,
                                                   void *(*fn)(void *), void *arg, slot *w, context *parent) noexcept {
    hart_cache &own = cache_of(*w);
    const technique &h = techniques[a.technique];
    thread *t = own.descriptors.first;
    if (!fn || !out || !t || !own.contexts[0].first) [[unlikely]]
        return create_slowly(out, a, fn, arg);
    own.descriptors.drop_first();
    t->c = own.contexts[0].drop_first();
    t->mark_as(h.eager ? thread::that_has_context : 0);
    dress_plainly(t, w->owner, a, h.run, fn);
    t->value = arg;
    *out = t; // before it runs: it may be over when it has been started
    w->add_created();
    return h.start(t, parent);
}

// The caller creates a thread of a child-first technique with plain attributes.
COMITY_HOT [[gnu::noinline]] int create_child_first(comity_thread_t **out, const comity_thread_attr_t &a,
                                                    void *(*fn)(void *), void *arg, slot *w) noexcept {
    if (is_turn(w->created) || w->owner->has_affinities()) [[unlikely]]
        return create_slowly(out, a, fn, arg);
    context *const parent = core::current_context();
    if (may_wait_in_queue(w->owner, parent)) [[likely]]
        return create_and_start(out, a, fn, arg, w, parent);
    const technique &h = techniques[a.technique];
    return h.eager ? create_in_queue<true>(out, a, fn, arg, w, h.run)
                   : create_in_queue<false>(out, a, fn, arg, w, h.run);
}

// The same for an eager one.
COMITY_HOT [[gnu::noinline]] int create_eager(comity_thread_t **out, const comity_thread_attr_t &a, void *(*fn)(void *),
                                              void *arg, slot *w) noexcept {
    return create_in_queue<true>(out, a, fn, arg, w, techniques[a.technique].run);
}

// ---- Join

// May the calling context run the thread? What runs on a transition context cannot be stopped, and a stackless thread
// must not be: where the caller has its own TLS the transition context cannot stand in for it.
// Nor does a thread run on a stack that must be elsewhere, if it or the joiner has an affinity.
[[gnu::always_inline]] inline bool may_run(const thread *t, const context *c) noexcept {
    if (t->owner->has_affinities() && (was_given_affinity(t) || has_affinity(t->owner, c))) [[unlikely]]
        return false;
    const bool on_transition = c == &c->on->transition;
    return t->how == COMITY_TECHNIQUE_STACKLESS ? c->shares_tls || on_transition : !on_transition;
}

// Nobody has the handle any more. k: the calling carrier, or null.
void free_thread(thread *t, carrier *k) noexcept {
    dispose(t, k && k->carried ? k : nullptr);
    if (const slot *w = k ? work_of(k) : nullptr; w && w->owner->implicit) [[unlikely]]
        end_if_idle(k);
}

// The same for the rest.
[[gnu::noinline]] int take_result_slowly(thread *t, void **result) noexcept {
    if (result) *result = t->value;
    free_thread(t, core::current_carrier());
    return 0;
}

// The same for a thread that has a plain context.
[[gnu::noinline]] int take_result_and_context(thread *t, slot *w, void **result) noexcept {
    hart_cache &own = cache_of(*w);
    if (own.contexts[0].size() >= hart_cache::most_contexts) [[unlikely]]
        return take_result_slowly(t, result);
    own.contexts[0].push(t->c);
    if (result) *result = t->value;
    t->join.begin(end_word::freed);
    own.descriptors.push(t);
    return 0;
}

// The thread has ended: fetches its result and disposes of it.
[[gnu::always_inline]] inline int take_result(thread *t, slot *w, void **result) noexcept {
    constexpr unsigned with_more = thread::that_has_context | thread::that_is_special | thread::that_is_extended;
    if (!w || !w->cache) [[unlikely]]
        return take_result_slowly(t, result);
    descriptor_list &free = cache_of(*w).descriptors;
    if (free.count == hart_cache::most_descriptors) [[unlikely]]
        return take_result_slowly(t, result);
    if (t->has(with_more)) [[unlikely]]
        return t->has(with_more & ~thread::that_has_context) ? take_result_slowly(t, result)
                                                             : take_result_and_context(t, w, result);
    if (result) *result = t->value;
    t->join.begin(end_word::freed);
    free.push(t);
    return 0;
}

// As comity_thread_yield, but a thread that has not started begins first.
void let_fresh_begin(context *c, const slot *w) noexcept {
    const core::unit_hooks *hooks = w->owner->hooks->units;
    if (!hooks->yield_to_fresh || c->owner != w->owner) return comity_thread_yield();
    hooks->yield_to_fresh(w->owner, c);
}

// The thread has started, and may stand among those of this hart that are ready: they go on first. The joiner stands
// behind them, which is a mere switch, where to wait for the end would lead to it and back at once. Not for long, since
// the thread may wait elsewhere. To come back costs the joiner more than the switches between threads, which are alike,
// since the processor mispredicts its returns; so, while only few are ready, one more begins each time, and the joiner
// finds more that have ended.
void let_others_go_on(thread *t, const slot *w) noexcept {
    constexpr unsigned rounds = 4, many = 16;
    std::uint32_t ready = w->ready.size();
    if (ready == 0 || !t->join.begin_looking(w->owner)) return;
    for (unsigned i = 0; i < rounds && ready != 0 && t->join.get() == end_word::looked_at; ++i) {
        ready < many ? let_fresh_begin(core::current_context(), w) : comity_thread_yield();
        w = work_of(core::current_carrier());
        ready = w->ready.size();
    }
    t->join.end_looking(w->owner);
}

// Waits for the end. Returns 0 or the error number of joining it.
[[gnu::noinline]] int wait_to_join(thread *t, slot *w) noexcept {
    if (t->join.get() != end_word::ended && w && thread_of(core::current_context()) != t) let_others_go_on(t, w);
    const std::uintptr_t now = t->join.get();
    return now == end_word::ended ? 0 : wait_for_end(t, now);
}

COMITY_HOT [[gnu::noinline]] int join_living(thread *t, void **result) noexcept {
    slot *w = work_here();
    context *c = core::current_context();
    if (w && w->owner == t->owner && t->join.get() == end_word::open && may_run(t, c) && w->fresh.pop_if(t)) {
        if (is_turn(w->ended)) [[unlikely]]
            comity_thread_yield();
        const auto run_for = how(t).run_for;
        if (run_for == run_on_joiner)
            run_on_joiner_here(t, c);
        else if (run_for == join_stackless)
            run_stackless_here(t, c);
        else
            run_for(t, c);
    } else if (const int error = wait_to_join(t, w)) {
        return error;
    }
    return take_result(t, work_here(), result);
}

} // namespace

[[gnu::noinline]] int wait_for_end(thread *t, std::uintptr_t state) noexcept {
    if (thread_of(core::current_context()) == t) return EDEADLK;
    if (state != end_word::open || t->is_prepared()) return EINVAL;
    std::uintptr_t now = state;
    while (now == end_word::open) {
        if (const int cancelled = cancel_here()) return cancelled;
        t->join.wait(thread_to_interrupt());
        now = t->join.get();
        if (now > end_word::detached) return EINVAL; // somebody else was faster
    }
    return now == end_word::ended ? 0 : EINVAL;
}

namespace {
// The scheduler that the calling context has opened last and not ended.
unit_scheduler *opened_here() noexcept {
    (void)core::come_back();
    carrier *k = core::current_carrier();
    slot *w = k ? work_of(k) : nullptr;
    const thread *t = k ? thread_of(k->current) : nullptr; // one of the scheduler's may run on the registrant's stack
    if (!w || w->owner->registrant != k->current || w->owner->implicit || (t && t->owner == w->owner))
        sys::fatal("comity_threads_end",
                   "the caller's scheduler of threads was not opened by comity_threads_begin in this context");
    return w->owner;
}
} // namespace

} // namespace comity

// ---- The C interface

using namespace comity;

extern "C" {

int comity_threads_begin(void) { return open_default_scheduler() ? 0 : ENOMEM; }

void comity_threads_end(void) { end_default_scheduler(opened_here()); }

void comity_threads_end_of(const comity_scheduler *scheduler) {
    unit_scheduler *const newest = opened_here();
    if (reinterpret_cast<const comity_scheduler *>(newest) != scheduler)
        sys::fatal("comity_threads_end",
                   "a scheduler of threads (comity::threads) ends before one that the same context "
                   "opened later; end the newest first");
    end_default_scheduler(newest);
}

int comity_thread_prepare(comity_thread_t **out, const comity_thread_attr_t *attr, void *(*fn)(void *), void **data) {
    const comity_thread_attr_t &a = attr ? *attr : default_attributes;
    if (!fn || !out || !is_possible(a)) return EINVAL;
    take_turns(a);
    thread *t = nullptr;
    if (const int error = prepare(t, a, fn)) return error;
    hand_out_prepared(t, a.unwinds, out, data);
    return 0;
}

int comity_thread_launch(comity_thread_t *handle) {
    thread *t = take_prepared(handle);
    if (!t) [[unlikely]]
        return EINVAL;
    carrier *k = core::current_carrier();
    slot *w = k ? work_of(k) : nullptr;
    if (!w) [[unlikely]] {
        if (!(w = work_for_caller())) {
            put_back_prepared(t);
            return ENOMEM;
        }
        k = core::current_carrier();
    }
    t->owner = w->owner; // which may be another one than where it was prepared
    if (t->is_extended()) [[unlikely]]
        announce_affinity(t);
    return launch<true>(t, k, w);
}

int comity_thread_discard(comity_thread_t *handle) {
    thread *t = take_prepared(handle);
    if (!t) return EINVAL;
    free_thread(t, core::current_carrier());
    return 0;
}

COMITY_HOT int comity_thread_create(comity_thread_t **out, const comity_thread_attr_t *attr, void *(*fn)(void *),
                                    void *arg) {
    const comity_thread_attr_t &a = attr ? *attr : default_attributes;
    slot *w = work_here();
    if (!w || !is_plain_joinable(a)) [[unlikely]]
        return create_slowly(out, a, fn, arg);
    const run_function_t run = runs_without_context[a.technique];
    if (!run) [[unlikely]]
        return techniques[a.technique].start ? create_child_first(out, a, fn, arg, w)
                                             : create_eager(out, a, fn, arg, w);
    return create_in_queue<false>(out, a, fn, arg, w, run);
}

COMITY_HOT int comity_thread_join(comity_thread_t *handle, void **result) {
    if (!handle) [[unlikely]]
        return EINVAL;
    auto *t = static_cast<thread *>(handle);
    return t->join.get() == end_word::ended ? take_result(t, work_here(), result) : join_living(t, result);
}

int comity_thread_detach(comity_thread_t *handle) {
    if (!handle) return EINVAL;
    auto *t = static_cast<thread *>(handle);
    std::uintptr_t before = 0;
    if (t->join.replace_open(end_word::detached, before)) return 0;
    if (before != end_word::ended) return EINVAL;
    lose_result(t);
    dispose(t, carrier_with_hart());
    return 0;
}

void comity_thread_yield(void) {
    const slot *w = work_here();
    context *c = core::current_context();
    if (w && c->owner == w->owner) yield_units(w->owner, c);
}

void comity_thread_exit(void *result) {
    const context *c = core::current_context();
    thread *t = thread_of(c);
    if (c && c->self.is_in_fork())
        sys::fatal("comity_thread_exit", "it was called in a half of a fork (comity::join, comity_fork_begin … "
                                         "comity_fork_end), which must return: the other half is still to be joined");
    if (!t) sys::fatal("comity_thread_exit", "the caller is not a thread of Comity");
    if (t->how == COMITY_TECHNIQUE_STACKLESS) sys::fatal("comity_thread_exit", "a stackless thread ends by returning");
    t->value = t->drops_results() && result != COMITY_THREAD_CANCELLED ? nullptr : result;
    if (t->has(marks_at_end)) end_with_more(t);
    core::leave_handlers();
    if (is_on_joiner(t)) leave_joiner(t);
    leave_context(t);
}

comity_thread_t *comity_thread_self(void) { return thread_of(core::current_context()); }
}
