#include "personality/argobots/work.hpp"

#include "core/chaos.hpp"
#include "personality/argobots/keys.hpp"
#include "personality/argobots/pools.hpp"
#include "personality/argobots/registry.hpp"
#include "personality/argobots/schedulers.hpp"
#include "personality/argobots/stacks.hpp"

#include <new>

namespace comity::abt {

namespace {

void ult_main(void *argument);
std::atomic<std::uint64_t> last_id{0};

} // namespace

// ---- Life

int create(pool *home, void (*fn)(void *), void *arg, unit_kind kind, const thread_options &options, bool named,
           thread *&made) noexcept {
    thread *t = new_thread(own_stream());
    if (!t) return ABT_ERR_MEM;
    t->kind = kind;
    t->named = named;
    t->fn = fn;
    t->arg = arg;
    t->migratable.store(options.migratable, std::memory_order_relaxed);
    t->on_migration = options.on_migration;
    t->migration_arg = options.migration_arg;
    if (kind != unit_kind::tasklet) {
        t->stack_size = options.stack_size ? options.stack_size : settings().thread_stack;
        t->stack_address = options.stack_address;
        t->own_stack = options.stack_address || t->stack_size != settings().thread_stack;
    }
    // An unusual stack is made now, so that there is somebody to tell that there is no memory for it.
    if (t->own_stack && !give_stack(t)) {
        destroy(t);
        return ABT_ERR_MEM;
    }
    if (const int error = home ? associate(t, home) : ABT_SUCCESS; error != ABT_SUCCESS) {
        destroy(t);
        return error;
    }
    made = t;
    return ABT_SUCCESS;
}

void destroy(thread *t) noexcept {
    destroy_values(t);
    if (t->stack && t->kind != unit_kind::main_ult && t->kind != unit_kind::main_scheduler) drop_stack(t);
    leave_pool(t);
    delete_thread(own_stream(), t);
}

int revive(thread *t, pool *home, void (*fn)(void *), void *arg) noexcept {
    join(t); // whoever ended it may still be about to say so
    if (const int error = associate(t, home); error != ABT_SUCCESS) return error;
    t->fn = fn;
    t->arg = arg;
    t->requests.store(0, std::memory_order_relaxed);
    t->joiner.store(nullptr, std::memory_order_relaxed);
    t->state.store(ABT_THREAD_STATE_READY, std::memory_order_relaxed);
    return ABT_SUCCESS;
}

void join(thread *t) noexcept {
    while (t->joiner.load(std::memory_order_acquire) != ended_mark()) { // acquire[abt-join]
        waiter w, *nobody = nullptr;
        w.prepare();
        if (t->joiner.compare_exchange_strong(nobody, &w, std::memory_order_acq_rel)) { // acq_rel[abt-join]
            w.wait();
            return;
        }
        if (nobody == ended_mark()) return;
        pass_time(); // two wait for it, which Argobots leaves undefined: the second one looks again and again
    }
}

void finish(thread *t) noexcept {
    if (t->stack) drop_stack(t);
    if (t->runs) scheduler_ends(t->runs);
    core::chaos_point();
    t->state.store(ABT_THREAD_STATE_TERMINATED, std::memory_order_release); // release[abt-state]
    if (!t->named) return destroy(t);
    if (waiter *w = t->joiner.exchange(ended_mark(), std::memory_order_acq_rel))
        w->signal_and_wake(); // acq_rel[abt-join]
}

std::uint64_t id_of(thread *t) noexcept {
    std::uint64_t id = t->id.load(std::memory_order_relaxed);
    if (id == 0) {
        const std::uint64_t mine = last_id.fetch_add(1, std::memory_order_relaxed) + 1;
        if (t->id.compare_exchange_strong(id, mine, std::memory_order_relaxed)) id = mine;
    }
    return id;
}

// ---- Switching

namespace {

// Has it never been started since it got the context? The main ULT's may seem to run: its thread comes to carry others.
bool is_fresh(const context *c) noexcept {
    return c->state == core::context_state::fresh || c->state == core::context_state::exited;
}

struct away {
    core::arch::after_fn after;
    void *arg;
    streams *all;
};

// Stops the context `from`, which is the caller's, and goes on with `to`.
void go_on(context *from, thread *to, core::arch::after_fn after, void *arg) noexcept {
    streams *all = the_streams();
    const bool main = from == all->main_context && from->home;
    context *c = to->stack;
    if (main) all->main_stops();
    if (is_fresh(c)) {
        if (to->kind == unit_kind::main_scheduler)
            core::switch_start(from, c, stream_main, to->on, after, arg);
        else
            core::switch_start(from, c, ult_main, to, after, arg);
    } else if (!c->home) {
        core::switch_to(from, c, after, arg);
    } else if (c->home == from->on) {
        all->claim_main(from->on);
        core::switch_to(from, c, after, arg);
    } else { // the main ULT goes on on its own thread only; this hart is for others meanwhile
        away a{after, arg, all};
        core::pause(
            from,
            [](context *, void *argument) {
                const away a = *static_cast<away *>(argument);
                a.after(a.arg);
                a.all->send_main();
                a.all->next(core::current_carrier());
            },
            &a);
    }
    if (main) all->main_goes_on();
}

void begin_in(stream *s, thread *t, thread *parent) noexcept {
    t->parent = parent;
    t->on = s;
    t->state.store(ABT_THREAD_STATE_RUNNING, std::memory_order_relaxed);
    s->current = t;
}

void ult_main(void *argument) {
    auto *t = static_cast<thread *>(argument);
    t->fn(t->arg);
    if (!t->called || t->stack->broken) exit_to_parent(t);
    // Back in run(), without a switch.
}

// False: it has been cancelled, or has moved to another pool.
bool serve_requests(thread *t) noexcept {
    const std::uint32_t what = t->requests.exchange(0, std::memory_order_acquire); // acquire[abt-request]
    if (what & to_cancel) {
        finish(t);
        return false;
    }
    if (pool *to = t->migrates_to.exchange(nullptr, std::memory_order_acquire)) { // acquire[abt-request]
        if (associate(t, to) != ABT_SUCCESS) return true;
        if (t->on_migration) t->on_migration(handle(t), t->migration_arg);
        push(to, t, ABT_POOL_CONTEXT_OP_THREAD_MIGRATE);
        return false;
    }
    return true;
}

} // namespace

bool give_stack(thread *t) noexcept {
    if (!t->stack) t->stack = take_stack(own_stream(), t->own_stack ? t->stack_size : 0, t->stack_address);
    if (!t->stack) return false;
    t->stack->local = t;
    t->stack->owner = the_streams();
    return true;
}

void run(thread *by, thread *t) noexcept {
    if (t->requests.load(std::memory_order_relaxed) && !serve_requests(t)) return;
    stream *s = by->on;
    if (t->is_tasklet()) {
        begin_in(s, t, by);
        t->fn(t->arg);
        by->on->current = by;
        return finish(t);
    }
    if (!t->stack && !give_stack(t)) {
        push(t->home, t, ABT_POOL_CONTEXT_OP_POOL_OTHER); // later: others end and leave their stacks
        return pass_time();
    }
    begin_in(s, t, by);
    t->called = is_fresh(t->stack) && !by->stack->home;
    if (!t->called) return go_on(by->stack, t, nothing, nullptr);
    if (!core::call(by->stack, t->stack, ult_main, t)) return;
    by->on->current = by;
    finish(t);
}

void pass_by(stream *s) noexcept {
    constexpr unsigned most = 32;
    if (++s->passed % most == 0 && the_streams()->should_rotate(core::current_carrier(), s->since))
        the_streams()->rotate();
}

void leave_to_parent(thread *t, core::arch::after_fn after, void *arg) noexcept {
    thread *parent = t->parent;
    t->on->current = parent;
    go_on(t->stack, parent, after, arg);
}

bool leave_to(thread *t, thread *to, core::arch::after_fn after, void *arg) noexcept {
    pass_by(t->on);
    if (!give_stack(to)) return false;
    to->called = false;
    begin_in(t->on, to, t->parent);
    go_on(t->stack, to, after, arg);
    return true;
}

static void after_end(void *t) noexcept { finish(static_cast<thread *>(t)); }

void exit_to_parent(thread *t) noexcept {
    leave_to_parent(t, after_end, t);
    __builtin_unreachable();
}

void exit_to(thread *t, thread *to) noexcept {
    to->called = false;
    begin_in(t->on, to, t->parent);
    go_on(t->stack, to, after_end, t);
    __builtin_unreachable();
}

void primary_ends(stream *s) noexcept {
    auto *t = static_cast<thread *>(the_streams()->main_context->local);
    begin_in(s, t, s->main->unit);
    go_on(s->stack, t, nothing, nullptr);
    __builtin_unreachable();
}

// ---- When a ULT has stopped

void mark_blocked(thread *t) noexcept {
    if (t->home) t->home->blocked.fetch_add(1, std::memory_order_relaxed);
    t->state.store(ABT_THREAD_STATE_BLOCKED, std::memory_order_release); // release[abt-state]
}

// A stream that is asked to end looks at its pool's size and at `blocked`: the unit counts in one of them all the time.
void make_ready(thread *t, ABT_pool_context op) noexcept {
    pool *home = t->home;
    t->state.store(ABT_THREAD_STATE_READY, std::memory_order_relaxed);
    core::chaos_point();
    push(home, t, op);
    home->blocked.fetch_sub(1, std::memory_order_release); // release[abt-blocked]
}

void push_stopped(thread *t, ABT_pool_context op) noexcept {
    t->state.store(ABT_THREAD_STATE_READY, std::memory_order_relaxed);
    push(t->home, t, op);
}

void after_yield(void *t) noexcept { push_stopped(static_cast<thread *>(t), ABT_POOL_CONTEXT_OP_THREAD_YIELD); }
// Who resumes it looks at the state first, then at `suspended`.
void after_suspend(void *argument) noexcept {
    auto *t = static_cast<thread *>(argument);
    t->suspended.store(true, std::memory_order_relaxed);
    mark_blocked(t);
}

} // namespace comity::abt
