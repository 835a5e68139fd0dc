#include "core/alone.hpp"

#include "core/base.hpp"
#include "core/carrier.hpp"
#include "core/chaos.hpp"
#include "core/kernel_state.hpp"
#include "core/runtime.hpp"
#include "core/sanitizer.hpp"
#include "core/sched.hpp"
#include "core/timer.hpp"
#include "core/tls/provider.hpp"
#include "sys/clock.hpp"
#include "sys/futex.hpp"
#include "sys/kernel_thread.hpp"
#include "sys/process.hpp"
#include "sys/signals.hpp"
#include "sys/thread_maker.hpp"

#include <atomic>
#include <cstdint>
#include <utility>

namespace comity::core {

namespace {

// ---- The core's own helpers. Those behind begin first: the timers' thread, whose watches make spare workers, finds
// one.

helper donors{count_donors, end_donors, begin_donors};
// A scheduler may have been opened because there was one (is_sure_of_a_worker).
helper workers{[]() noexcept { return stacks_are_lent && has_started() ? base().worker_count() : 0; },
               []() noexcept { base().end_workers(); }, []() noexcept { (void)base().is_sure_of_a_worker(); }, &donors};
helper timers{[]() noexcept -> unsigned { return are_timers_there() ? 1 : 0; }, end_timers_thread, start_timers_again,
              &workers};
helper maker{[]() noexcept -> unsigned { return sys::is_thread_maker_there() ? 1 : 0; }, sys::end_thread_maker, nullptr,
             &timers};

std::atomic<helper *> helpers{&maker};

template <class Do> void for_each_helper(Do what) noexcept {
    for (helper *h = helpers.load(std::memory_order_acquire); h; h = h->next) what(*h); // acquire[helpers]
}

// ---- Of the caller of become_alone, which is the process' first thread.

std::uint64_t mask_before = 0;

constexpr std::int64_t between_looks_ns = 100'000;

// Looks until `is` says so.
template <class Is> bool comes_within(std::int64_t ns, Is is) noexcept {
    for (const std::int64_t until = sys::now_ns() + ns; !is(); sys::nap(between_looks_ns))
        if (sys::now_ns() > until) return false;
    return true;
}

bool is_alone() noexcept { return sys::number_of_kernel_threads() == 1; }

bool is_outside(const sched *home) noexcept {
    const context *c = current_context();
    if (!c || !c->on) return true;
    const carrier *k = c->on;
    if (k->settled || on_transition(k) || c->home != k) return false;
    const sched *in = k->carried ? k->current_sched : c->owner;
    return !in || in == home || in == &base();
}

// One that has just ended still counts to the kernel.
bool has_only_helpers() noexcept {
    constexpr std::int64_t patience_ns = 20'000'000;
    return comes_within(patience_ns, [] {
        unsigned all = 1;
        for_each_helper([&all](const helper &h) { all += h.count(); });
        return sys::number_of_kernel_threads() <= all;
    });
}

// Harts that look for work find none, in the end.
bool take_all_harts() noexcept {
    constexpr std::int64_t patience_ns = 1'000'000'000;
    if (!has_started()) return true;
    carrier *const k = current_carrier();
    if (k) drop_kept_hart(k);
    return comes_within(patience_ns, [k] {
        if (base().take_all(k)) return true;
        if (k) base().take_next(k, between_looks_ns);
        return false;
    });
}

bool end_helpers() noexcept {
    constexpr std::int64_t patience_ns = 5'000'000'000;
    return comes_within(patience_ns, [] {
        for_each_helper([](helper &h) {
            chaos_point();
            if (h.count() == 0) return;
            h.has_ended = true;
            h.end();
        });
        return is_alone();
    });
}

// In the order in which they were added: donors are there before a thread that frees some.
void begin_helpers(helper *h) noexcept {
    if (h->next) begin_helpers(h->next);
    if (std::exchange(h->has_ended, false) && h->begin) h->begin();
}

} // namespace

void add_helper(helper &kind) noexcept {
    kind.next = helpers.load(std::memory_order_relaxed);
    while (!helpers.compare_exchange_weak(kind.next, &kind, std::memory_order_release, // release[helpers]
                                          std::memory_order_relaxed)) {
    }
}

bool become_alone(const sched *home) noexcept {
    if (sys::kernel_thread_id() != sys::process_id()) return false;
    if (is_alone()) {
        mask_before = sys::blocked_signals();
        return true;
    }
    const unsigned stays = own_kernel_state() & ~kernel_state::other; // would be the process', which cannot have it
    const bool is_counted = sys::number_of_kernel_threads() != 0;     // where there is /proc
    if (!is_counted || stays != 0 || !is_outside(home) || !has_only_helpers()) return false;
    mask_before = sys::exchange_mask(sys::mask_of_lent_threads);
    const bool alone = take_all_harts() && has_only_helpers() && end_helpers();
    if (alone)
        end_kernel_state(own_kernel_state());
    else
        end_being_alone();
    return alone;
}

void end_being_alone() noexcept {
    begin_helpers(helpers.load(std::memory_order_acquire)); // acquire[helpers]
    if (has_started()) base().give_back_all();
    (void)sys::exchange_mask(mask_before);
}

} // namespace comity::core
