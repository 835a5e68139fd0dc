#include "thread/thread.hpp"

#include "core/runtime.hpp"
#include "sys/message.hpp"
#include "thread/cache.hpp"

#include <cerrno>
#include <cstring>
#include <iterator>

namespace comity {

using core::carrier;
using core::context;

namespace {

constexpr const technique *techniques[] = {&roc_l, &roc_l, &full}; // by comity_technique_t

const technique &how(const thread *t) noexcept { return *techniques[t->how]; }

// The calling carrier if it holds a hart, else null.
carrier *carrier_with_hart() noexcept {
    carrier *k = core::current_carrier();
    return k && k->carried ? k : nullptr;
}

void dispose(thread *t) noexcept {
    carrier *k = carrier_with_hart();
    if (how(t).dispose) how(t).dispose(t, k);
    give_back_descriptor(t, k);
}

// The scheduler that the caller's threads belong to; opens one where there is none. Null: no memory.
unit_scheduler *scheduler_for_caller() noexcept {
    if (carrier *k = carrier_with_hart())
        if (unit_scheduler *s = current_unit_scheduler(k)) [[likely]]
            return s;
    unit_scheduler *s = open_default_scheduler();
    if (s) s->implicit = true;
    return s;
}

// The threads are all joined: the caller gets back what scheduler_for_caller opened.
void end_if_implicit(const context *c, const unit_scheduler *owner) noexcept {
    if (!c || !c->on->carried || c->on->current_sched != owner) return;
    auto *s = static_cast<unit_scheduler *>(c->on->current_sched);
    if (s->implicit && s->registrant == c && s->all_ended()) end_default_scheduler(s);
}

// ---- Join

// On the transition context: the joiner is off its stack.
void park_joiner(context *c, void *argument) {
    auto *t = static_cast<thread *>(argument);
    carrier *k = core::current_carrier();
    std::uintptr_t nobody = 0;
    if (t->join.compare_exchange_strong(nobody, reinterpret_cast<std::uintptr_t>(c),
                                        std::memory_order_acq_rel)) // acq_rel[thread-end]
        core::block(k, c);
    core::resume(k, c);
}

void wait_without_hart(thread *t, context *c) noexcept {
    std::uintptr_t nobody = 0;
    if (t->join.compare_exchange_strong(nobody, reinterpret_cast<std::uintptr_t>(c),
                                        std::memory_order_acq_rel)) // acq_rel[thread-end]
        core::sleep_without_hart(c->on);
}

bool spin_for_end(const thread *t, const carrier *k) noexcept {
    core::sched *s = k->current_sched;
    const std::uint64_t from = sys::ticks(), most = core::spin_ticks();
    for (unsigned i = 1; !(s->hooks && s->hooks->other_work(s)); ++i) {
        if (t->join.load(std::memory_order_acquire) != 0) // acquire[thread-end]
            return true;
        if (i % 16 == 0 && sys::ticks() - from > most) break;
        sys::cpu_relax();
    }
    return false;
}

void wait_for_end(thread *t) noexcept {
    context *c = core::adopt()->current;
    carrier *k = c->on;
    if (!k->carried) return wait_without_hart(t, c);
    if (k->current_sched == t->owner && c->owner == t->owner && how(t).run_for &&
        t->owner->hooks->units->take_back(t->owner, k, t))
        return how(t).run_for(t, c);
    if (!spin_for_end(t, k)) core::pause(c, park_joiner, t);
}

// ---- The end of a thread

void end_on_transition(context *, void *argument) {
    auto *t = static_cast<thread *>(argument);
    carrier *k = core::current_carrier();
    unit_scheduler *s = t->owner;
    if (how(t).left) how(t).left(t, k);
    if (context *waiter = publish_end(t, k)) core::resume(k, waiter);
    s->hooks->units->next(s, k);
}

} // namespace

context *publish_end(thread *t, carrier *k) noexcept {
    t->owner->own_tally(k).add_ended();
    const std::uintptr_t before = t->join.exchange(thread::ended, std::memory_order_acq_rel); // acq_rel[thread-end]
    if (before == 0) return nullptr;
    if (before == thread::detached) {
        dispose(t);
        return nullptr;
    }
    auto *waiter = reinterpret_cast<context *>(before);
    if (waiter->owner == k->current_sched && (!waiter->home || waiter->home == k)) return waiter;
    core::unblock(waiter);
    return nullptr;
}

void leave_context(thread *t) noexcept { core::exit_context(static_cast<context *>(t->c), end_on_transition, t); }

} // namespace comity

