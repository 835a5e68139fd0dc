// Receivers of signals: what was sent to them, and the handlers that they run.
#include "personality/pthread/threads/signals.hpp"

#include "core/carrier.hpp"
#include "core/displacement.hpp"
#include "core/fork_gate.hpp"
#include "core/own_code.hpp"
#include "core/runtime.hpp"
#include "core/spinlock.hpp"
#include "personality/pthread/threads/faults.hpp"
#include "personality/pthread/threads/thread.hpp"
#include "sys/call_frames.hpp"
#include "sys/errno_kept.hpp"
#include "sys/kernel_thread.hpp"
#include "sys/memory.hpp"
#include "sys/message.hpp"
#include "sys/process.hpp"
#include "sys/signals.hpp"

#include <algorithm>
#include <bit>
#include <new>
#include <utility>

#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

namespace comity::posix {

namespace {

core::spinlock lock;
signal_queue process;                // what any thread may take
sent_signal *free_signals = nullptr; // under the lock
std::size_t sent_in_all = 0;         // under the lock
listed_receivers listed;             // under the lock
constexpr std::size_t most_sent = 16 * 1024;
core::spinlock serving; // held by who moves signals to descriptors, one after the other

receiver first_receiver;
pthread_t first_pthread{}; // written before is_first_there
std::atomic<bool> is_first_there{false};
std::atomic<bool> has_begun{false}; // the first thread, with begin_signals; in a child: its parent
__thread bool is_first __attribute__((tls_model("initial-exec"))) = false;

// ---- Queues. Under the lock.

void add_free(std::byte *memory, std::size_t size) noexcept {
    for (std::size_t i = 0; memory && i + sizeof(sent_signal) <= size; i += sizeof(sent_signal)) {
        auto *made = new (memory + i) sent_signal;
        made->next = std::exchange(free_signals, made);
    }
}

// The first few need no memory of the kernel's: where that is gone, a program's own signals come all the same.
sent_signal *make_sent() noexcept {
    constexpr std::size_t chunk = 64 * 1024;
    alignas(sent_signal) static std::byte first_few[8 * 1024];
    if (sent_in_all >= most_sent) return nullptr;
    if (!free_signals && sent_in_all == 0)
        add_free(first_few, sizeof first_few);
    else if (!free_signals)
        add_free(static_cast<std::byte *>(sys::map_pages(chunk)), chunk);
    if (free_signals) ++sent_in_all;
    return free_signals ? std::exchange(free_signals, free_signals->next) : nullptr;
}

void free_sent(sent_signal *s) noexcept {
    s->next = std::exchange(free_signals, s);
    --sent_in_all;
}

// A timer's signal that is there already counts one more expiry.
bool joins_pending(signal_queue &q, const siginfo_t &info) noexcept {
    for (sent_signal *s = q.first; s; s = s->next) {
        if (s->info.si_signo != info.si_signo || s->info.si_code != SI_TIMER || s->info.si_timerid != info.si_timerid)
            continue;
        s->info.si_overrun += info.si_overrun + 1;
        return true;
    }
    return false;
}

// One of the classic signals that is there already is not there twice.
int enqueue(signal_queue &q, const siginfo_t &info) noexcept {
    const signal_set one = set_of(info.si_signo), pending = q.pending.load(std::memory_order_relaxed);
    if (info.si_signo < SIGRTMIN && (pending & one)) return 0;
    if (info.si_code == SI_TIMER && (pending & one) && joins_pending(q, info)) return 0;
    sent_signal *s = make_sent();
    if (!s) return EAGAIN;
    s->info = info;
    s->next = nullptr;
    sent_signal **link = &q.first;
    while (*link) link = &(*link)->next;
    *link = s;
    q.pending.store(pending | one, std::memory_order_relaxed);
    return 0;
}

void dequeue(signal_queue &q, int signal, siginfo_t &info) noexcept {
    sent_signal **link = &q.first;
    while ((*link)->info.si_signo != signal) link = &(*link)->next;
    sent_signal *s = *link;
    *link = s->next;
    info = s->info;
    free_sent(s);
    for (const sent_signal *other = q.first; other; other = other->next)
        if (other->info.si_signo == signal) return;
    q.pending.store(q.pending.load(std::memory_order_relaxed) & ~set_of(signal), std::memory_order_relaxed);
}

// What was taken and not used: before those that came later.
void put_back(signal_queue &q, const siginfo_t &info) noexcept {
    const signal_set one = set_of(info.si_signo), pending = q.pending.load(std::memory_order_relaxed);
    sent_signal *s = info.si_signo < SIGRTMIN && (pending & one) ? nullptr : make_sent();
    if (!s) return;
    s->info = info;
    s->next = std::exchange(q.first, s);
    q.pending.store(pending | one, std::memory_order_relaxed);
}

void forget(signal_queue &q) noexcept {
    while (sent_signal *s = q.first) {
        q.first = s->next;
        free_sent(s);
    }
    q.pending.store(0, std::memory_order_relaxed);
}

// ---- Handlers

struct taken {
    siginfo_t info;
    struct sigaction action;
};

void handle(receiver &r, taken &t, const sys::interruption *at) {
    siginfo_t &info = t.info;
    const int signal = info.si_signo;
    const struct sigaction &a = t.action;
    if (!(a.sa_flags & SA_SIGINFO)) {
        if (a.sa_handler == SIG_DFL) return act_by_default(signal);
        if (a.sa_handler == SIG_IGN) return;
    }
    const handler_runs h(r, set_of(&a.sa_mask) | (a.sa_flags & SA_NODEFER ? 0 : set_of(signal)));
    core::stop_dozing(); // in the call that it interrupts
    ++r.handled;
    if (!(a.sa_flags & SA_RESTART)) ++r.handled_without_restart;
    if (at) sys::open_signals(*at);
    if (a.sa_flags & SA_SIGINFO) {
        ucontext_t here;
        if (!at) getcontext(&here);
        a.sa_sigaction(signal, &info, at ? at->frame : &here);
    } else {
        a.sa_handler(signal);
    }
    if (at) sys::close_signals(*at);
}

// ---- Interruptions

// Does the interrupted code, up to the frame of ours that has called the program, belong to the program and its
// libraries alone? Then nobody's state below is half changed but theirs. Not amid an unwinding: where the unwinder
// leaves its own frame, nobody can tell what stands below. Of code without tables (a compiler at run time made it) all
// that looks like a call from ours counts.
bool is_programs(const receiver &r, const sys::interruption &i) noexcept {
    struct walk {
        std::uintptr_t base;
        bool good = true;
    } w{r.base};
    sys::frame_place rest;
    const sys::frames_end end = sys::visit_call_frames(
        i,
        [](const sys::call_frame &f, void *argument) {
            auto &to = *static_cast<walk *>(argument);
            if (f.end > to.base) return false; // it is the one that has called the program
            to.good = !core::is_protected_code(f.code);
            return to.good;
        },
        &w, rest);
    if (end == sys::frames_end::unwinds) return false;
    if (end == sys::frames_end::not_known) return !sys::may_return_between(rest.sp, r.base, core::is_protected_code);
    return w.good;
}

// The calling receiver, if what was interrupted is its computation, or a call that it makes: not Comity's own handler,
// which calls the C library, too, while it moves the receiver from the call below.
receiver *interrupted_receiver() noexcept {
    const core::context *c = core::current_context();
    if (!c || c->self.is_moved || !c->on || c->on->current != c || c->on->kernel_id != sys::kernel_thread_id())
        return nullptr;
    receiver *r = receiver_here();
    return r && r->context.load(std::memory_order_relaxed) == c ? r : nullptr;
}

bool may_handle(const receiver &r, const sys::interruption &i) noexcept {
    return r.call && !r.call->is_librarys ? !r.forks && !core::is_protected_code(i.pc) : stands_in_program(r, i);
}

// A handler has run in the call, if there is one.
void end_call(const receiver &r, const sys::interruption &i, bool also_if_it_can_begin_anew) noexcept {
    if (!r.call || r.call->ends != call_ends::by_handlers) return;
    if (also_if_it_can_begin_anew && r.call->is_librarys)
        r.call->is_ended |= sys::end_file_call(i);
    else if (also_if_it_can_begin_anew)
        sys::end_call(i);
    if (r.call->limit) r.call->limit->tv_nsec = -1;
}

// The caller is to be cancelled.
void end_by_request(const receiver &r, const sys::interruption &i) {
    const call_ends by = r.call ? r.call->ends : call_ends::by_asynchronous_requests;
    if (by == call_ends::by_requests) {
        *r.call->limit = {};
        sys::end_wait_at_word(i); // to have it look at that
    }
    if (by != call_ends::by_asynchronous_requests) return;
    sys::open_signals(i);
    cancel_at_once();
    sys::close_signals(i);
}

bool on_interruption(const sys::interruption &i) {
    receiver *r = interrupted_receiver();
    // In a switch the stack is one thread's, and the rest another's.
    if (!r || core::is_protected_code(i.pc)) return false;
    leave_handlers_below(*r, i.sp);
    const bool cancelled = is_to_be_cancelled(*r);
    if ((!cancelled && !is_due(*r)) || !may_handle(*r, i)) return false;
    const std::uint32_t before = r->handled_without_restart;
    deliver(*r, &i);
    end_call(*r, i, cancelled || r->handled_without_restart != before);
    if (cancelled) end_by_request(*r, i);
    return true;
}

// ---- The end

void take_no_more(receiver &r) noexcept {
    r.blocked.store(~signal_set{0}, std::memory_order_relaxed);
    r.awaits.store(0, std::memory_order_relaxed);
    close_receiver(r);
}

// ---- Fork: in the child nothing is pending, and nobody is there but who forked. Whoever opens the scheduler takes
// these locks, too, so they are taken after `opening` (priority: registered before it). The program's handlers may do
// what they like: they run before and after ours, since none is registered earlier.

void before_fork() noexcept {
    if (receiver *r = receiver_here()) r->forks = true;
    core::close_fork_gate();
    lock_routing();
    lock.lock();
}
void leave_locks() noexcept {
    lock.unlock();
    unlock_routing();
    if (receiver *r = receiver_here()) r->forks = false;
}
void parent_after_fork() noexcept {
    leave_locks();
    core::open_fork_gate();
}
void child_after_fork() noexcept {
    listed.number = 0;
    new (&serving) core::spinlock; // whoever served is not there
    receiver *r = receiver_here();
    forget(process);
    if (r) forget(r->sent);
    is_first_there.store(is_first, std::memory_order_relaxed);
    routing_after_fork();
    leave_locks();
    core::open_fork_gate_in_child();
}

__attribute__((constructor(handlers_of_signals))) void stay_out_of_forks() noexcept {
    if (!sys::at_fork(before_fork, parent_after_fork, child_after_fork))
        sys::warn("no memory to prepare for fork: a child process must not use signals");
}

// After all locks have been left: the router takes them, and allocates. Who is not there takes nothing.
void begin_again_in_child() noexcept {
    visit_threads(
        [](thread &t, void *own) {
            receiver &r = t.signals;
            if (&r == own) return false;
            r.waits_at.store(nullptr, std::memory_order_relaxed);
            take_no_more(r);
            return false;
        },
        receiver_here());
    if (const receiver *r = receiver_here()) { // perhaps the first thread had not begun with its signals in the parent
        start_routing();
        claim(r->blocked.load(std::memory_order_relaxed));
    } else { // a rank has forked: it is the first thread now, and may begin
        has_begun.store(false, std::memory_order_relaxed);
        stop_routing();
        (void)sys::block_signals(first_receiver.blocked.load(std::memory_order_relaxed)); // as its parent's ranks
    }
    if (is_any_claimed()) ring_router();
    // To this kernel thread, the only one, the kernel brings all.
    if (receiver_here()) (void)sys::exchange_mask(0);
}

// What the calling thread, the first one, has been sent and blocked until now: its own stays its own.
void take_from_kernel(signal_set blocked) noexcept {
    signal_set of = 0;
    for (int i = 1; i <= number_of_signals; ++i)
        if ((blocked & set_of(i)) && is_claimed(i)) of |= set_of(i);
    siginfo_t info;
    const timespec at_once{};
    while (::syscall(SYS_rt_sigtimedwait, &of, &info, &at_once, sizeof of) > 0) {
        lock.lock();
        (void)enqueue(info.si_code == SI_TKILL ? first_receiver.sent : process, info);
        lock.unlock();
    }
}

} // namespace

bool stands_in_program(const receiver &r, const sys::interruption &at) noexcept {
    return !r.forks && !core::is_protected_code(at.pc) && is_programs(r, at);
}

bool stands_in_called_program(const sys::interruption &at) noexcept {
    bool good = false;
    sys::frame_place rest;
    if (core::is_protected_code(at.pc)) return false;
    (void)sys::visit_call_frames(
        at,
        [](const sys::call_frame &f, void *argument) {
            if (!core::is_protected_code(f.code)) return true;
            *static_cast<bool *>(argument) = core::is_caller_of_program(f.function);
            return false;
        },
        &good, rest);
    return good;
}

receiver *receiver_here() noexcept {
    if (thread *t = current_thread) return &t->signals;
    return is_first ? &first_receiver : nullptr;
}

bool begin_interruptions() noexcept {
    return sys::made_once([] {
        if (!core::take_interruptions() || !sys::in_children(nullptr, begin_again_in_child)) return false;
        sys::take_other_interruptions(on_interruption);
        return true;
    });
}

void begin_signals() noexcept {
    if (has_begun.load(std::memory_order_relaxed) || current_thread || is_aside() || has_go() ||
        sys::kernel_thread_id() != ::getpid())
        return;
    const core::carrier *const k = core::adopt_if_possible();
    // No memory: the next call may find some. Or it is a rank that the first thread's kernel thread carries.
    if (!k || k->current != k->native) return;
    has_begun.store(true, std::memory_order_relaxed);
    if (!begin_interruptions()) return;
    first_pthread = pthread_self();
    first_receiver.context.store(k->native, std::memory_order_relaxed);
    is_first = true;
    is_first_there.store(true, std::memory_order_release); // release[posix-first]
    int state = PTHREAD_CANCEL_ENABLE;
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state); // to know which it has
    (void)pthread_setcancelstate(state, nullptr);
    stay_when_cancelled();
    start_routing();
    // The kernel threads block nothing: the first thread's own carries others, too.
    sys::set_programs_mask(0);
    const signal_set blocked = sys::exchange_mask(~signal_set{0});
    first_receiver.blocked.store(blocked, std::memory_order_relaxed);
    claim(blocked);
    take_from_kernel(blocked);
    (void)sys::exchange_mask(0);
    ring_router(); // for who can take it
}

