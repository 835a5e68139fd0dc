#include "personality/blas/available.hpp"

#include "core/alone.hpp"
#include "core/runtime.hpp"
#include "model/spmd/team.hpp"
#include "sys/clock.hpp"
#include "sys/futex.hpp"
#include "sys/kernel_thread.hpp"
#include "sys/options.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

namespace comity::blas {
namespace {

std::atomic<void (*)(int)> listener{nullptr};

// Of regions that run now, by watch_regions.
std::atomic<int> harts_taken{0}, regions{0};
// Threads of the program that ran at the same time, besides one, when that was last looked at; written by look().
std::atomic<int> others{0};

// "Who comes while it is being done, has it done": the number of those who asked since the publisher began.
std::atomic<unsigned> asked{0};

// Until when calls are sequential because the last parallel ones lost; written by note_gain and the observer.
std::atomic<std::int64_t> paused_until{0};
bool paused() noexcept { return paused_until.load(std::memory_order_relaxed) != 0; }

// The next call is the first one after a pause, in which the harts have gone to sleep: what their waking costs says
// nothing about the calls behind it.
std::atomic<bool> wakes_harts{true}; // written by note_gain and the observer

int available() noexcept {
    if (paused()) return 1;
    const int busy = others.load(std::memory_order_relaxed) - regions.load(std::memory_order_relaxed);
    const int taken = harts_taken.load(std::memory_order_relaxed) + (busy > 0 ? busy : 0);
    const int harts = static_cast<int>(sys::number_of_harts());
    return taken < harts ? harts - (taken > 0 ? taken : 0) : 1;
}

void region_changes(int harts) {
    harts_taken.fetch_add(harts, std::memory_order_relaxed);
    regions.fetch_add(harts > 0 ? 1 : -1, std::memory_order_relaxed);
    publish_available();
}

// ---- How many threads run

// Shorter spans tell little; over longer ones the program may have changed what it does.
constexpr std::int64_t shortest_ns = 200'000, longest_ns = 20'000'000;
constexpr std::int64_t period_ns = 2'000'000; // of the observer

std::atomic<bool> looking{false};              // somebody is in look()
std::atomic<std::int64_t> looked_at{0};        // when; written in look()
std::int64_t process_cpu = 0, workers_cpu = 0; // when the clocks were read last; in look()
std::int64_t clocks_at = 0;                    // that time
int seen_by_clocks = 0;                        // what was seen then; in look()
unsigned fewer = 0;                            // looks in a row that saw fewer threads than `others`; in look()

// How many threads of the program run, outside regions or as masters of one. What the process' threads but Comity's own
// have run since the clocks were read, over the time that passed; -1: that was too long ago. The kernel adds what a
// running thread has run to the process' clock at its ticks, some milliseconds apart, and so to one span: what counts
// is what two spans in a row say.
int threads_by_clocks(std::int64_t now) noexcept {
    const std::int64_t process = sys::clock_ns(CLOCK_PROCESS_CPUTIME_ID), workers = spmd::workers_cpu_ns(),
                       span = now - clocks_at;
    const std::int64_t ran = (process - process_cpu) - (workers - workers_cpu);
    process_cpu = process;
    workers_cpu = workers;
    clocks_at = now;
    if (span > longest_ns) return -1;
    const int before = std::exchange(seen_by_clocks, std::max(0, static_cast<int>((ran + span / 2) / span)));
    return std::min(before, seen_by_clocks);
}

// The same where the program's own threads run on the harts. A moment may have been one in which a thread waited for
// another, so it takes several looks in a row to say fewer than `before`; and none while a region runs, which counts
// with the harts that it asked for, whoever has them.
int threads_on_harts(int before) noexcept {
    constexpr unsigned looks_in_a_row = 4;
    const int in_regions = regions.load(std::memory_order_relaxed);
    const int seen = static_cast<int>(spmd::busy_harts()) - harts_taken.load(std::memory_order_relaxed) + in_regions;
    fewer = seen < before && in_regions == 0 ? fewer + 1 : 0;
    return fewer < looks_in_a_row ? std::max(seen, before) : seen;
}

bool look(std::int64_t now) noexcept {
    if (now - looked_at.load(std::memory_order_relaxed) < shortest_ns ||
        looking.exchange(true, std::memory_order_acquire)) // acquire[looking]
        return false;
    looked_at.store(now, std::memory_order_relaxed);
    const int before = others.load(std::memory_order_relaxed);
    const int running = core::program_is_on_harts.load(std::memory_order_relaxed) ? threads_on_harts(before + 1)
                                                                                  : threads_by_clocks(now);
    const int now_others = running < 0 ? before : std::max(running - 1, 0);
    const bool changed = now_others != before;
    others.store(now_others, std::memory_order_relaxed);
    looking.store(false, std::memory_order_release); // release[looking]
    return changed;
}

// ---- The observer: while calls are kept from being parallel nobody calls us, so a kernel thread looks whether that is
// over.

std::atomic<std::uint32_t> observing{0}; // 1: look every period. Set by calls, cleared by the observer
std::atomic<bool> observer_runs{false};
std::atomic<bool> observer_is_to_end{false}; // the observer takes it back when it does

bool has_to_observe() noexcept { return others.load(std::memory_order_relaxed) != 0 || paused(); }

void *observe(void *) {
    sys::name_kernel_thread("comity-blas");
    for (;;) {
        if (observer_is_to_end.load(std::memory_order_relaxed)) {
            observer_runs.store(false, std::memory_order_relaxed);
            observer_is_to_end.store(false, std::memory_order_release); // release[observer-ends]
            return nullptr;
        }
        if (observing.load(std::memory_order_acquire) == 0) { // acquire[observing]
            static_cast<void>(sys::futex_wait(observing, 0));
            continue;
        }
        sys::nap(period_ns);
        const std::int64_t now = sys::now_ns(), until = paused_until.load(std::memory_order_relaxed);
        bool changed = look(now);
        if (until != 0 && now >= until) {
            wakes_harts.store(true, std::memory_order_relaxed);
            paused_until.store(0, std::memory_order_relaxed);
            changed = true;
        }
        if (!has_to_observe()) {
            observing.store(0, std::memory_order_relaxed);
            std::atomic_thread_fence(std::memory_order_seq_cst); // seq_cst[blas-observing]
            if (has_to_observe()) observing.store(1, std::memory_order_relaxed);
        }
        if (changed) publish_available();
    }
}

// For one who has just given it a reason: either he sees that nobody observes, or the observer sees that.
void start_observing() noexcept {
    std::atomic_thread_fence(std::memory_order_seq_cst);       // seq_cst[blas-observing]
    if (observing.exchange(1, std::memory_order_acq_rel) == 1) // acq_rel[observing]
        return;
    if (!observer_runs.exchange(true, std::memory_order_relaxed) &&
        sys::start_kernel_thread(observe, nullptr, std::size_t{64} << 10) != 0) {
        observer_runs.store(false, std::memory_order_relaxed); // nobody to look: so nothing may depend on it
        observing.store(0, std::memory_order_relaxed);
        others.store(0, std::memory_order_relaxed);
        paused_until.store(0, std::memory_order_relaxed);
        return;
    }
    sys::futex_wake(observing);
}

void end_observer() noexcept {
    observer_is_to_end.store(true, std::memory_order_relaxed);
    // acquire[observer-ends]
    while (observer_is_to_end.load(std::memory_order_acquire) && observer_runs.load(std::memory_order_relaxed)) {
        observing.store(1, std::memory_order_release); // release[observing]: it may be about to take that back
        sys::futex_wake(observing);
        sys::yield_kernel_thread();
    }
    observer_is_to_end.store(false, std::memory_order_relaxed);
}

void observe_again() noexcept {
    observing.store(0, std::memory_order_relaxed);
    if (has_to_observe()) start_observing();
}

core::helper observer{[]() noexcept -> unsigned { return observer_runs.load(std::memory_order_relaxed) ? 1 : 0; },
                      end_observer, observe_again};

// ---- Gains and losses. A call that is too short for what it costs to start, or whose jobs do not really run at the
// same time, since the machine does something else, loses. That is known only by trying, so losses are limited: after
// some, there is a pause.

constexpr std::int64_t most_lost_ns = 100'000, most_saved_ns = 300'000, waking_ns = 300'000;
// So many calls must have lost: one alone, however much, may have lost to another process.
constexpr unsigned fewest_losses = 2;
std::atomic<unsigned> losses{0}; // since the balance was above zero; by note_gain
// A fiftieth of the time may be lost for good: the factors of a matrix (getrf) take a dozen short calls, which lose,
// while OpenBLAS' own threads, of which nothing is known here, gain a hundred times as much.
constexpr std::int64_t tolerated = 50, longest_span_ns = 10'000'000;
std::atomic<std::int64_t> noted_at{0}; // by note_gain
// A longer pause costs less where all calls lose, as those of several threads do which hinder each other. Of one thread
// the next ones may be others, that gain.
constexpr std::int64_t shortest_pause_ns = 2 * period_ns, longest_pause_ns = 16 * period_ns,
                       longest_of_several_ns = 64 * period_ns, recently_ns = 1'000'000'000;
std::atomic<const void *> last_caller{nullptr};                       // by note_gain
std::atomic<std::int64_t> callers_changed_at{-recently_ns};           // by note_gain
std::atomic<std::int64_t> balance_ns{0}, pause_ns{shortest_pause_ns}; // by note_gain

} // namespace

void watch_available(void (*changed)(int harts)) noexcept {
    listener.store(changed, std::memory_order_relaxed);
    spmd::watch_regions(region_changes);
    static std::atomic<bool> is_added{false};
    if (!is_added.exchange(true, std::memory_order_relaxed)) core::add_helper(observer);
}

void publish_available() noexcept {
    if (asked.fetch_add(1, std::memory_order_acq_rel) != 0) // acq_rel[asked]
        return;
    for (unsigned seen = 1;;) {
        if (auto *changed = listener.load(std::memory_order_relaxed)) changed(available());
        const unsigned before = asked.fetch_sub(seen, std::memory_order_acq_rel); // acq_rel[asked]
        if (before == seen) return;
        seen = before - seen;
    }
}

void note_parallel_call() noexcept {
    const bool changed = look(sys::now_ns());
    if (others.load(std::memory_order_relaxed) != 0) start_observing();
    if (changed) publish_available();
}

void note_gain(std::int64_t now, std::int64_t wall, std::int64_t work) noexcept {
    // The books are kept without a lock: when two threads write at once an entry may be lost.
    const std::int64_t span = now - noted_at.load(std::memory_order_relaxed);
    noted_at.store(now, std::memory_order_relaxed);
    const void *const caller = core::current_context(), *const before = last_caller.load(std::memory_order_relaxed);
    if (caller != before) last_caller.store(caller, std::memory_order_relaxed);
    if (before && caller != before) callers_changed_at.store(now, std::memory_order_relaxed);
    std::int64_t gain = work - wall - wall / 8;
    if (wakes_harts.load(std::memory_order_relaxed)) {
        wakes_harts.store(false, std::memory_order_relaxed);
        if (gain < 0) gain = std::min<std::int64_t>(gain + waking_ns, 0);
    }
    const std::int64_t balance =
        balance_ns.load(std::memory_order_relaxed) + gain + std::min(span, longest_span_ns) / tolerated;
    balance_ns.store(balance < most_saved_ns ? balance : most_saved_ns, std::memory_order_relaxed);
    if (gain > 0 && balance >= most_saved_ns) pause_ns.store(shortest_pause_ns, std::memory_order_relaxed);
    const unsigned lost = balance > 0 ? 0 : losses.load(std::memory_order_relaxed) + (gain < 0 ? 1 : 0);
    losses.store(lost, std::memory_order_relaxed);
    if (balance > -most_lost_ns || lost < fewest_losses || paused()) return;
    balance_ns.store(0, std::memory_order_relaxed);
    losses.store(0, std::memory_order_relaxed);
    const std::int64_t pause = pause_ns.load(std::memory_order_relaxed);
    const bool several = now - callers_changed_at.load(std::memory_order_relaxed) < recently_ns;
    pause_ns.store(std::min(2 * pause, several ? longest_of_several_ns : longest_pause_ns), std::memory_order_relaxed);
    paused_until.store(now + pause, std::memory_order_relaxed);
    start_observing();
    publish_available();
}

void available_after_fork() noexcept {
    paused_until.store(0, std::memory_order_relaxed);
    looking.store(false, std::memory_order_relaxed);
    observer_runs.store(false, std::memory_order_relaxed);
    observing.store(0, std::memory_order_relaxed);
    asked.store(0, std::memory_order_relaxed);
    others.store(0, std::memory_order_relaxed);
    harts_taken.store(0, std::memory_order_relaxed);
    regions.store(0, std::memory_order_relaxed);
    looked_at.store(0, std::memory_order_relaxed);
    clocks_at = 0;
    fewer = 0;
}

} // namespace comity::blas