// ---- The C interface

using namespace comity;

extern "C" {

int comity_threads_begin(void) { return open_default_scheduler() ? 0 : ENOMEM; }

void comity_threads_end(void) {
    carrier *k = core::current_carrier();
    unit_scheduler *s = k && k->carried ? current_unit_scheduler(k) : nullptr;
    if (!s || s->registrant != k->current || s->implicit)
        sys::fatal("comity_threads_end",
                   "the caller's scheduler of threads was not opened by comity_threads_begin in this context");
    end_default_scheduler(s);
}

int comity_thread_prepare(comity_thread_t **out, const comity_thread_attr_t *attr, void *(*fn)(void *), void **data) {
    static constexpr comity_thread_attr_t defaults{};
    const comity_thread_attr_t &a = attr ? *attr : defaults;
    unsigned which = 0; // a C program may have put anything there
    std::memcpy(&which, &a.technique, sizeof which);
    if (!fn || !out || which >= std::size(techniques) || a.stack_size > UINT32_MAX) return EINVAL;
    unit_scheduler *s = scheduler_for_caller();
    carrier *k = core::current_carrier();
    thread *t = s ? take_descriptor(k) : nullptr;
    if (!t) return ENOMEM;
    t->fn = fn;
    t->arg = t->data;
    t->owner = s;
    t->stack_size = static_cast<std::uint32_t>(a.stack_size);
    t->own_tls = a.own_tls != 0;
    t->how = static_cast<std::uint8_t>(which);
    t->run = how(t).run;
    t->join.store(a.detached ? thread::detached : 0, std::memory_order_relaxed);
    if (const int error = how(t).prepare(t, k)) {
        give_back_descriptor(t, k);
        end_if_implicit(k->current, s);
        return error;
    }
    if (data) *data = t->data;
    *out = t;
    return 0;
}

int comity_thread_launch(comity_thread_t *handle) {
    auto *t = static_cast<thread *>(handle);
    carrier *k = core::current_carrier();
    unit_scheduler *s = t->owner;
    s->own_tally(k).add_created();
    if (s->hooks->units->push(s, k, t)) [[likely]]
        return 0;
    s->own_tally(k).add_ended();
    dispose(t);
    end_if_implicit(k->current, s);
    return ENOMEM;
}

int comity_thread_create(comity_thread_t **out, const comity_thread_attr_t *attr, void *(*fn)(void *), void *arg) {
    comity_thread_t *t = nullptr;
    if (!out && !(attr && attr->detached)) return EINVAL;
    if (const int error = comity_thread_prepare(&t, attr, fn, nullptr)) [[unlikely]]
        return error;
    t->arg = arg;
    if (out) *out = t;
    return comity_thread_launch(t);
}

int comity_thread_join(comity_thread_t *handle, void **result) {
    auto *t = static_cast<thread *>(handle);
    const std::uintptr_t state = t->join.load(std::memory_order_acquire); // acquire[thread-end]
    if (state != thread::ended) {
        if (thread_of(core::current_context()) == t) return EDEADLK;
        if (state != 0) return EINVAL;
        wait_for_end(t);
        if (t->join.load(std::memory_order_acquire) != thread::ended) // acquire[thread-end]
            return EINVAL;
    }
    if (result) *result = t->result;
    const unit_scheduler *owner = t->owner;
    dispose(t);
    end_if_implicit(core::current_context(), owner);
    return 0;
}

int comity_thread_detach(comity_thread_t *handle) {
    auto *t = static_cast<thread *>(handle);
    std::uintptr_t state = 0;
    if (t->join.compare_exchange_strong(state, thread::detached, std::memory_order_acq_rel)) // acq_rel[thread-end]
        return 0;
    if (state != thread::ended) return EINVAL;
    dispose(t);
    return 0;
}

void comity_thread_yield(void) {
    carrier *k = carrier_with_hart();
    unit_scheduler *s = k ? current_unit_scheduler(k) : nullptr;
    if (s && k->current->owner == s) s->hooks->units->yield(s, k->current);
}

void comity_thread_exit(void *result) {
    thread *t = thread_of(core::current_context());
    if (!t) sys::fatal("comity_thread_exit", "the caller is not a thread of Comity");
    t->result = result;
    leave_context(t);
}

comity_thread_t *comity_thread_self(void) { return thread_of(core::current_context()); }
}