receiver *first_receiver_if(pthread_t t) noexcept {
    return is_first_there.load(std::memory_order_acquire) && t == first_pthread // acquire[posix-first]
               ? &first_receiver
               : nullptr;
}

void renew_receiver(receiver &r) noexcept {
    static_cast<receivers_own &>(r) = {};
    r.blocked.store(0, std::memory_order_relaxed);
    r.awaits.store(0, std::memory_order_relaxed);
    r.waits_at.store(nullptr, std::memory_order_relaxed);
    r.acts_at_once.store(false, std::memory_order_relaxed);
    r.to_be_cancelled.store(false, std::memory_order_relaxed);
    r.handlers.store(nullptr, std::memory_order_relaxed);
}

pthread_t first_thread_handle() noexcept {
    return is_first_there.load(std::memory_order_acquire) ? first_pthread : 0; // acquire[posix-first]
}

void open_receiver(receiver &r) noexcept {
    r.context.store(core::current_context(), std::memory_order_release); // release[posix-receiver]
}

void close_receiver(receiver &r) noexcept {
    r.context.store(nullptr, std::memory_order_relaxed);
    if (r.sent.pending.load(std::memory_order_relaxed) == 0) return;
    lock.lock();
    forget(r.sent);
    lock.unlock();
}

void close_first_receiver() noexcept { take_no_more(first_receiver); }

