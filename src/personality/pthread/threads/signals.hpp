// Signals to threads that have no kernel threads of their own. README.md, "Signals".
#pragma once

#include "core/context.hpp"
#include "sync/address.hpp"
#include "sys/clock.hpp"
#include "sys/interruption.hpp"

#include <atomic>
#include <cstdint>

#include <csignal>
#include <ctime>

#include <pthread.h>

namespace comity::posix {

// Priorities of the constructors that register handlers of forks. What other libraries have registered before comes
// after them (fork_handlers.cpp).
constexpr int handlers_of_signals = 200, handlers_of_threads = 201;

// As the kernel's: bit n - 1 is signal n.
using signal_set = std::uint64_t;
constexpr int number_of_signals = 64;
constexpr signal_set set_of(int signal) noexcept { return signal_set{1} << (signal - 1); }
inline signal_set set_of(const sigset_t *s) noexcept { return *reinterpret_cast<const signal_set *>(s); }

// A signal that was sent and is not delivered yet.
struct sent_signal {
    siginfo_t info{};
    sent_signal *next = nullptr;
};

// Those of one thread, or of the process. Under the signals' lock, but for `pending`, which is written under it.
struct signal_queue {
    std::atomic<signal_set> pending{0};
    sent_signal *first = nullptr;
};

// What ends a call before its time. Handlers run in each.
enum class call_ends : std::uint8_t {
    by_handlers,              // and by requests to cancel its thread
    by_requests,              // of a function that waits at an object: what it takes for the end of its time, is over
    by_asynchronous_requests, // where they unwind the stack at once
    by_nothing
};

// A call that signals end. On its thread's stack, as the next one.
struct interruptible_call {
    timespec *limit = nullptr; // what the kernel reads as the call begins, if a handler may spoil it, so that it fails
    interruptible_call *outer = nullptr; // in which the C library has called the program, who makes this one
    call_ends ends = call_ends::by_handlers;
    // A function of the C library: more than one system call, and the program's and our code in between. Then frames
    // below `base` were the program's before it, and `is_ended` says that one of those calls was ended.
    bool is_librarys = false, is_ended = false;
    std::uintptr_t base = 0;
};

// A handler that runs. On its thread's stack, so that its address says whether it was left by a jump.
struct running_handler {
    running_handler *outer = nullptr;
    signal_set blocked = 0; // before it
    std::uintptr_t base = 0;
    interruptible_call *call = nullptr;
};

struct receiver;

// What a handler may leave by a jump while it is half done: then undo(). On its thread's stack.
class left_by_jump {
protected:
    explicit left_by_jump(receiver *r) noexcept;
    ~left_by_jump();

public:
    left_by_jump(const left_by_jump &) = delete;
    left_by_jump &operator=(const left_by_jump &) = delete;
    virtual void undo() noexcept = 0;
    left_by_jump *outer() const noexcept { return outer_; }

private:
    receiver *r_;
    left_by_jump *outer_;
};

// What a receiver alone looks at.
struct receivers_own {
    bool refuses_to_end = false;                            // is_asked_to_end: not now
    std::uintptr_t base = UINTPTR_MAX;                      // frames below are the program's
    bool forks = false;                                     // holds locks of ours outside of our code
    interruptible_call *call = nullptr;                     // which it makes
    left_by_jump *half_done = nullptr;                      // the innermost
    std::uint32_t handled = 0, handled_without_restart = 0; // so far
    std::uint32_t numbers_closed = 0;                       // of descriptors, so far, handlers included
    stack_t alternate{nullptr, SS_DISABLE, 0};
};

// Who can be sent signals: one of the threads, or the program's first thread. Others look at what is atomic here at any
// time, also when it has ended.
struct receiver : receivers_own {
    std::atomic<signal_set> blocked{0}; // written by itself
    std::atomic<signal_set> awaits{0};  // what sigwait and its like wait for
    signal_queue sent;
    std::atomic<const void *> waits_at{nullptr};         // sync/address.hpp; to be woken there
    std::atomic<const core::context *> context{nullptr}; // null: it has not started, or has ended
    std::atomic<bool> acts_at_once{false}; // upon a request to cancel it, where it runs or sleeps; written by itself
    std::atomic<bool> to_be_cancelled{false};
    std::atomic<bool> is_asked_to_end{false};         // the first thread, which the C library cancels
    std::atomic<running_handler *> handlers{nullptr}; // the innermost; written by itself
};

inline left_by_jump::left_by_jump(receiver *r) noexcept : r_(r), outer_(r ? r->half_done : nullptr) {
    if (r) r->half_done = this;
}
inline left_by_jump::~left_by_jump() {
    if (r_) r_->half_done = outer_;
}

// While it lives, the receiver's thread is in a handler, which blocks more, and below which the program's code begins.
class handler_runs : running_handler {
public:
    handler_runs(receiver &r, signal_set more) noexcept : r_(r) {
        outer = r.handlers.load(std::memory_order_relaxed);
        blocked = r.blocked.load(std::memory_order_relaxed);
        base = r.base;
        call = r.call;
        r.call = nullptr;
        r.handlers.store(this, std::memory_order_relaxed);
        r.blocked.store(blocked | more, std::memory_order_relaxed);
        r.base = reinterpret_cast<std::uintptr_t>(this);
    }
    ~handler_runs() {
        r_.handlers.store(outer, std::memory_order_relaxed);
        r_.blocked.store(blocked, std::memory_order_relaxed);
        r_.base = base;
        r_.call = call;
    }
    handler_runs(const handler_runs &) = delete;
    handler_runs &operator=(const handler_runs &) = delete;

private:
    receiver &r_;
};

// The caller's; null: the kernel delivers its signals.
receiver *receiver_here() noexcept;

// The first thread's signals, and the process's, are delivered here from now on. To be called by it, when the first
// other one is about to be created, or before a wait that handlers end. Others call it in vain.
void begin_signals() noexcept;
// Threads are interrupted for what they alone are sent, and when they are to be cancelled. Any thread, before the first
// one of ours. False: no memory.
bool begin_interruptions() noexcept;
// Of a thread: before it is created, as it starts, and when it has ended; then again when nobody sends it anything.
void renew_receiver(receiver &r) noexcept;
void open_receiver(receiver &r) noexcept;
void close_receiver(receiver &r) noexcept;
// The first thread has left to the others: it takes nothing any more.
void close_first_receiver() noexcept;

// Is something there that it takes now?
bool is_due(const receiver &r) noexcept;
// What the process has been sent is left to the first thread, if that takes it, for so long; then anybody takes it. By
// the router, now and then.
void leave_to_anybody_after(std::int64_t ns) noexcept;
// Is it the first thread, and what is there for it anybody's by now?
bool has_given_away(const receiver &r) noexcept;
// The first thread's, if that is who is asked for; else null.
receiver *first_receiver_if(pthread_t t) noexcept;

// While it lives, what is called from here is the program's code again.
class programs_below {
public:
    programs_below() noexcept : r_(receiver_here()) {
        if (!r_) return;
        base_ = r_->base;
        r_->base = reinterpret_cast<std::uintptr_t>(this);
    }
    ~programs_below() {
        if (r_) r_->base = base_;
    }
    programs_below(const programs_below &) = delete;
    programs_below &operator=(const programs_below &) = delete;

private:
    receiver *r_;
    std::uintptr_t base_ = 0;
};

// Was the caller interrupted in the program's code, with nothing of ours half done below, nor between the two handlers
// of a fork? In a signal handler.
bool stands_in_program(const receiver &r, const sys::interruption &at) noexcept;
// The same of a rank or a task: what has called the code there is known to count on nothing (core/displacement.hpp).
bool stands_in_called_program(const sys::interruption &at) noexcept;

// Runs handlers, on the caller, whose receiver it is, until nothing is due. In a handler of ours: for that
// interruption.
void deliver(receiver &r, const sys::interruption *at = nullptr);
// Forgets handlers and calls that were left by a jump, and what was blocked; undoes what was half done. The caller's.
void leave_handlers_below(receiver &r, std::uintptr_t sp) noexcept;
// Is there anything that a jump may leave?
inline bool leaves_something(const receiver &r) noexcept {
    return r.call || r.handlers.load(std::memory_order_relaxed);
}
// Forgets the call that it makes.
void leave_call(receiver &r) noexcept;
inline receiver *settled_receiver_here() noexcept {
    receiver *r = receiver_here();
    if (r && r->handlers.load(std::memory_order_relaxed))
        leave_handlers_below(*r, reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)));
    return r;
}
inline void deliver_here() {
    if (receiver *r = settled_receiver_here(); r && is_due(*r)) deliver(*r);
}

