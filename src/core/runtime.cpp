#include "core/runtime.hpp"

#include "comity/core.h"
#include "core/base.hpp"
#include "core/binding.hpp"
#include "core/callbacks.hpp"
#include "core/context_mask.hpp"
#include "core/cpu_time.hpp"
#include "core/fork_gate.hpp"
#include "core/input.hpp"
#include "core/overflow.hpp"
#include "core/promotion.hpp"
#include "core/sanitizer.hpp"
#include "core/spin_length.hpp"
#include "core/spinlock.hpp"
#include "core/timer.hpp"
#include "core/tls/block.hpp"
#include "sys/core_demand.hpp"
#include "sys/cpp_library.hpp"
#include "sys/fence.hpp"
#include "sys/interruption.hpp"
#include "sys/kernel_thread.hpp"
#include "sys/memory.hpp"
#include "sys/message.hpp"
#include "sys/options.hpp"
#include "sys/own_memory.hpp"
#include "sys/process.hpp"
#include "sys/signals.hpp"
#include "sys/thread_maker.hpp"

#include <atomic>
#include <cstdlib>
#include <new>
#include <utility>

namespace comity::core {

constinit std::atomic<std::uint32_t> forks{1};
constinit std::atomic<bool> program_is_on_harts{false};

void contexts_before_fork() noexcept;
void contexts_after_fork() noexcept;

namespace {

constexpr std::ptrdiff_t native_stack_to_share = 64 << 10;  // bytes
constexpr std::size_t room_to_start = std::size_t{4} << 20; // bytes; most of it is the C++ library's

std::atomic<bool> started{false};
sys::once first_use;
// Held while Comity starts, and around a fork: no child finds it half started.
spinlock starting;
bool has_fork_handlers = false; // written when the library is loaded, or at the first start if that comes before
sys::thread_end adopted_thread_ends;
bool (*leaves_in_child)(const carrier *k) noexcept = nullptr; // written under `starting`
std::uint64_t per_us = 1000;
constexpr unsigned nobody_said = ~0U;
std::atomic<unsigned> spin_us{nobody_said}; // set_spin_us
std::atomic<std::uint64_t> usual_spin{0};   // ticks; by the start and set_spin_us
std::atomic<std::uint64_t> spin{0};         // any thread that has slept writes these; one that is lost does no harm
std::atomic<std::uint64_t> idle_spin{0};

spinlock carriers_lock;
carrier *all_carriers = nullptr; // under carriers_lock
counters gone;                   // of the carriers that have ended, under carriers_lock
std::atomic<std::uint64_t> contexts_made{0};
std::atomic<std::int32_t> awake{0}, most_awake{0};

// ---- Statistics

void print_stats() {
    carriers_lock.lock();
    counters sum;
    sum.add(gone);
    for (carrier *k = all_carriers; k; k = k->all_next) sum.add(k->count);
    carriers_lock.unlock();
    sys::warn("harts %u, contexts made %llu, switches %llu, steals %llu, blocks %llu, hart grants %llu, most runnable "
              "kernel threads %d",
              base().hart_count(), static_cast<unsigned long long>(contexts_made.load(std::memory_order_relaxed)),
              static_cast<unsigned long long>(sum.switches.get()), static_cast<unsigned long long>(sum.steals.get()),
              static_cast<unsigned long long>(sum.blocks.get()), static_cast<unsigned long long>(sum.grants.get()),
              most_awake.load(std::memory_order_relaxed));
}

void at_exit() {
    if (sys::get_options().stats && !stays_in_handler)
        print_stats(); // a lock of which may be that of the interrupted code
}

// ---- Adopted threads that end

// A scheduler that the thread did not know of (it was opened for its first user-level thread) ends with it.
void end_what_is_open(const carrier *k) noexcept {
    if (!k->carried || k->current != k->native || k->native->runs) return;
    sched *s = k->current_sched;
    if (s->hooks && s->hooks->registrant_ends && s->registrant == k->native) s->hooks->registrant_ends(s);
}

[[gnu::nonnull]] void thread_ends(void *argument) {
    auto *k = static_cast<carrier *>(argument);
    if (current_carrier() == k) {
        (void)come_back();
        end_what_is_open(k);
    }
    forget_binding(k);
    if (current_carrier() != k || k->carried)
        return; // it ends inside a region (pthread_exit there): the kernel takes care of the rest
    if (k->native->at_end) k->native->at_end(k->native);
    drop_kept_hart(k);
    forget(k);
    note_asleep();
    *k->slot = nullptr;
    *k->work_slot = nullptr;
    k->transition.fiber.destroy();
    sys::unmap_stack(k->transition.stack);
    free_context(k->native);
    delete k;
}

void begin_spins(std::uint64_t usual) noexcept {
    usual_spin.store(usual, std::memory_order_relaxed);
    spin.store(usual, std::memory_order_relaxed);
    idle_spin.store(usual, std::memory_order_relaxed);
}

// ---- Fork: the child has the forking thread and one hart at work; the others are made again when they are needed.

// The input's lock comes first: its holder makes calls of the kernel's, in which it may be displaced, and needs the
// others to go on.
void before_fork() {
    input_before_fork();
    close_fork_gate();
    starting.lock();
    if (!started.load(std::memory_order_relaxed)) return sys::own_memory_before_fork(); // used before the start as well
    schedulers_around_fork(current_carrier(), fork_stage::before);
    carriers_lock.lock();
    contexts_before_fork();
    base().before_fork();
}
void parent_after_fork() {
    if (started.load(std::memory_order_relaxed)) {
        base().parent_after_fork();
        contexts_after_fork();
        carriers_lock.unlock();
        schedulers_around_fork(current_carrier(), fork_stage::parent);
    } else {
        sys::own_memory_after_fork();
    }
    starting.unlock();
    open_fork_gate();
    input_after_fork(false);
}
void child_after_fork() {
    open_fork_gate_in_child();
    if (!started.load(std::memory_order_relaxed)) sys::own_memory_after_fork();
    starting.unlock();
    sys::forget_thread_maker();
    timers_after_fork();
    input_after_fork(true);
    if (!started.load(std::memory_order_relaxed)) return;
    new (&carriers_lock) spinlock;
    forks.fetch_add(1, std::memory_order_relaxed);
    carrier *k = current_carrier();
    if (k && leaves_in_child && leaves_in_child(k)) k = stay_after_fork(k);
    awake.store(k ? 1 : 0, std::memory_order_relaxed);
    all_carriers = k;
    if (k) {
        k->all_next = nullptr;
        k->kernel_id = sys::kernel_thread_id();
        // Where another context has forked, the thread's own computation is the parent's, though it was ready.
        k->home.store(carrier::home_state::away, std::memory_order_relaxed);
    }
    contexts_after_fork();
    tls_after_fork(k && k->current ? k->current->tls : nullptr);
    base().child_after_fork(k);
    schedulers_around_fork(k, fork_stage::child);
    binding_after_fork(k);
    cpu_after_fork(k);
}

// Under comity run --stats: where nothing was counted, that is said, by the process that comity run became and none of
// those that it starts.
__attribute__((destructor)) void tell_of_no_use() {
    if (started.load(std::memory_order_relaxed) || !sys::environment_value("COMITY_STATS")) return;
    const sys::options &options = sys::get_options();
    if (options.stats && options.run_process == sys::process_id())
        sys::warn(
            "not used: the program called no library that Comity serves (`comity doctor PROGRAM` lists those that it "
            "has; threads of its own are served beside those, and with `--posix`); nothing was counted");
}

// From the beginning: handlers that are made by the start itself would be missing at a fork that comes in its middle.
__attribute__((constructor)) void watch_forks() {
    hold_timers_in_forks(); // what a handler of others' waits for may have a deadline
    if (!has_fork_handlers) has_fork_handlers = sys::at_fork(before_fork, parent_after_fork, child_after_fork);
}

void start() {
    check_sanitizers();
    starting.lock();
    const sys::options &options = sys::get_options();
    const std::uint64_t t0 = sys::ticks();
    const std::int64_t n0 = sys::now_ns();
    sys::set_programs_mask(sys::mask_around_once());
    (void)sys::get_cpp_library(); // here, where no fork comes in between: in the child it could not be loaded
    // Another library's constructor may have called before this one's have run.
    sys::prepare_fences();
    sys::spare_address_space();
    sys::watch_core_demand();
    watch_forks();
    chaos_seed(options.chaos);
    const unsigned harts = sys::number_of_harts();
    base_scheduler::start(harts);
    start_binding(harts, options.bind);
    detect_tls_base();
    select_tls_provider();
    watch_for_overflow();
    if (!adopted_thread_ends.create(thread_ends))
        sys::warn("no thread-specific key is left: the harts of threads that end are not given back");
    if (!has_fork_handlers) sys::warn("no memory for the fork handlers: a child process must not use Comity");
    std::atexit(at_exit);
    // The rate of ticks(), over what the start itself took and at least 50 us.
    std::int64_t n1 = sys::now_ns();
    while (n1 - n0 < 50'000) n1 = sys::now_ns();
    per_us = (sys::ticks() - t0) * 1000 / static_cast<std::uint64_t>(n1 - n0);
    if (per_us == 0) per_us = 1;
    const unsigned said = spin_us.load(std::memory_order_relaxed);
    begin_spins((said == nobody_said ? options.spin_us : said) * per_us);
    if (options.verbose)
        sys::warn("%u hart%s%s%s; thread-local storage from %s", harts, harts == 1 ? "" : "s",
                  options.nested ? ", nested parallel regions" : "", options.chaos ? ", chaos" : "",
                  provider_name(select_tls_provider()));
    started.store(true, std::memory_order_release); // release[started]
    starting.unlock();
}

} // namespace

void leave_schedulers_in_children(bool (*leaves)(const carrier *k) noexcept) noexcept {
    starting.lock();
    leaves_in_child = leaves;
    starting.unlock();
}

void ensure_started() noexcept {
    if (started.load(std::memory_order_acquire)) return; // acquire[started]
    first_use.run(start);
}

bool has_started() noexcept { return started.load(std::memory_order_relaxed); }

std::uint64_t spin_ticks() noexcept { return spin.load(std::memory_order_relaxed); }
std::uint64_t idle_spin_ticks() noexcept { return idle_spin.load(std::memory_order_relaxed); }
void note_sleep(std::uint64_t ticks) noexcept {
    const auto learn = [=](std::atomic<std::uint64_t> &length, auto after, spin_limits limits) {
        const std::uint64_t now = length.load(std::memory_order_relaxed), next = after(now, limits, ticks);
        if (next != now) length.store(next, std::memory_order_relaxed);
    };
    const std::uint64_t usual = usual_spin.load(std::memory_order_relaxed);
    learn(spin, spin_after_sleep, limit_waiting(usual));
    learn(idle_spin, idle_after_sleep, limit_idling(usual, per_us));
}
void set_spin_us(unsigned us) noexcept {
    if (sys::get_options().spin_given) return;
    spin_us.store(us, std::memory_order_relaxed);
    if (!started.load(std::memory_order_acquire)) return; // acquire[started]
    begin_spins(us * per_us);
}
std::uint64_t ticks_per_us() noexcept { return per_us; }
bool may_spin() noexcept {
    const carrier *k = current_carrier();
    if (!k || base().waited_for()) return false;
    return k->carried || (k->kept && k->kept->keeper.load(std::memory_order_relaxed) == k);
}
bool is_wanted_beyond(const carrier *k, std::uint64_t spun) noexcept {
    constexpr std::uint64_t usual_us = 100; // at most: spin_ticks
    if (spun < usual_us * per_us || !k->carried) return false;
    const sched *root = k->current_sched; // or the base itself
    for (sched *s = root->parent; s && s != &base(); root = s, s = s->parent)
        if (s->hooks && s->hooks->other_work(s)) return true;
    return base().pressed_by_others(root);
}
void count_contexts(unsigned n) noexcept { contexts_made.fetch_add(n, std::memory_order_relaxed); }

void note_awake() noexcept {
    const std::int32_t now = awake.fetch_add(1, std::memory_order_relaxed) + 1;
    std::int32_t most = most_awake.load(std::memory_order_relaxed);
    while (now > most && !most_awake.compare_exchange_weak(most, now, std::memory_order_relaxed)) {
    }
}
void note_asleep() noexcept { awake.fetch_sub(1, std::memory_order_relaxed); }

void drop_kept_hart(carrier *k) noexcept {
    base().wants_none_to_keep(k);
    hart *h = base().kept_by(k);
    k->kept = nullptr;
    if (h && base_scheduler::take_back(h, k)) base().release(h);
}

void forget(carrier *k) noexcept {
    carriers_lock.lock();
    for (carrier **at = &all_carriers; *at; at = &(*at)->all_next) {
        if (*at != k) continue;
        *at = k->all_next;
        gone.add(k->count);
        break;
    }
    carriers_lock.unlock();
}

void visit_carriers(void (*visit)(carrier *k, void *argument), void *argument) noexcept {
    carriers_lock.lock();
    for (carrier *k = all_carriers; k; k = k->all_next) visit(k, argument);
    carriers_lock.unlock();
}

std::int64_t workers_cpu_ns() noexcept {
    std::int64_t sum = 0;
    carriers_lock.lock();
    for (const carrier *k = all_carriers; k; k = k->all_next) {
        if (const std::int64_t ns = k->adopted ? 0 : sys::thread_cpu_ns(k->kernel_id); ns > 0) sum += ns;
    }
    carriers_lock.unlock();
    return sum;
}

bool try_visit_carriers(void (*visit)(carrier *k, void *argument), void *argument) noexcept {
    if (!carriers_lock.try_lock()) return false;
    for (carrier *k = all_carriers; k; k = k->all_next) visit(k, argument);
    carriers_lock.unlock();
    return true;
}

void enlist(carrier *k) noexcept {
    carriers_lock.lock();
    begin_cpu(k);
    begin_masks(k);
    k->all_next = all_carriers;
    all_carriers = k;
    carriers_lock.unlock();
}

carrier *adopt() noexcept {
    carrier *k = adopt_if_possible();
    if (!k) sys::fatal("adopting a thread", "no memory; see the limits of the process (ulimit -a)");
    return k;
}

carrier *adopt_if_possible() noexcept {
    if (carrier *k = current_carrier()) return k;
    // A start that finds no memory decides for good that this process has no storage for contexts.
    if (!started.load(std::memory_order_relaxed) && !sys::can_map(room_to_start)) return nullptr;
    ensure_started();
    if (sys::kernel_thread_id() == sys::process_id())
        sys::set_programs_mask(sys::blocked_signals()); // the first thread
    auto *k = new (std::nothrow) carrier;
    context *native = allocate_context();
    if (!k || !native || !map_transition_stack(k)) {
        if (native) free_context(native);
        delete k;
        return nullptr;
    }
    k->settled = stays_in_handler;
    k->adopted = true; // what the watch and the statistics read of a carrier that they find in the list
    k->native = native;
    init_carrier(k);
    k->transition.fiber.create();
    native->on = native->home = k;
    native->tls_base = k->tls_base;
    native->shares_tls = true;
    // The bounds of a kernel thread's own stack are dear to learn, and it mostly has far more than this.
    native->floor = static_cast<std::byte *>(__builtin_frame_address(0)) - native_stack_to_share;
    native->state = context_state::running;
    const sys::stack_memory own = own_stack();
    native->fiber.adopt_running(own.bottom, own.size());
    k->current = native;
    *k->slot = native;
    adopted_thread_ends.arm(k);
    note_awake();
    return k;
}

// With the hart that it has got: in the scheduler that its own computation has left.
static void stand_in_left(carrier *k) noexcept {
    sched *s = std::exchange(k->left, nullptr);
    s->account.fetch_add(sched::one_hart, std::memory_order_acq_rel); // acq_rel[account]
    k->native->owner = s;
    become(k, s);
}

carrier *enter_comity(patience p) noexcept {
    carrier *k = current_carrier();
    if (!k) k = adopt();
    if (k->carried || !base().acquire(k, p)) return k;
    if (k->left)
        stand_in_left(k);
    else
        k->native->owner = &base();
    return k;
}

bool come_back() noexcept {
    carrier *k = current_carrier();
    if (!k || !k->left || k->carried) return false;
    (void)base().acquire(k);
    stand_in_left(k);
    return true;
}

void leave_comity(carrier *k, next_use next) noexcept {
    if (k->adopted && k->current == k->native && k->native->owner == &base()) {
        k->native->owner = nullptr;
        base().leave(k, next);
    }
}

void wait_for_grant(carrier *k) noexcept {
    k->park.wait_idle(k->own.load(std::memory_order_relaxed));
    k->carried = k->granted.h;
    bind_as_hart(k);
    enter(k, k->granted.into);
}

void sleep_without_hart(carrier *k) noexcept {
    auto expected = carrier::home_state::away;
    if (k->home.compare_exchange_strong(expected, carrier::home_state::asleep,
                                        std::memory_order_acq_rel)) // acq_rel[home]
        k->park.wait_idle(nullptr, !base().has_any_worker());
    k->home.exchange(carrier::home_state::away, std::memory_order_acquire); // acquire[home]
}

bool sleep_without_hart(carrier *k, std::int64_t deadline) noexcept {
    auto expected = carrier::home_state::away;
    if (k->home.compare_exchange_strong(expected, carrier::home_state::asleep,
                                        std::memory_order_acq_rel) && // acq_rel[home]
        !k->park.wait_until(deadline)) {
        expected = carrier::home_state::asleep;
        if (k->home.compare_exchange_strong(expected, carrier::home_state::away, std::memory_order_relaxed))
            return false;
        k->park.wait_until(INT64_MAX); // it was posted while it still seemed asleep: the token is on its way
    }
    k->home.exchange(carrier::home_state::away, std::memory_order_acquire); // acquire[home]
    return true;
}

void sleep_at_home(carrier *k) noexcept {
    sleep_without_hart(k);
    (void)base().acquire(k);
    context *native = k->native;
    for (sched *s = native->owner; s && s != &base(); s = s->parent)
        s->account.fetch_add(sched::one_hart, std::memory_order_acq_rel); // acq_rel[account]
    if (native->owner) become(k, native->owner);
    resume(k, native);
}

} // namespace comity::core