signal_set pending_for(const receiver &r) noexcept {
    return r.sent.pending.load(std::memory_order_relaxed) | process.pending.load(std::memory_order_relaxed);
}

namespace {

bool first_takes() noexcept {
    return is_first_there.load(std::memory_order_relaxed) && first_receiver.context.load(std::memory_order_relaxed);
}

// Those of the process's that are left to the first thread, as the kernel wakes that first: it may be the only one that
// looks for what the handler has noted, where its wait ends (Python's). Not any more when it has had its time for them.
std::atomic<signal_set> may_be_anybodys{0}; // written under the lock
signal_set left_to_first() noexcept {
    return first_takes() ? ~first_receiver.blocked.load(std::memory_order_relaxed) &
                               ~may_be_anybodys.load(std::memory_order_relaxed)
                         : 0;
}

signal_set due_for(const receiver &r) noexcept {
    signal_set of_process = process.pending.load(std::memory_order_relaxed);
    if (of_process != 0 && &r != &first_receiver) of_process &= ~left_to_first();
    return (of_process | r.sent.pending.load(std::memory_order_relaxed)) & ~r.blocked.load(std::memory_order_relaxed);
}

// With the lock.
int enqueue_for_process(const siginfo_t &info) noexcept {
    may_be_anybodys.fetch_and(~set_of(info.si_signo), std::memory_order_relaxed);
    return enqueue(process, info);
}

} // namespace