constexpr signal_set never_blocked = set_of(SIGKILL) | set_of(SIGSTOP);

// While it lives the caller has another mask, also if a handler or a cancellation leads elsewhere.
class mask_for_now {
public:
    mask_for_now(receiver &r, const sigset_t *mask) noexcept;
    ~mask_for_now() { r_.blocked.store(before_, std::memory_order_relaxed); }
    mask_for_now(const mask_for_now &) = delete;
    mask_for_now &operator=(const mask_for_now &) = delete;

private:
    receiver &r_;
    signal_set before_;
};

// At once?
inline bool is_to_be_cancelled(const receiver &r) noexcept {
    return r.to_be_cancelled.load(std::memory_order_relaxed) && r.acts_at_once.load(std::memory_order_relaxed);
}

// The first thread: shall it call the C library, which ends it?
inline bool ends_by_c_library(const receiver &r) noexcept {
    return r.is_asked_to_end.load(std::memory_order_relaxed) && !r.refuses_to_end;
}

// Does the caller, if it is a thread of ours, act upon requests to cancel it?
bool is_open_to_cancel() noexcept;

// 0, EAGAIN (too many are pending).
int send(receiver &r, const siginfo_t &info) noexcept;
int send_to_process(const siginfo_t &info) noexcept;
siginfo_t info_of(int signal, int code, sigval value = {}) noexcept;
// Does the caller take signals that the program may care for?
bool may_be_signalled() noexcept;
// Takes one of a set: the receiver's, or the process's. False: there is none.
bool take(receiver &r, signal_set of, siginfo_t &info) noexcept;
// Nobody takes this one any more, of those that were sent so far.
void forget_pending(int signal) noexcept;
signal_set pending_for(const receiver &r) noexcept;

