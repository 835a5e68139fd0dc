#include "core/cpu_time.hpp"

#include "core/promotion.hpp"
#include "core/runtime.hpp"
#include "core/tls/block.hpp"
#include "sys/clock.hpp"
#include "sys/kernel_thread.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

namespace comity::core {

namespace {

std::atomic<bool> counts{false}; // written under the lock of the carriers' list

// What the way to a thread may cost it: a switch, a wait of the usual length, a sleep in the kernel and its end. What
// is above is a hart's search for work, for which no thread is charged.
constexpr std::int64_t longest_way_ns = 25'000;
// Where the last look was longer ago, what was used since is nobody's.
constexpr std::int64_t longest_between_looks_ns = 200'000'000;

std::int64_t own_clock() noexcept { return sys::cpu_clock_ns(CLOCK_THREAD_CPUTIME_ID); }

// Is what it uses on a hart counted for it? Else it is a kernel thread's own, or stands for that one's.
bool is_counted(const context *c) noexcept { return c->tls && !c->home; }

// The kernel thread's own computation has not used it.
void credit(carrier *k, const context *c, std::int64_t ns) noexcept {
    c->tls->cpu_ns.add(ns);
    if (k->adopted) k->others_cpu.add(ns);
}

// From now on the carrier's switches count. What the context that it is with has used since the watch has seen it there
// is that one's.
void begin_counting(carrier *k, std::int64_t clock) noexcept {
    const bool is_as_seen = k->looked_at.get() != 0 && k->count.switches.get() == k->switches_at_look.get();
    k->cpu_mark.set(is_as_seen ? k->cpu_at_look.get() : clock);
    k->counts_cpu.store(true, std::memory_order_release);           // release[cpu-mark]
    k->unusual.fetch_or(cpu_is_counted, std::memory_order_release); // release[cpu-mark]
}

// It never falls, whatever was missed.
std::int64_t raise(std::atomic<std::int64_t> &told, std::int64_t ns) noexcept {
    std::int64_t before = told.load(std::memory_order_relaxed);
    while (before < ns && !told.compare_exchange_weak(before, ns, std::memory_order_relaxed)) {
    }
    return std::max(before, ns);
}

void count_from_now_on() noexcept {
    if (counts.load(std::memory_order_relaxed)) return;
    try_visit_carriers(
        [](carrier *k, void *) {
            counts.store(true, std::memory_order_relaxed);
            begin_counting(k, std::max<std::int64_t>(sys::thread_cpu_ns(k->kernel_id), 0));
        },
        nullptr);
}

// What the watch has found used is the context's that has been on the carrier since.
std::int64_t take_due(carrier *k) noexcept {
    k->unusual.fetch_and(static_cast<std::uint8_t>(~cpu_is_sampled), std::memory_order_relaxed);
    return k->due_cpu.exchange(0, std::memory_order_relaxed);
}

// What the kernel thread that lends the storage has used for it. It sleeps, or is away.
std::int64_t used_on_donor(context *c) noexcept {
    tls_block *b = c->tls;
    if (b->donor_has_run) {
        b->donor_has_run = false;
        b->donor_cpu_ns.set(donor_cpu_ns(b) - promoted_others_cpu(c));
    }
    return b->donor_cpu_ns.get();
}

std::int64_t used_on_harts(context *c) noexcept {
    carrier *k = c->on;
    if (k->unusual.load(std::memory_order_relaxed) & cpu_is_sampled) credit(k, c, take_due(k));
    const std::int64_t now = k->counts_cpu.load(std::memory_order_acquire) ? own_clock() : -1; // acquire[cpu-mark]
    const std::int64_t running = now < 0 ? 0 : std::max<std::int64_t>(now - k->cpu_mark.get(), 0);
    return c->tls->cpu_ns.get() + running;
}

// Of a kernel thread's own computation: what its clock shows, without what it has carried.
std::int64_t used_at_home(const carrier *k, const context *c, std::int64_t clock) noexcept {
    const bool others = k->current != c && k->counts_cpu.load(std::memory_order_acquire); // acquire[cpu-mark]
    const std::int64_t running = others ? std::max<std::int64_t>(clock - k->cpu_mark.get(), 0) : 0;
    return clock + k->wakes_cpu.get() - k->others_cpu.get() - running + (c->tls ? c->tls->cpu_ns.get() : 0);
}

// Of which context, or, if null, of which kernel thread's own; what was found: at home, or on a hart for now.
struct search {
    context *c;
    int id;
    std::int64_t at_home = -1, running = 0;
};

COMITY_UNSANITIZED void look_for(carrier *k, void *argument) {
    auto &of = *static_cast<search *>(argument);
    const bool is_home = of.c ? of.c->home == k : k->adopted && k->kernel_id == of.id && k->native && !k->native->tls;
    if (!is_home && k->current != of.c) return;
    const std::int64_t clock = sys::thread_cpu_ns(k->kernel_id);
    if (clock < 0) return;
    if (is_home)
        of.at_home = used_at_home(k, of.c ? of.c : k->native, clock);
    else if (k->counts_cpu.load(std::memory_order_acquire)) // acquire[cpu-mark]
        of.running = std::max<std::int64_t>(clock - k->cpu_mark.get(), 0) + k->due_cpu.load(std::memory_order_relaxed);
    if (is_home && !of.c) of.at_home = raise(k->cpu_told, of.at_home);
}

} // namespace

std::int64_t cpu_ns_here() noexcept {
    context *c = current_context();
    if (!c) return -1;
    count_from_now_on();
    if (is_counted(c)) return raise(c->tls->cpu_told, used_on_harts(c) + used_on_donor(c));
    carrier *k = c->on;
    if (!k->adopted || c != k->native) return -1;
    const std::int64_t clock = own_clock();
    if (clock < 0) return -1;
    return raise(c->tls ? c->tls->cpu_told : k->cpu_told, used_at_home(k, c, clock));
}

std::int64_t cpu_ns_at_start(context *c) noexcept {
    if (counts.load(std::memory_order_relaxed)) return std::max<std::int64_t>(cpu_ns_here(), 0);
    if (!is_counted(c)) return 0;
    return raise(c->tls->cpu_told, c->tls->cpu_ns.get() + used_on_donor(c));
}

std::int64_t cpu_ns_of(context *c) noexcept {
    if (c == current_context()) return cpu_ns_here();
    count_from_now_on();
    std::int64_t ns = 0;
    for (int tries = 0; tries < 10; ++tries) {
        const std::int64_t before = c->tls->cpu_ns.get();
        search s{c, 0};
        visit_carriers(look_for, &s);
        ns = s.at_home >= 0 ? s.at_home : before + s.running + c->tls->donor_cpu_ns.get();
        if (c->tls->cpu_ns.get() == before) return raise(c->tls->cpu_told, ns); // else it has switched meanwhile
    }
    return c->tls->cpu_told.load(std::memory_order_relaxed);
}

std::int64_t cpu_ns_of_kernel_thread(int id) noexcept {
    count_from_now_on();
    search s{nullptr, id};
    visit_carriers(look_for, &s);
    return s.at_home;
}

// ---- For the core

void sample_cpu(carrier *k, std::int64_t now) noexcept {
    if (k->unusual.load(std::memory_order_relaxed) & cpu_is_counted) return;
    const std::int64_t cpu = sys::thread_cpu_ns(k->kernel_id);
    if (cpu < 0) return;
    const std::int64_t used = cpu - k->cpu_at_look.get();
    const bool is_known = k->looked_at.get() != 0 && now - k->looked_at.get() < longest_between_looks_ns;
    k->looked_at.set(now);
    k->cpu_at_look.set(cpu);
    k->switches_at_look.set(k->count.switches.get());
    if (!is_known || used <= 0) return;
    k->due_cpu.fetch_add(used, std::memory_order_relaxed);
    k->unusual.fetch_or(cpu_is_sampled, std::memory_order_relaxed);
}

COMITY_UNSANITIZED void charge_cpu(carrier *k, context *from, context *to) noexcept {
    const std::uint8_t why = k->unusual.load(std::memory_order_acquire); // acquire[cpu-mark]
    if (!(why & (cpu_is_sampled | cpu_is_counted))) return;
    std::int64_t ns = why & cpu_is_sampled ? take_due(k) : 0;
    const std::int64_t now = why & cpu_is_counted ? own_clock() : -1;
    if (now >= 0) {
        const std::int64_t used = std::max<std::int64_t>(now - k->cpu_mark.get(), 0);
        k->cpu_mark.set(now);
        if (is_counted(from))
            ns += used;
        else if (is_counted(to))
            credit(k, to, std::min(used, longest_way_ns));
    }
    if (ns > 0 && is_counted(from)) credit(k, from, ns);
}

void begin_cpu(carrier *k) noexcept {
    if (counts.load(std::memory_order_relaxed)) begin_counting(k, std::max<std::int64_t>(own_clock(), 0));
}

void charge_wakes(context *first, std::int64_t &mark) noexcept {
    if (!first) return;
    const std::int64_t used = cpu_since(mark);
    unsigned n = 0;
    for (const context *c = first; c; c = static_cast<const context *>(c->next)) ++n;
    const std::int64_t each = std::min(used / n, longest_way_ns);
    for (context *c = first; c; c = static_cast<context *>(c->next)) {
        if (c->tls)
            c->tls->cpu_ns.add(each);
        else if (c->home)
            c->home->wakes_cpu.add(each);
    }
}

std::int64_t cpu_since(std::int64_t &mark) noexcept {
    const std::int64_t now = counts.load(std::memory_order_relaxed) ? own_clock() : -1;
    if (now < 0) return 0;
    const std::int64_t before = std::exchange(mark, now);
    return before < 0 ? 0 : now - before;
}

void cpu_after_fork(carrier *k) noexcept {
    if (!k) return;
    k->cpu_mark.set(0);
    k->others_cpu.set(0);
    k->wakes_cpu.set(0);
    k->looked_at.set(0);
    k->due_cpu.store(0, std::memory_order_relaxed);
    k->cpu_told.store(0, std::memory_order_relaxed);
    tls_block *b = k->current ? k->current->tls : nullptr;
    if (!b) return;
    b->cpu_ns.set(0);
    b->cpu_told.store(0, std::memory_order_relaxed);
    b->donor_cpu_ns.set(0);
    b->donor_has_run = false;
}

void donor_was_replaced(carrier *promoted, context *c) noexcept {
    c->tls->cpu_ns.sub(promoted->others_cpu.get());
    promoted->others_cpu.set(0);
    promoted->cpu_mark.set(0); // of the new one's clock
    promoted->looked_at.set(0);
    promoted->cpu_at_look.set(0);
}

} // namespace comity::core
