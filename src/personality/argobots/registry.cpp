// The streams that exist: their life, and what their contexts run.
#include "personality/argobots/registry.hpp"
#include "core/chaos.hpp"
#include "personality/argobots/schedulers.hpp"
#include "personality/argobots/stacks.hpp"
#include "personality/argobots/work.hpp"

#include <new>

namespace comity::abt {

namespace {

core::spinlock registry_lock;
stream *first_stream = nullptr; // by rank, under registry_lock
int stream_count = 0;

// Under registry_lock. False: the rank is taken. -1: the lowest that is free.
bool enter(stream *s, int rank) noexcept {
    stream **at = &first_stream;
    int free_rank = 0;
    for (; *at && (rank < 0 ? (*at)->rank == free_rank : (*at)->rank < rank); at = &(*at)->next) ++free_rank;
    if (rank >= 0 && *at && (*at)->rank == rank) return false;
    s->rank = rank < 0 ? free_rank : rank;
    s->next = *at;
    *at = s;
    ++stream_count;
    return true;
}

void leave(stream *s) noexcept {
    for (stream **at = &first_stream; *at; at = &(*at)->next)
        if (*at == s) {
            *at = s->next;
            --stream_count;
            return;
        }
}

// The stream has ended, on the transition context: its stack is free.
void stream_ended(context *, void *argument) {
    auto *s = static_cast<stream *>(argument);
    streams *all = the_streams();                                            // this hart is in it, so it stays
    s->state.store(ABT_XSTREAM_STATE_TERMINATED, std::memory_order_release); // release[abt-state]
    if (waiter *w = s->joiner.exchange(ended_mark(), std::memory_order_acq_rel))
        w->signal_and_wake(); // acq_rel[abt-join]
    all->next(core::current_carrier());
}

} // namespace

void become_main(stream *s, scheduler *d) noexcept {
    s->main = d;
    d->unit->on = s;
    d->unit->stack = s->stack;
    d->used.store(scheduler::use::main, std::memory_order_relaxed);
}

void stop_being_main(scheduler *d) noexcept {
    d->used.store(scheduler::use::none, std::memory_order_relaxed);
    if (d->automatic) {
        free_scheduler(d);
        return;
    }
    d->unit->stack = nullptr;
    destroy(d->unit);
    d->unit = nullptr;
}

namespace {

void replace_main(stream *s) noexcept {
    scheduler *old = s->main;
    thread *who = old->replacer;
    become_main(s, old->replaced_by);
    old->replaced_by = nullptr;
    old->replacer = nullptr;
    const std::uint32_t asked = old->requests.exchange(0, std::memory_order_relaxed);
    s->main->requests.fetch_or(asked & (sched_finish | sched_exit), std::memory_order_relaxed);
    s->stack->local = s->main->unit;
    stop_being_main(old);
    make_ready(who, ABT_POOL_CONTEXT_OP_THREAD_RESUME);
}

} // namespace

void stream_main(void *argument) {
    auto *s = static_cast<stream *>(argument);
    for (;;) {
        s->stack->local = s->main->unit;
        s->current = s->main->unit;
        s->current->state.store(ABT_THREAD_STATE_RUNNING, std::memory_order_relaxed);
        run_scheduler(s->main);
        if (!s->main->replaced_by) break;
        replace_main(s);
    }
    s->main->unit->state.store(ABT_THREAD_STATE_TERMINATED, std::memory_order_relaxed);
    if (s->primary) return primary_ends(s);
    core::exit_context(s->stack, stream_ended, s);
}

stream *make_stream(scheduler *d, int rank, int &error) noexcept {
    auto *s = new (std::nothrow) stream;
    int failed = 0;
    if (s) s->stack = core::create_context(settings().scheduler_stack, false, failed);
    if (!s || !s->stack || !make_unit_of(d, unit_kind::main_scheduler)) {
        if (s && s->stack) core::destroy_context(s->stack);
        delete s;
        error = ABT_ERR_MEM;
        return nullptr;
    }
    become_main(s, d);
    s->stack->owner = the_streams();
    s->stack->local = d->unit;
    s->current = d->unit;
    registry_lock.lock();
    const bool entered = enter(s, rank);
    registry_lock.unlock();
    if (entered) return s;
    d->used.store(scheduler::use::none, std::memory_order_relaxed);
    d->unit->stack = nullptr;
    destroy(d->unit);
    d->unit = nullptr;
    core::destroy_context(s->stack);
    delete s;
    error = ABT_ERR_INV_XSTREAM_RANK;
    return nullptr;
}

void free_stream(stream *s) noexcept {
    registry_lock.lock();
    leave(s);
    registry_lock.unlock();
    stop_being_main(s->main);
    core::destroy_context(s->stack);
    forget_kept(s);
    while (stream_place *p = s->places) {
        s->places = p->before;
        delete p;
    }
    delete s;
}

void join_stream(stream *s) noexcept {
    s->requests.fetch_or(sched_finish, std::memory_order_release); // release[abt-request]
    wake(s);
    while (s->joiner.load(std::memory_order_acquire) != ended_mark()) { // acquire[abt-join]
        waiter w, *nobody = nullptr;
        w.prepare();
        if (s->joiner.compare_exchange_strong(nobody, &w, std::memory_order_acq_rel))
            return w.wait(); // acq_rel[abt-join]
        if (nobody != ended_mark()) pass_time();
    }
}

void for_each_stream(void (*visit)(stream *, void *), void *arg) noexcept {
    registry_lock.lock();
    for (stream *s = first_stream; s; s = s->next) visit(s, arg);
    registry_lock.unlock();
}

stream *other_stream() noexcept {
    registry_lock.lock();
    stream *s = first_stream;
    while (s && s->primary) s = s->next;
    registry_lock.unlock();
    return s;
}

int count_streams() noexcept {
    registry_lock.lock();
    const int n = stream_count;
    registry_lock.unlock();
    return n;
}

stream *migration_target(const stream *from) noexcept {
    registry_lock.lock();
    stream *found = nullptr;
    for (stream *s = first_stream; s && !found; s = s->next)
        if (s != from && s->state.load(std::memory_order_relaxed) == ABT_XSTREAM_STATE_RUNNING) found = s;
    registry_lock.unlock();
    return found;
}

bool set_rank(stream *s, int rank) noexcept {
    registry_lock.lock();
    const int before = s->rank;
    leave(s);
    const bool entered = enter(s, rank);
    if (!entered) enter(s, before);
    registry_lock.unlock();
    return entered;
}

} // namespace comity::abt