void leave_to_anybody_after(std::int64_t ns) noexcept {
    static std::int64_t since = 0; // the router's
    const signal_set left = process.pending.load(std::memory_order_relaxed) & left_to_first();
    // Where it waits at an object of ours it looks as soon as it has a hart again.
    const bool looks = left == 0 || first_receiver.waits_at.load(std::memory_order_relaxed);
    const std::int64_t now = looks ? 0 : sys::now_ns();
    if (looks || since == 0) {
        since = now;
    } else if (now - since > ns) {
        lock.lock();
        may_be_anybodys.fetch_or(left, std::memory_order_relaxed);
        lock.unlock();
    }
}

bool has_given_away(const receiver &r) noexcept {
    return &r == &first_receiver && (due_for(r) & may_be_anybodys.load(std::memory_order_relaxed)) != 0;
}

bool is_due(const receiver &r) noexcept { return due_for(r) != 0; }

bool take(receiver &r, signal_set of, siginfo_t &info) noexcept {
    lock.lock();
    const signal_set own = r.sent.pending.load(std::memory_order_relaxed) & of;
    const signal_set there = own ? own : process.pending.load(std::memory_order_relaxed) & of;
    if (there) dequeue(own ? r.sent : process, std::countr_zero(there) + 1, info);
    lock.unlock();
    return there != 0;
}