// Has it look, if it waits at one of our objects.
void wake(const receiver &r) noexcept;
// Has it stop where it runs or waits, and look.
void rouse(const receiver &r) noexcept;
// Again and again, until it has taken what is there for it.
void see_to(receiver &r) noexcept;
// The same for the router, which does it again after a while.
void see_to_once(receiver &r) noexcept;

// The first thread's, or 0 before it takes signals.
pthread_t first_thread_handle() noexcept;

// Calls visit(receiver) for the first thread and all others that have started, until that returns true.
bool visit_receivers(bool (*visit)(receiver &, void *), void *argument) noexcept;

// ---- What is to be done with a signal (dispositions.cpp)

// The kernel hands us these from now on, whatever the program has set or will set.
void claim(signal_set s) noexcept;
bool is_claimed(int signal) noexcept;
bool is_any_claimed() noexcept;
// What the program has set; a handler that is for one time only is taken away.
struct sigaction take_action(int signal) noexcept;
// The signals of faults, and what nobody can catch, stay the kernel's.
bool is_routed(int signal) noexcept;
void act_by_default(int signal) noexcept;
// How often what the kernel has brought was handled at once where it came, as on who has no receiver. In its own TLS.
extern __thread std::uint32_t handled_on_kernel_thread __attribute__((tls_model("initial-exec")));
// The calls that who has no receiver makes now: where on its stack the innermost one stands, or null. In its own TLS.
extern __thread const void *innermost_call __attribute__((tls_model("initial-exec")));
// The stack pointer of a handler that runs amid Comity's code, where calls that sleep are made in place; 0: there is
// none. Of the kernel thread, which carries no other context meanwhile.
extern __thread std::uintptr_t handler_amid_comity __attribute__((tls_model("initial-exec")));
inline bool is_amid_comity() noexcept { return handler_amid_comity != 0; }
// A jump leaves everything below that stack pointer.
void leave_handler_amid_comity(std::uintptr_t sp) noexcept;
// Does the kernel send it to who writes, or computes?
constexpr bool is_of_who_causes_it(int signal) noexcept {
    return signal == SIGPIPE || signal == SIGXFSZ || signal == SIGPROF || signal == SIGVTALRM;
}
// Does the program leave it to the kernel, so that it ends or stops the process? Of a claimed one.
bool acts_by_default(int signal) noexcept;
// What has come from the kernel goes into the queues. Any thread.
void take_arrivals() noexcept;
// Signals that end or stop the process do that in the kernel; and no longer.
void leave_defaults_to_kernel() noexcept;
void take_defaults_again() noexcept;
void start_routing() noexcept;
void stop_routing() noexcept; // in the child of a fork that has no first thread
void ring_router() noexcept;
void lock_routing() noexcept;
void unlock_routing() noexcept;
void routing_after_fork() noexcept;
// Whom the router is to see to. Its own from here on.
struct listed_receivers {
    static constexpr unsigned most = 256; // beyond, one waits until it looks by itself
    receiver *all[most] = {};
    unsigned number = 0;
};
void take_listed(listed_receivers &to) noexcept;
bool on_arrival_in_program(const sys::interruption &i, const siginfo_t &info);

