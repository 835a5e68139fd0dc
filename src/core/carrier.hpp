// Carriers: kernel threads that carry a hart, and the transition context that each of them has.
//
// A *worker* is a kernel thread that Comity made; each hart has one, made when it is first needed. An *adopted* carrier
// is a thread of the program: it carries a hart only for its own computation. A carrier without a hart sleeps or runs
// code outside Comity.
#pragma once

#include "core/alternation.hpp"
#include "core/context.hpp"
#include "core/hart.hpp"
#include "core/waiter.hpp"

#include "sys/clock.hpp"
#include "sys/interruption.hpp"
#include "sys/kernel_thread.hpp"
#include "sys/memory.hpp"
#include "sys/own_count.hpp"
#include "sys/own_memory.hpp"

#include <atomic>
#include <cstdint>

namespace comity::core {

// Why a switch between TLS blocks takes the long way (carrier::unusual): cpu_time.hpp, context_mask.hpp.
inline constexpr std::uint8_t base_by_system_call = 1, cpu_is_sampled = 2, cpu_is_counted = 4, masks_differ = 8;

// What a parked carrier finds when it is woken.
struct grant {
    hart *h = nullptr;     // the hart it now carries
    sched *into = nullptr; // the scheduler to enter with it; null: none, the carrier knows what to do
};

// Parking of one kernel thread (protocol "park and wake": README.md).
class parker {
public:
    // Waits for a token: the worker of the hart `own` spins first, while that is idle; null: it does not; then it
    // sleeps in the kernel, also until there is input, if it `serves` that and it is its turn (input.hpp). Takes the
    // token.
    void wait_idle(const hart *own, bool serves = true) noexcept;
    // Waits without spinning, and gives up at `deadline` (now_ns); false then, and no token was taken.
    bool wait_until(std::int64_t deadline) noexcept;
    // Gives the token. What was written before is visible to whoever takes it. At most one token at a time.
    void wake() noexcept;
    bool sleeping() const noexcept { return word_.load(std::memory_order_relaxed) == parked; }
    // Did the last wait_idle end because somebody's time had come (serve_deadlines)? Who sleeps until then does not
    // mind some microseconds, and mostly the next one ends so, too: spinning would cost a core and gain nothing. The
    // owner.
    bool naps() const noexcept { return naps_; }

private:
    static constexpr std::uint32_t empty = 0, parked = 1, token = 2, at_input = 3;
    bool take() noexcept;
    bool sleep_until(std::int64_t deadline, bool tells) noexcept;
    bool sleep_at_input() noexcept;
    bool spin_idle(const hart *own) noexcept;
    std::atomic<std::uint32_t> word_{empty};  // token: by the waker; the others: by the owner
    std::atomic<bool> is_by_deadline_{false}; // the token; written before it
    bool naps_ = false;
};

// The calling kernel thread gives tokens because somebody's time has come, or for what it has seen on its look.
void serve_deadlines() noexcept;

struct counters {
    sys::own_count<std::uint64_t> switches, blocks, steals, grants; // written by the carrier
    void add(const counters &other) noexcept {
        switches.add(other.switches.get());
        blocks.add(other.blocks.get());
        steals.add(other.steals.get());
        grants.add(other.grants.get());
    }
};

struct binding; // binding.hpp

// What one watch has seen of a carrier in its looks.
struct looks_seen {
    unsigned looks = 0;         // in a row in which others waited for the context that it is with
    unsigned same = 0;          // in a row with one context, and no switch in between
    unsigned met = 0;           // in a row with one context, whoever else had the hart in between,
    const void *who = nullptr;  // this one
    std::uint64_t switches = 0; // at the last look
    std::int64_t cpu_ns = 0;    // of the kernel thread, at the last look
    unsigned vain = 0;          // how often it was asked, with this context, in a call that must not begin anew
    unsigned pause = 0;         // looks for which it is not asked again
};

// How far the displacement of a context from this carrier is; `step` says who writes the rest.
struct displacement {
    static constexpr unsigned watches = 3; // that look at carriers, each in its own time and for its own contexts
    enum class state : std::uint32_t {
        none,    // from here on the watches, which all look on one thread
        asked,   // the carrier, in a signal's handler
        told,    // the watches
        decided, // the carrier
    };
    std::atomic<state> step{state::none};
    std::uintptr_t pc = 0, sp = 0; // where it was found
    looks_seen seen[watches];      // by watch
    // The system call in which it was found; number -1: in none. The watches', or, if tells_call, the carrier's as
    // well.
    sys::sleeping_call call;
    bool tells_call = false; // the watches': the carrier is asked in which call it is
    bool for_others = false; // the watches': somebody else waits for the hart
    // The watches': contexts of this scheduler go wherever they are, since a time slice is over; null: only out of a
    // loop.
    const sched *slice_of = nullptr;
    bool is_overdue = false; // of schedulers below it, too
};

struct alignas(64) carrier : sys::in_own_memory {
    // Written by the carrier itself, or by whoever grants it a hart before the token.
    hart *carried = nullptr;
    sched *current_sched = nullptr; // set by become()
    void *work = nullptr;           // schedulers of units: their slot for the hart; null where none is current
    context *current = nullptr;
    std::uintptr_t tls_base = 0;                   // of the kernel thread itself
    std::uintptr_t tls_now = 0;                    // what its TLS base register holds
    context **slot = nullptr;                      // comity_tls_current in its own block
    void **work_slot = nullptr;                    // comity_tls_work in its own block: the same as `work`
    exception_state *caught = nullptr;             // the C++ runtime's, in its own block
    void (*pause_fn)(context *, void *) = nullptr; // passes the arguments of pause over the switch
    void *pause_arg = nullptr;
    arch::after_fn start_after = nullptr; // passes `after` of switch_start to the context that starts
    void *start_after_arg = nullptr;
    // A context that runs on the transition context's stack (call_on_transition); null: none does. update_mark(): the
    // hart is in an update callback (callbacks.hpp).
    context *guest = nullptr;
    bool adopted = false;
    bool settled = false;     // the context there is not displaced now; the carrier's, also in a signal handler
    bool lends_stack = false; // the transition stack has the default size, so that a context may have it
    std::atomic<std::uint8_t> unusual{0}; // why a switch between TLS blocks is: bits; by any thread
    context transition;
    context *native = nullptr; // adopted: the thread's own computation
    counters count;
    alternation turns; // of those who spin here
    // Of those who found a lock taken here, with others for the hart to run: how many in a row have spun in vain; and
    // how many, after too many of those, have not spun at all since one tried again.
    std::uint8_t vain_spins = 0, unspun = 0;
    std::uint8_t looks_at_locks = 0; // since a turn was last given to others (sync::give_turn)