void forget_pending(int signal) noexcept {
    const auto drop = [](signal_queue &q, int which) {
        if (!(q.pending.load(std::memory_order_relaxed) & set_of(which))) return;
        siginfo_t gone;
        lock.lock();
        while (q.pending.load(std::memory_order_relaxed) & set_of(which)) dequeue(q, which, gone);
        lock.unlock();
    };
    static constexpr auto drop_all = drop;
    drop(process, signal);
    drop(first_receiver.sent, signal);
    visit_threads([](thread &t, void *which) { return drop_all(t.signals.sent, *static_cast<int *>(which)), false; },
                  &signal);
}

namespace {

// Has the stack been left on which this stands, now that the stack pointer is there? On the signal stack is what was
// called last.
bool is_left(const receiver &r, const void *what, std::uintptr_t sp) noexcept {
    const auto address = reinterpret_cast<std::uintptr_t>(what);
    const bool was_there = is_on(r.alternate, address), is_there = is_on(r.alternate, sp);
    return was_there == is_there ? address < sp : was_there;
}

} // namespace

void leave_handlers_below(receiver &r, std::uintptr_t sp) noexcept {
    while (running_handler *h = r.handlers.load(std::memory_order_relaxed)) {
        if (!is_left(r, h, sp)) break;
        r.handlers.store(h->outer, std::memory_order_relaxed);
        r.blocked.store(h->blocked, std::memory_order_relaxed);
        r.base = h->base;
        r.call = h->call;
    }
    const interruptible_call *const before = r.call;
    while (r.call && is_left(r, r.call, sp)) leave_call(r);
    if (r.call != before && current_thread) note_cancellation(current_thread);
    while (left_by_jump *half_done = r.half_done) {
        if (!is_left(r, half_done, sp)) break;
        r.half_done = half_done->outer();
        half_done->undo();
    }
}