// ---- signalfd (signal_descriptors.cpp)

// What is asked for there. One of these that no receiver takes is put in; false: it is not, now.
signal_set wanted_by_descriptors() noexcept;
bool put_into_descriptor(const siginfo_t &info) noexcept;
// Takes those of the process', and of each receiver its own, that are blocked and not awaited. True: one is there
// still, since somebody takes it or no descriptor has room.
bool serve_descriptors() noexcept;

// ---- Waits in which handlers run

enum class signalled_wait : std::uint8_t { done, late, cancelled, signalled };

// As sync::wait_at_or_cancel (or wait_at, which always spins); `signalled`: a handler has run meanwhile, and it is not
// ready().
template <bool cancellable, class Ready>
signalled_wait wait_or_signal(const void *address, Ready ready, std::int64_t deadline, bool spins = true) {
    const auto wait = [&](auto until) {
        if constexpr (cancellable) return sync::wait_at_or_cancel(address, until, deadline, spins);
        return sync::wait_at(address, until, deadline) ? sync::wait_end::done : sync::wait_end::late;
    };
    receiver *r = receiver_here();
    if (!r) return static_cast<signalled_wait>(wait(ready));
    const bool is_open = cancellable && is_open_to_cancel();
    // A request finds who waits on a hart also without this; without a hart it is only woken.
    const auto requested = [&]() noexcept {
        return cancellable &&
               (ends_by_c_library(*r) || (is_open && r->to_be_cancelled.load(std::memory_order_relaxed)));
    };
    for (;;) {
        r->waits_at.store(address, std::memory_order_relaxed);
        const auto roused = [&]() noexcept {
            return ready() || is_due(*r) || requested();
        }; // a fence between the two: seq_cst[address]
        const sync::wait_end e = wait(roused);
        r->waits_at.store(nullptr, std::memory_order_relaxed);
        const std::uint32_t seen = r->handled;
        if (is_due(*r)) deliver(*r);
        if (e != sync::wait_end::done || ready()) return static_cast<signalled_wait>(e);
        if (requested()) return signalled_wait::cancelled;
        if (r->handled != seen) return signalled_wait::signalled;
        // What it was roused for another receiver has taken, or nothing is done about it.
    }
}

// Waits on whatever handlers run. False: the deadline has passed.
template <class Ready> bool wait_for(const void *address, Ready ready, std::int64_t deadline) {
    for (;;) {
        const signalled_wait e = wait_or_signal<false>(address, ready, deadline);
        if (e != signalled_wait::signalled) return e == signalled_wait::done;
    }
}

} // namespace comity::posix