    alignas(64) parker park;
    grant granted; // written before the token
    // "Going home" (README.md): may the native context go on?
    enum class home_state : std::uint32_t { away, ready, asleep };
    std::atomic<home_state> home{home_state::away}; // ready: by post_home; the others: by the carrier
    sched *left = nullptr;        // in which its own computation, which registered it, has left its hart: come_back
    hart *kept = nullptr;         // the hart it keeps outside, if nobody has taken it
    std::uint64_t granted_at = 0; // ticks: since when it has held a hart, but for leaving it kept
    carrier *next = nullptr;      // in the base scheduler's queue of waiters
    std::int64_t waits_since = 0; // ns; when it entered that queue, under its lock
    carrier *all_next = nullptr;  // every carrier, for statistics; under the registry's lock
    int kernel_id = 0;
    void *worker_frame = nullptr;     // workers: where the kernel thread goes on for its end
    sys::joinable_thread thread = 0;  // workers, by the maker
    sys::stack_memory worker_stack;   // the kernel thread's
    std::atomic<hart *> own{nullptr}; // workers: the hart whose worker it is; written by whoever holds the hart
    binding *bound = nullptr;         // null: it never carried a bound hart
    displacement displaced;
    // The program's callback that the hart is in, or was in last, by name; null: a pause function. For messages.
    const char *callback = nullptr;
    waiter native_waiter; // the native context's, while it waits with a deadline
    // CPU time in ns ("CPU time": README.md). The carrier's: since when the context that it is with has not been
    // credited; whether that is so; what it has credited to others than its own computation; of that, what was told.
    // The timers' thread's: what it has used to wake that computation.
    sys::own_count<std::int64_t> cpu_mark, others_cpu, wakes_cpu;
    std::atomic<bool> counts_cpu{false};
    std::atomic<std::int64_t> cpu_told{0};
    // What its kernel thread blocks but while it is with a context that has a mask of its own; the carrier's.
    std::uint64_t mask_of_others = 0;
    // The watch's: its last look (now_ns; 0: none), and what it has seen; what it has found used, for who was seen.
    sys::own_count<std::int64_t> looked_at, cpu_at_look;
    sys::own_count<std::uint64_t> switches_at_look;
    std::atomic<std::int64_t> due_cpu{0};
};

// Where the caller runs. Stale after anything that may switch. Null on a thread that Comity never saw.
inline carrier *current_carrier() noexcept {
    context *c = current_context();
    return c ? c->on : nullptr;
}

// Is this within a call of Comity's to the C library that may call the program's allocator? A hart is in hand, and
// nothing switches.
inline bool is_settled() noexcept {
    const carrier *k = current_carrier();
    return k && k->settled;
}

// What the C++ runtime keeps of the running context.
COMITY_SHARED exception_state *caught_here() noexcept;
inline exception_state *caught_by(const context *running) noexcept {
    return running->shares_tls ? running->on->caught : caught_here();
}
// The running context gives up the handlers of exceptions that it stands in, all of them: ends them, which frees the
// exceptions.
void leave_handlers() noexcept;

inline bool on_transition(const carrier *k) noexcept { return k->current == &k->transition; }

// ---- Switching. `from` is the running context. All switch.

// Stops `from`, goes on with the paused `to`, and runs after(arg), if there is one, there before `to` continues: by
// then `from` may be resumed elsewhere.
COMITY_SHARED void switch_to(context *from, context *to, arch::after_fn after = nullptr, void *arg = nullptr) noexcept;
// Stops `from` and starts fn(arg) on the fresh (or exited) context `to`, where after(after_arg) runs first.
COMITY_SHARED void switch_start(context *from, context *to, void (*fn)(void *), void *arg,
                                arch::after_fn after = nullptr, void *after_arg = nullptr) noexcept;
// The four ways to call fn(arg) on the fresh (or exited) context `to` ("Calls": README.md). When fn ends and `to` is
// not `broken`, it returns, and so does the call. Else it was stopped meanwhile, and fn must end with exit_context.
//
// Stops `from`, which somebody may resume. True: fn has returned; false: `from` was resumed.
COMITY_SHARED bool call(context *from, context *to, void (*fn)(void *), void *arg) noexcept;
// From the transition context, which is not saved. Returns when fn has returned.
void call_from_transition(carrier *k, context *to, void (*fn)(void *), void *arg) noexcept;
// The same, and `to` runs on the transition stack; when it is stopped it gets that stack, and the transition context
// its own, so both must have the same size (k->lends_stack).
void call_on_transition(carrier *k, context *to, void (*fn)(void *), void *arg) noexcept;
// Somebody may soon resume, elsewhere, a context that was called from the carrier's guest, or the guest itself: it
// leaves the transition stack to the carrier. Any other function here that stops a context does that by itself.
void keep_guest_stack(carrier *k) noexcept;
// Stops `from` and runs fn(from, arg) on the carrier's transition context.
COMITY_SHARED void pause(context *from, void (*fn)(context *, void *), void *arg) noexcept;

// Makes the transition context current without changing stacks, so that code which must not be stopped cannot be;
// stand_on makes the context that was current so again. A context with its own TLS stays current.
inline void stand_on_transition(carrier *k) noexcept {
    if (k->current->shares_tls) *k->slot = k->current = &k->transition;
}
inline void stand_on(carrier *k, context *c) noexcept {
    if (c->shares_tls) *k->slot = k->current = c;
}

// Ends `from` and runs fn(from, arg) on the carrier's transition context.
[[noreturn]] COMITY_SHARED void exit_context(context *from, void (*fn)(context *, void *), void *arg) noexcept;

// Ends `from` and goes on with the paused `to`, where after(arg) runs first; both may use or free `from` at once.
[[noreturn]] void exit_to(context *from, context *to, arch::after_fn after = nullptr, void *arg = nullptr) noexcept;

// Ends `from` and starts fn(arg) on the fresh (or exited) context `to`, where after(after_arg) runs first.
[[noreturn]] void exit_start(context *from, context *to, void (*fn)(void *), void *arg, arch::after_fn after,
                             void *after_arg) noexcept;

// ---- From a transition context; its stack is given up.
[[noreturn]] COMITY_SHARED void resume(carrier *k, context *to, arch::after_fn after = nullptr,
                                       void *arg = nullptr) noexcept;
// unit::run of a context's own unit.
[[noreturn]] void resume_unit(unit *self, carrier *k) noexcept;
[[noreturn]] COMITY_SHARED void start(carrier *k, context *to, void (*fn)(void *), void *arg) noexcept;
// Rewinds the transition stack and calls fn(a, b) there. Also from an ordinary context whose end it is.
[[noreturn]] void rewind(carrier *k, arch::entry_fn fn, void *a, void *b) noexcept;

// The native context of an adopted thread may go on: tells its carrier, and wakes it if it sleeps. Any thread.
COMITY_SHARED void post_home(context *native) noexcept;
// The calling carrier's native context may go on: clears the mark and returns true. The carrier then must run it.
inline bool take_home(carrier *k) noexcept {
    return k->home.load(std::memory_order_relaxed) == carrier::home_state::ready &&
           k->home.exchange(carrier::home_state::away, std::memory_order_acquire) ==
               carrier::home_state::ready; // acquire[home]
}

// The bounds of the calling kernel thread's own stack, for the sanitizers that ask; else empty.
sys::stack_memory own_stack() noexcept;

// Maps a stack for the carrier's transition context. False: no memory.
bool map_transition_stack(carrier *k) noexcept;

// Fills in what a carrier knows of its kernel thread; on that thread. Returns the stack for signals that it was given.
void *init_carrier(carrier *k) noexcept;

// A kernel thread that will be the hart's worker, or (null) some hart's, and sleeps until it is granted one. Null when
// none is to be had: then `error` is ENOMEM, EAGAIN where a limit is reached, or EINVAL in a process that can make no
// more kernel threads, as one that has left its namespace of processes.
carrier *make_worker(hart *h, int &error) noexcept;
// Such a one ends: the caller has its hart, which stays the caller's; a spare one has none, and `h` is any. Returns
// when free_worker may be called, which waits for its kernel thread.
void end_worker(carrier *k, hart *h) noexcept;
void free_worker(carrier *k) noexcept;

} // namespace comity::core