void leave_call(receiver &r) noexcept {
    const interruptible_call &c = *r.call;
    if (c.is_librarys) r.base = c.base;
    r.call = c.outer;
    sys::comity_writes_in_parts = r.call && r.call->is_librarys;
}

namespace {

bool take_due(receiver &r, taken &t) noexcept {
    const signal_set due = due_for(r);
    if (due == 0 || !take(r, due, t.info)) return false;
    t.action = take_action(t.info.si_signo);
    return true;
}

} // namespace

// In an interruption, while a fork is under way, the rest is left to the router, which has the receiver in its list or
// the signal in the process's queue.
void deliver(receiver &r, const sys::interruption *at) {
    const sys::errno_kept kept;
    for (taken t; is_due(r);) {
        if (at && !core::enter_fork_gate()) return ring_router();
        const bool is_there = take_due(r, t);
        if (at) core::leave_fork_gate();
        if (!is_there) return;
        handle(r, t, at);
    }
}

int send(receiver &r, const siginfo_t &info) noexcept {
    lock.lock();
    const int error = enqueue(r.sent, info);
    lock.unlock();
    if (error == 0 && &r != receiver_here()) see_to(r);
    if (error == 0 && (wanted_by_descriptors() & set_of(info.si_signo)) && serve_descriptors()) ring_router();
    return error;
}

// What ends or stops the process does so at once, whatever its threads are at, if one of them does not block it; unless
// one waits for it.
static bool ends_process(int signal) noexcept {
    const auto awaits = [](receiver &r, void *one) {
        return (r.awaits.load(std::memory_order_relaxed) & *static_cast<signal_set *>(one)) != 0;
    };
    const auto lets_it_in = [](receiver &r, void *one) {
        return !(r.blocked.load(std::memory_order_relaxed) & *static_cast<signal_set *>(one));
    };
    signal_set one = set_of(signal);
    return acts_by_default(signal) && !visit_receivers(awaits, &one) && visit_receivers(lets_it_in, &one);
}

int send_to_process(const siginfo_t &info) noexcept {
    if (ends_process(info.si_signo)) return act_by_default(info.si_signo), 0;
    lock.lock();
    const int error = enqueue_for_process(info);
    lock.unlock();
    if (wanted_by_descriptors() & set_of(info.si_signo)) (void)serve_descriptors();
    ring_router();
    return error;
}

// Who waits has said where before it looked whether anything is there, with a fence in between.
void wake(const receiver &r) noexcept {
    std::atomic_thread_fence(std::memory_order_seq_cst); // seq_cst[address]
    if (const void *address = r.waits_at.load(std::memory_order_relaxed)) sync::wake_all_at(address);
}

