// The one scheduler under which all POSIX threads of the process run.
#include "comity/scheduler.h"
#include "comity/sync.h"
#include "core/base.hpp"
#include "core/displacement.hpp"
#include "core/promotion.hpp"
#include "core/runtime.hpp"
#include "core/timer.hpp"
#include "personality/pthread/threads/charge.hpp"
#include "personality/pthread/threads/input.hpp"
#include "personality/pthread/threads/kernel_state.hpp"
#include "personality/pthread/threads/thread.hpp"
#include "pool/unit.hpp"
#include "sync/address.hpp"
#include "sys/futex.hpp"
#include "sys/interruption.hpp"
#include "sys/kernel_thread.hpp"
#include "sys/message.hpp"
#include "sys/options.hpp"
#include "sys/process.hpp"
#include "sys/signals.hpp"

#include <algorithm>
#include <cstdlib>
#include <mutex>

#include <unistd.h>

namespace comity::posix {

namespace {

std::atomic<comity_scheduler_t *> scheduler{nullptr};

// The watch, below.
constexpr std::int64_t look_ns = 10'000'000;
constexpr unsigned looks_at_running = 10, idle_factor = 5;
core::timer next_look;
std::atomic<bool> first_has_left{false}; // the program's first thread waits for `living` to become 0
std::atomic<bool> is_orphan{false};      // the child of a fork by one of the threads: the process has no first thread
std::atomic<bool> is_child{false};       // of a fork, and its parent had threads
std::atomic<bool> watching{false};       // whoever sets it has next_look
std::atomic<std::uint32_t> living{0};    // threads that were created and have not ended

core::spinlock opening; // of the scheduler; held across a fork
enum class attempt : std::uint8_t { none, runs, has_opened, could_not };
std::atomic<attempt> last_attempt{attempt::none}; // to open it; set to `runs`, and to `none`, under `opening`

// The same as the layers below see it; null: it is not open.
unit_scheduler *units() noexcept { return reinterpret_cast<unit_scheduler *>(the_scheduler()); }

comity_scheduler_attr_t wanted() noexcept {
    constexpr comity_scheduler_kind_t kinds[] = {COMITY_SCHEDULER_SPACE_EFFICIENT, COMITY_SCHEDULER_DF_DEQUES,
                                                 COMITY_SCHEDULER_WORK_STEALING, COMITY_SCHEDULER_FIFO,
                                                 COMITY_SCHEDULER_LIFO};
    comity_scheduler_attr_t a{};
    const sys::options &o = sys::get_options();
    a.kind = kinds[static_cast<unsigned>(o.order)];
    a.quota = o.posix_quota != 0 ? o.posix_quota : SIZE_MAX;
    return a;
}

// Only from the program's code: what a thread does before and after that needs its hart. At the end of a time slice, in
// which it was found anywhere, nothing of ours may stand above what has called the program last: its function, a
// handler or a destructor.
bool may_go(const core::context *c, const sys::interruption *slice) noexcept {
    if (c->home) return !slice;
    thread *t = c->runs ? thread_on(c) : nullptr;
    if (!t && slice && !c->runs) return stands_in_called_program(*slice); // a rank in a scheduler below
    if (!t || !t->in_program) return false;
    if (!slice) return true;
    // In Comity's code the stack may be another thread's yet.
    if (!core::is_protected_code(slice->pc)) leave_handlers_below(t->signals, slice->sp);
    t->slice_is_over = !stands_in_program(t->signals, *slice);
    return !t->slice_is_over;
}

bool is_below_scheduler(const core::carrier *k) noexcept {
    const core::sched *s = k && k->carried ? k->current_sched : nullptr;
    while (s && s != units()) s = s->parent;
    return s;
}

// Whoever forks on a hart that works for the threads, or is one of them without a hart, is on none and in no scheduler
// in the child: nobody can tell what the harts were about that were in there, so its next thread opens another one.
bool leaves_in_child(const core::carrier *k) noexcept {
    return k->carried ? k->current_sched == units() : current_thread != nullptr;
}

// Of the threads only the one that forked is there. One in another model's scheduler below keeps its hart, and drops
// whoever waits here: the program's other threads do not go on in the child.
void child_after_fork() noexcept {
    opening.unlock();
    // The thread that was to open one is not here.
    if (last_attempt.load(std::memory_order_relaxed) == attempt::runs)
        last_attempt.store(attempt::none, std::memory_order_relaxed);
    core::forget_waits();
    forget_kernel_input();
    if (the_scheduler()) is_child.store(true, std::memory_order_relaxed);
    const bool below = is_below_scheduler(core::current_carrier());
    if (below)
        units()->hooks->units->forget_all(units(), current_thread ? 1 : 0);
    else
        scheduler.store(nullptr, std::memory_order_relaxed);
    core::program_is_on_harts.store(below, std::memory_order_relaxed);
    living.store(current_thread ? 1 : 0, std::memory_order_relaxed);
    if (current_thread) {
        is_orphan.store(true, std::memory_order_relaxed);
        current_thread->stays = !below;
        current_thread->id.store(::getpid(), std::memory_order_relaxed);
        current_thread->cpu_base.store(0, std::memory_order_relaxed);
        current_thread->state.fetch_and(~(thread::joined | thread::awaited), std::memory_order_relaxed); // by others
        if (current_thread->kernel_thread.load(std::memory_order_relaxed) != 0)
            current_thread->kernel_thread.store(sys::kernel_thread_id(), std::memory_order_relaxed);
    }
    if (!core::is_armed_in_child(next_look)) watching.store(false, std::memory_order_relaxed);
}

// The locks before the C library, and the core, take their own for a fork. In the child after the core, and before the
// timers' thread is there.
__attribute__((constructor(handlers_of_threads))) void watch_forks() noexcept {
    if (!sys::at_fork([] { opening.lock(); }, [] { opening.unlock(); }, child_after_fork))
        sys::warn("no memory to prepare for fork: a child process must not create threads");
}

// The caller is in a scheduler that is to be the threads', with a hart.
bool begin_here() noexcept {
    core::leave_schedulers_in_children(leaves_in_child);
    const comity_scheduler_attr_t a = wanted();
    return comity_threads_begin_with(&a) == 0;
}

// After begin_here, under `opening`.
void open_here() noexcept {
    comity_scheduler_t *s = comity_scheduler_self();
    reinterpret_cast<unit_scheduler *>(s)->lets_go.store(may_go, std::memory_order_relaxed);
    core::set_way_home(come_home);
    if (reinterpret_cast<unit_scheduler *>(s)->goes_by_descent()) charge_from_now_on(sys::get_options().posix_quota);
    core::program_is_on_harts.store(true, std::memory_order_relaxed);
    scheduler.store(s, std::memory_order_release); // release[posix-scheduler]
}

// After `runs` was set, without `opening`: the caller waits for a hart first, and who has that may be about to take the
// lock, or wait for this attempt.
bool open_and_tell() noexcept {
    const bool has_hart = begin_here();
    if (has_hart) {
        (void)begin_interruptions(); // it may wait for locks of the C library's, whose holders take ours in a fork
        const std::scoped_lock lock(opening);
        open_here();
    }
    last_attempt.store(has_hart ? attempt::has_opened : attempt::could_not,
                       std::memory_order_release); // release[posix-opening]
    sync::wake_all_at(&last_attempt);
    return has_hart;
}

// A kernel thread that opens the scheduler and then waits for ever: for a process whose first POSIX thread is created
// where no scheduler can stay open.
void *keep_open(void *) {
    (void)sys::exchange_mask(sys::mask_of_carriers()); // its hart carries threads
    (void)open_and_tell();
    comity_event_t never{};
    for (;;) comity_event_wait(&never);
}

bool start_keeper() noexcept {
    constexpr std::size_t stack = 256 << 10;
    return sys::start_kernel_thread(keep_open, nullptr, stack) == 0;
}

// Waits until the attempt that runs is over: a context without its hart, which whoever opens may need.
bool wait_for_attempt() noexcept {
    const auto is_over = [] {
        return last_attempt.load(std::memory_order_acquire) != attempt::runs; // acquire[posix-opening]
    };
    (void)sync::wait_at(&last_attempt, is_over, sys::no_deadline);
    return last_attempt.load(std::memory_order_relaxed) == attempt::has_opened;
}

// The program's first thread, outside every scheduler: it stays as long as the process.
bool is_main_outside(const core::carrier *k) noexcept {
    return sys::kernel_thread_id() == ::getpid() && k->current == k->native && !k->native->owner;
}

} // namespace

comity_scheduler_t *the_scheduler() noexcept {
    return scheduler.load(std::memory_order_acquire); // acquire[posix-scheduler]
}

bool open_scheduler(bool &inside) noexcept {
    // Before there are workers, who would inherit a mask that is the first thread's alone; or afterwards, if a rank has
    // opened it.
    begin_signals();
    if (!the_scheduler()) {
        // Comity starts before the lock is taken: its start waits for the dynamic linker's, whose holder may come here.
        const core::carrier *const caller = core::adopt_if_possible();
        if (!caller) return false;
        std::unique_lock lock(opening);
        const bool main_outside = is_main_outside(caller);
        // Who waits for a thread sleeps, outside all schedulers if it is not one itself, so a kernel thread has to be
        // there that carries the hart on.
        if (!the_scheduler()) {
            const bool another_runs = last_attempt.load(std::memory_order_relaxed) == attempt::runs;
            if (!another_runs) {
                if (!core::base().is_sure_of_a_worker()) return false;
                last_attempt.store(attempt::runs, std::memory_order_relaxed);
                if (!main_outside && !start_keeper()) {
                    last_attempt.store(attempt::could_not, std::memory_order_relaxed);
                    lock.unlock();
                    sync::wake_all_at(&last_attempt); // who still waits for the one before
                    return false;
                }
            }
            lock.unlock();
            if (!(main_outside && !another_runs ? open_and_tell() : wait_for_attempt())) return false;
        }
    }
    inside = comity_scheduler_self() == the_scheduler();
    return true;
}

// ---- Threads without a hart

namespace {

// The hart goes on with the thread as soon as the kernel thread on which it was has lent its storage again.
void bring_home(unit *u, core::carrier *k) noexcept {
    core::context *c = static_cast<thread::return_unit *>(u)->c;
    while (!core::promotion_over(c)) sys::yield_kernel_thread(); // a few instructions behind us
    c->owner = units();
    core::resume(k, c, [](void *) {});
}

} // namespace

void come_home() noexcept {
    core::stop_dozing();
    thread *t = current_thread;
    core::context *c = core::current_context();
    if (!t || !core::may_demote(c) || t->kernel_thread.load(std::memory_order_relaxed) != 0) return;
    unit_scheduler *s = units();
    t->back.run = bring_home;
    t->back.c = c;
    s->hooks->units->accept(s, &t->back);
    core::demote(
        c, [](void *) {}, nullptr);
}

void end_with_others() {
    if (the_scheduler() && comity_scheduler_self() == the_scheduler()) {
        comity_threads_end();
        core::program_is_on_harts.store(false, std::memory_order_relaxed);
        scheduler.store(nullptr, std::memory_order_relaxed); // for those that handlers of exit create
    } else {                                                 // its hart is with others, or the scheduler is a keeper's
        first_has_left.store(true, std::memory_order_relaxed);
        std::atomic_thread_fence(std::memory_order_seq_cst); // seq_cst[posix-first-left]
        for (std::uint32_t n = 0; (n = living.load(std::memory_order_relaxed)) != 0;) (void)sys::futex_wait(living, n);
    }
    std::exit(0);
}

namespace {

bool first_leaves = false; // the first thread's

// Its stack was unwound; its kernel thread must not end with the hart that it carries.
void first_was_cancelled(void *) {
    core::stop_dozing();
    if (first_leaves) return;
    leave_to_others(PTHREAD_CANCELED);
    end_first_thread(PTHREAD_CANCELED); // there are no threads of ours
}

} // namespace

void stay_when_cancelled() noexcept {
    static pthread_key_t key;
    if (pthread_key_create(&key, first_was_cancelled) != 0 || pthread_setspecific(key, &key) != 0)
        sys::warn("no thread-specific key is left: the first thread must not be cancelled");
}

void leave_to_others(void *result) {
    if (current_thread || sys::kernel_thread_id() != ::getpid()) return;
    // To the C library Comity's own threads would be others, for which the child of a fork waits, too.
    if (!the_scheduler() && !is_child.load(std::memory_order_relaxed)) return;
    first_leaves = true;
    end_first_thread(result);
    end_with_others();
}

bool leave_hart() noexcept {
    const core::context *c = core::current_context();
    return current_thread && c->on->carried && c->owner == units() && core::promote_caller();
}

void give_way_to_threads() noexcept {
    const core::carrier *k = core::current_carrier();
    unit_scheduler *s = the_scheduler() ? units() : nullptr;
    if (k && k->carried && k->current_sched != s) core::give_way_in_loop(s && s->hooks->units->has_waiting(s));
}

// ---- The watch. While threads live it looks for harts that are stuck: with a thread that sleeps in the kernel, or
// does not stop computing, while others wait for a hart. Such a thread goes on on a kernel thread of its own.

namespace {

void look_in(std::int64_t ns) noexcept; // `watching` is the caller's

// False: it is another's. Who had it before has left next_look.
bool take_watch() noexcept { return !watching.exchange(true, std::memory_order_acquire); } // acquire[posix-watching]

// How often harts have looked for what to run next, all in all.
std::uint64_t turns_in(const unit_scheduler &s) noexcept {
    std::uint64_t sum = 0;
    for (unsigned i = 0; i < s.harts; ++i) sum += s.slots[i].turns.load(std::memory_order_relaxed);
    return sum;
}

// For how many looks in a row somebody has waited, and no hart has looked. They may all be in a region below.
unsigned count_unserved(const unit_scheduler *s, bool waits) noexcept {
    static std::uint64_t turns = 0; // the watch's
    static unsigned unserved = 0;
    const std::uint64_t now = s ? turns_in(*s) : 0;
    unserved = waits && now == turns ? unserved + 1 : 0;
    turns = now;
    return unserved;
}

void look(core::timer *) noexcept {
    unit_scheduler *s = units();
    static bool home_waited = false; // for its kernel thread, which carries another one: the first thread, say
    const bool waits = s && (s->hooks->units->has_waiting(s) || home_waited);
    const unsigned unserved = count_unserved(s, waits);
    const std::int64_t slice_ns = std::int64_t{sys::get_options().slice_ms} * 1'000'000;
    const auto slice_looks = static_cast<unsigned>((slice_ns + look_ns - 1) / look_ns);
    static unsigned overdue = 0; // the harts take turns, however soon each time is served
    const core::time_slice slice{s, slice_looks, unserved > slice_looks ? overdue = std::max(overdue + 1, 1U) : 0};
    const core::look_result seen = core::look_after_homes({core::watcher::threads, looks_at_running, waits, slice});
    home_waited = seen.home;
    if (seen.all_kept) read_without_harts();
    if (living.load(std::memory_order_relaxed) == 0) {
        watching.store(false, std::memory_order_release);    // release[posix-watching]
        std::atomic_thread_fence(std::memory_order_seq_cst); // seq_cst[posix-watch]
        // One that was counted meanwhile may have found the watch on.
        if (living.load(std::memory_order_relaxed) == 0 || !take_watch()) return;
    }
    look_in(waits || seen.home || seen.runs ? look_ns : idle_factor * look_ns);
}

void look_in(std::int64_t ns) noexcept {
    next_look.at = sys::deadline_in(ns);
    next_look.serve = look;
    // release[posix-watching]: no kernel thread is to be had
    if (!core::arm(next_look)) watching.store(false, std::memory_order_release);
}

} // namespace

// One that forked is the first thread of the child.
bool become_alone() noexcept {
    const bool is_one = current_thread != nullptr;
    if ((is_one && !current_thread->stays) || living.load(std::memory_order_relaxed) != (is_one ? 1 : 0)) return false;
    unit_scheduler *s = units();
    return !(s && s->hooks->units->has_waiting(s)) && core::become_alone(s);
}

bool is_beside_first() noexcept { return current_thread && !current_thread->stays; }

// Where there is no first thread, the process ends with the last one.
void count_living(int by) noexcept {
    const std::uint32_t before = living.fetch_add(static_cast<std::uint32_t>(by), std::memory_order_relaxed);
    if (by < 0 && before == 1 && is_orphan.load(std::memory_order_relaxed)) std::exit(0);
    if (by < 0 && before == 1) {
        std::atomic_thread_fence(std::memory_order_seq_cst); // seq_cst[posix-first-left]
        if (first_has_left.load(std::memory_order_relaxed)) sys::futex_wake_all(living);
    }
    if (by < 0) return;
    std::atomic_thread_fence(std::memory_order_seq_cst); // seq_cst[posix-watch]
    if (watching.load(std::memory_order_relaxed) || !take_watch()) return;
    look_in(look_ns);
}

} // namespace comity::posix
