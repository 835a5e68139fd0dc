#include "personality/argobots/schedulers.hpp"

#include "core/base.hpp"
#include "core/runtime.hpp"
#include "personality/argobots/info.hpp"
#include "personality/argobots/pools.hpp"
#include "personality/argobots/stacks.hpp"
#include "personality/argobots/work.hpp"
#include "sys/kernel_thread.hpp"

#include <new>

namespace comity::abt {

namespace {

constexpr std::uint64_t spin_us = 5;              // a scheduler looks for so long before it lets go of its hart
constexpr unsigned patience = 2;                  // fruitless rounds of the program's own scheduler before it is idle
constexpr std::int64_t least_nap_ns = 50'000;     // it may find work elsewhere than in pools: so it is woken again
constexpr std::int64_t most_nap_ns = 10'000'000;  // after twice as long each time
constexpr std::int64_t ending_nap_ns = 1'000'000; // asked to end, and waiting for those who are blocked

thread *pop_any(scheduler *d) noexcept {
    if (!d->random) {
        for (int i = 0; i < d->num_pools; ++i)
            if (thread *t = pop(d->pools[i], ABT_POOL_CONTEXT_OWNER_PRIMARY)) return t;
        return nullptr;
    }
    if (d->num_pools == 0) return nullptr;
    if (thread *t = pop(d->pools[0], ABT_POOL_CONTEXT_OWNER_PRIMARY)) return t;
    const unsigned others = static_cast<unsigned>(d->num_pools) - 1;
    if (others == 0) return nullptr;
    d->seed = d->seed * 6364136223846793005 + 1442695040888963407;
    for (unsigned i = 0, from = static_cast<unsigned>(d->seed >> 33); i < others; ++i)
        if (thread *t = pop(d->pools[1 + (from + i) % others], ABT_POOL_CONTEXT_OWNER_SECONDARY)) return t;
    return nullptr;
}

bool any_filled(const scheduler *d) noexcept {
    for (int i = 0; i < d->num_pools; ++i)
        if (!is_empty(d->pools[i])) return true;
    return false;
}

bool all_built_in(const scheduler *d) noexcept {
    for (int i = 0; i < d->num_pools; ++i)
        if (!d->pools[i]->built_in()) return false;
    return true;
}

void enter_sleep(pool *p, sleeper &s, waiter &w) noexcept {
    s.w = &w;
    if (!p->built_in()) return p->asleep.add(s);
    p->lock.lock(); // so that whoever fills it after we have looked sees us
    p->asleep.add(s);
    p->lock.unlock();
}

// The main scheduler of the stream stops until a pool of its is filled, somebody asks for something, or for so long (0:
// without end).
void sleep(stream *s, scheduler *d, std::int64_t most_ns) noexcept {
    watch_for_dumps();
    waiter w;
    w.prepare();
    for (int i = 0; i < d->num_pools; ++i) enter_sleep(d->pools[i], d->asleep_in[i], w);
    s->lock.lock();
    s->sleeping = &w;
    s->lock.unlock();
    std::atomic_thread_fence(std::memory_order_seq_cst); // seq_cst[abt-sleep]
    context *c = nullptr;
    if (any_filled(d) || s->requests.load(std::memory_order_relaxed) || dump_wanted() || has_to_stop(d))
        static_cast<void>(w.signal(c)); // not parked yet: c stays null
    if (most_ns)
        static_cast<void>(w.wait_until(sys::now_ns() + most_ns));
    else
        w.wait();
    s->lock.lock();
    s->sleeping = nullptr;
    s->lock.unlock();
    for (int i = 0; i < d->num_pools; ++i) d->pools[i]->asleep.remove(d->asleep_in[i]);
}

bool spin_for_work(scheduler *d, streams *all, const carrier *k) noexcept {
    const std::uint64_t from = sys::ticks(), most = spin_us * core::ticks_per_us();
    for (unsigned i = 1; !(i % 16 == 0 && sys::ticks() - from > most); ++i) {
        if (any_filled(d)) return true;
        if (all->others_wait(k) || core::base().pressed()) return false;
        sys::cpu_relax();
    }
    return false;
}

std::int64_t nap_of(scheduler *d, bool sure) noexcept {
    if (d->requests.load(std::memory_order_relaxed) & (sched_finish | sched_replace)) return ending_nap_ns;
    if (sure) return 0;
    d->nap_ns = d->nap_ns == 0 ? least_nap_ns : d->nap_ns >= most_nap_ns / 2 ? most_nap_ns : d->nap_ns * 2;
    return d->nap_ns;
}

// A predefined scheduler has found nothing.
void idle(stream *s, scheduler *d) noexcept {
    carrier *k = core::current_carrier();
    if (s->main != d) return pass_time(); // stacked: the stream has others to look at
    if (spin_for_work(d, the_streams(), k) || has_to_stop(d)) return;
    sleep(s, d, nap_of(d, all_built_in(d)));
}

// The program's scheduler looks at its events. If it has run nothing since it did so last, it may have nothing to do;
// it will look for work by itself, so it spins, and then sleeps for longer and longer.
void idle_between_events(stream *s, scheduler *d) noexcept {
    if (++d->idle_checks <= patience || s->main != d) return;
    const std::uint64_t now = sys::ticks();
    if (d->idle_since == 0) d->idle_since = now;
    const bool waited_for = the_streams()->others_wait(core::current_carrier());
    if (waited_for && d->nap_ns == 0) the_streams()->rotate();
    if (now - d->idle_since <= core::spin_ticks() || has_to_stop(d)) return;
    sleep(s, d, nap_of(d, false));
}

void run_predefined(scheduler *d) noexcept {
    unsigned done = 0;
    for (;;) {
        thread *t = pop_any(d);
        if (t) {
            d->nap_ns = 0;
            run(d->unit, t);
            if (++done < d->frequency) continue;
        }
        done = 0;
        check_events(d->unit->on, d);
        if (has_to_stop(d)) return;
        if (!t) idle(d->unit->on, d);
    }
}

} // namespace

// ---- Life

int make_scheduler(const ABT_sched_def &def, int num_pools, const ABT_pool *pools, ABT_sched_config config,
                   bool automatic, scheduler *&made) noexcept {
    const std::size_t n = static_cast<std::size_t>(num_pools);
    auto *d = new (std::nothrow) scheduler;
    auto **list = new (std::nothrow) pool *[n + 1] {};
    auto *asleep_in = new (std::nothrow) sleeper[n + 1];
    bool enough = d && list && asleep_in;
    for (std::size_t i = 0; enough && i < n; ++i) {
        list[i] = pools[i] ? of(pools[i]) : make_pool(ABT_POOL_FIFO, ABT_POOL_ACCESS_MPMC, true);
        if (list[i]) retain(list[i]);
        enough = list[i] != nullptr;
    }
    if (!enough) {
        for (std::size_t i = 0; list && i < n; ++i)
            if (list[i]) release(list[i]);
        delete d;
        delete[] list;
        delete[] asleep_in;
        return ABT_ERR_MEM;
    }
    d->def = def;
    d->num_pools = num_pools;
    d->pools = list;
    d->asleep_in = asleep_in;
    d->automatic = automatic;
    d->frequency = settings().event_frequency;
    d->seed = reinterpret_cast<std::uintptr_t>(d);
    int value = 0;
    if (read_config(config, ABT_sched_config_automatic.idx, &value)) d->automatic = value != 0;
    if (read_config(config, ABT_sched_basic_freq.idx, &value) && value > 0) d->frequency = static_cast<unsigned>(value);
    if (def.init)
        if (const int error = def.init(handle(d), config); error != ABT_SUCCESS) {
            d->def.free = nullptr;
            free_scheduler(d);
            return error;
        }
    made = d;
    return ABT_SUCCESS;
}

int make_scheduler(ABT_sched_predef kind, int num_pools, const ABT_pool *pools, ABT_sched_config config,
                   scheduler *&made) noexcept {
    constexpr int priorities = 3;
    if (kind < ABT_SCHED_DEFAULT || kind > ABT_SCHED_BASIC_WAIT) return ABT_ERR_INV_SCHED_PREDEF;
    const ABT_pool none[priorities] = {};
    if (!pools) {
        num_pools = kind == ABT_SCHED_PRIO ? priorities : 1;
        pools = none;
    }
    if (const int error = make_scheduler(ABT_sched_def{}, num_pools, pools, config, true, made); error != ABT_SUCCESS)
        return error;
    made->predefined = true;
    made->random = kind == ABT_SCHED_RANDWS;
    return ABT_SUCCESS;
}

void free_scheduler(scheduler *d) noexcept {
    if (d->def.free) d->def.free(handle(d));
    for (int i = 0; i < d->num_pools; ++i) release(d->pools[i]);
    if (d->unit) {
        d->unit->stack = nullptr; // a stream's
        destroy(d->unit);
    }
    delete[] d->pools;
    delete[] d->asleep_in;
    delete d;
}

bool take_into_use(scheduler *d, scheduler::use as) noexcept {
    auto none = scheduler::use::none;
    return d->used.compare_exchange_strong(none, as, std::memory_order_relaxed);
}

bool make_unit_of(scheduler *d, unit_kind kind) noexcept {
    thread *t = nullptr;
    thread_options options;
    options.stack_size = settings().scheduler_stack;
    options.migratable = false;
    if (kind == unit_kind::main_scheduler) { // on its stream's stack
        t = new_thread(own_stream());
        if (!t) return false;
        t->kind = kind;
        t->migratable.store(false, std::memory_order_relaxed);
        t->stack_size = options.stack_size;
    } else if (create(nullptr, nullptr, nullptr, kind, options, false, t) != ABT_SUCCESS) {
        return false;
    }
    t->fn = [](void *argument) { run_scheduler(static_cast<scheduler *>(argument)); };
    t->arg = d;
    d->unit = t;
    return true;
}

void scheduler_ends(scheduler *d) noexcept {
    d->unit = nullptr;
    d->used.store(scheduler::use::none, std::memory_order_relaxed);
    if (d->automatic) free_scheduler(d);
}

// ---- Stopping

// Does it have anything to run, or anybody who will come back?
static bool has_units(scheduler *d) noexcept {
    for (int i = 0; i < d->num_pools; ++i) {
        pool *p = d->pools[i];
        // `blocked` first: what is made ready goes into the pool before it is counted off there. In a pool that others
        // empty too, they see to those who come back.
        const bool ours = p->access == ABT_POOL_ACCESS_PRIV || p->schedulers.load(std::memory_order_relaxed) == 1;
        if (ours && p->blocked.load(std::memory_order_acquire) != 0) return true; // acquire[abt-blocked]
        if (!is_empty(p)) return true;
    }
    return false;
}

bool has_to_stop(scheduler *d) noexcept {
    const std::uint32_t asked = d->requests.load(std::memory_order_acquire); // acquire[abt-request]
    if (asked & sched_exit) return true;
    if (!(asked & (sched_finish | sched_replace)) && d->used.load(std::memory_order_relaxed) != scheduler::use::in_pool)
        return false;
    return !has_units(d);
}

void ask(scheduler *d, std::uint32_t what) noexcept {
    d->requests.fetch_or(what, std::memory_order_release); // release[abt-request]
    if (d->unit && d->unit->on) wake(d->unit->on);
}

// ---- Running

void run_scheduler(scheduler *d) noexcept {
    if (d->predefined)
        run_predefined(d);
    else
        d->def.run(handle(d));
}

void check_events(stream *s, scheduler *d) noexcept {
    if (const std::uint32_t asked = s->requests.load(std::memory_order_relaxed)) {
        s->requests.fetch_and(~asked, std::memory_order_acquire); // acquire[abt-request]
        if (asked & stream_moves) streams::go_to_place(core::current_carrier(), s);
        s->main->requests.fetch_or(asked & ~stream_moves, std::memory_order_relaxed);
        if (asked & sched_exit) d->requests.fetch_or(sched_exit, std::memory_order_relaxed); // a stacked one too
    }
    if (dump_wanted()) dump_stacks();
    streams *all = the_streams();
    if (all->should_rotate(core::current_carrier(), s->since)) all->rotate();
    if (!d->predefined) idle_between_events(s, d);
}

void wake(stream *s) noexcept {
    std::atomic_thread_fence(std::memory_order_seq_cst); // seq_cst[abt-sleep]
    context *c = nullptr;
    s->lock.lock();
    const bool woken = s->sleeping && s->sleeping->signal(c);
    s->lock.unlock();
    if (woken && c) core::unblock(c);
}

thread *pop_wait(pool *p, ABT_pool_context op, std::int64_t deadline) noexcept {
    for (;;) {
        if (thread *t = pop(p, op)) return t;
        if (sys::now_ns() >= deadline) return nullptr;
        waiter w;
        sleeper s;
        w.prepare();
        enter_sleep(p, s, w);
        std::atomic_thread_fence(std::memory_order_seq_cst); // seq_cst[abt-sleep]
        context *c = nullptr;
        if (!is_empty(p)) static_cast<void>(w.signal(c));
        static_cast<void>(w.wait_until(deadline));
        p->asleep.remove(s);
    }
}

void pass_time() noexcept {
    if (thread *t = leaving_ult()) return leave_to_parent(t, after_yield, t);
    if (!own_thread()) return sys::yield_kernel_thread();
    if (the_streams()->others_wait(core::current_carrier())) return the_streams()->rotate();
    sys::cpu_relax();
}

} // namespace comity::abt