void rouse(const receiver &r) noexcept {
    wake(r);
    if (const core::context *c = r.context.load(std::memory_order_relaxed)) core::interrupt(c);
}

void see_to_once(receiver &r) noexcept {
    lock.lock();
    if (std::find(listed.all, listed.all + listed.number, &r) == listed.all + listed.number &&
        listed.number < listed_receivers::most)
        listed.all[listed.number++] = &r;
    lock.unlock();
    rouse(r);
}

void see_to(receiver &r) noexcept {
    see_to_once(r);
    ring_router();
}

void take_listed(listed_receivers &to) noexcept {
    lock.lock();
    to = listed;
    listed.number = 0;
    lock.unlock();
}

bool visit_receivers(bool (*visit)(receiver &, void *), void *argument) noexcept {
    if (first_takes() && visit(first_receiver, argument)) return true;
    struct both {
        bool (*visit)(receiver &, void *);
        void *argument;
    } own{visit, argument};
    return visit_threads(
        [](thread &t, void *a) {
            const both &to = *static_cast<both *>(a);
            return t.signals.context.load(std::memory_order_relaxed) && to.visit(t.signals, to.argument);
        },
        &own);
}

namespace {

// From this queue into descriptors; what does not fit stays.
void move_to_descriptors(signal_queue &q, signal_set of) noexcept {
    while (const signal_set there = q.pending.load(std::memory_order_relaxed) & of) {
        siginfo_t info;
        const int signal = std::countr_zero(there) + 1;
        lock.lock();
        const bool is_there = q.pending.load(std::memory_order_relaxed) & set_of(signal);
        if (is_there) dequeue(q, signal, info);
        lock.unlock();
        if (!is_there || put_into_descriptor(info)) continue;
        of &= ~set_of(signal);
        lock.lock();
        put_back(q, info);
        lock.unlock();
    }
}

} // namespace

bool serve_descriptors() noexcept {
    struct served {
        signal_set of_process; // what nobody takes
        bool stays;
    } s{wanted_by_descriptors(), false};
    if (s.of_process == 0) return false;
    serving.lock();
    static constexpr auto move_own = [](receiver &r, served &to) {
        const signal_set wanted = wanted_by_descriptors(),
                         takes = ~r.blocked.load(std::memory_order_relaxed) | r.awaits.load(std::memory_order_relaxed);
        move_to_descriptors(r.sent, wanted & ~takes);
        to.of_process &= ~takes;
        to.stays |= (r.sent.pending.load(std::memory_order_relaxed) & wanted) != 0;
    };
    if (first_takes()) move_own(first_receiver, s);
    // Those that have not started, too: they take what is there as they start.
    visit_threads([](thread &t, void *to) { return move_own(t.signals, *static_cast<served *>(to)), false; }, &s);
    move_to_descriptors(process, s.of_process);
    serving.unlock();
    return s.stays || (process.pending.load(std::memory_order_relaxed) & wanted_by_descriptors());
}

// One that the kernel has brought to a kernel thread of the program's while it executes the program's code.
bool on_arrival_in_program(const sys::interruption &i, const siginfo_t &info) {
    receiver *r = interrupted_receiver();
    if (!r || !may_handle(*r, i)) return false;
    leave_handlers_below(*r, i.sp);
    if (!core::enter_fork_gate()) return false;
    lock.lock();
    const int error = is_of_who_causes_it(info.si_signo) ? enqueue(r->sent, info) : enqueue_for_process(info);
    lock.unlock();
    taken first;
    const bool is_there = error == 0 && take_due(*r, first);
    core::leave_fork_gate();
    if (error != 0) return false;
    const std::uint32_t before = r->handled_without_restart;
    if (is_there) handle(*r, first, &i);
    deliver(*r, &i);
    end_call(*r, i, r->handled_without_restart != before);
    if (process.pending.load(std::memory_order_relaxed)) ring_router();
    return true;
}

} // namespace comity::posix
