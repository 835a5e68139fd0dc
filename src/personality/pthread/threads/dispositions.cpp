// What is to be done with each signal; and the router, a kernel thread that finds a thread for what the kernel brings
// to the process, and sees to it that whoever was sent something takes it.
#include "core/alone.hpp"
#include "core/callbacks.hpp"
#include "core/carrier.hpp"
#include "core/displacement.hpp"
#include "core/spinlock.hpp"
#include "personality/pthread/threads/faults.hpp"
#include "personality/pthread/threads/object.hpp"
#include "personality/pthread/threads/signals.hpp"
#include "personality/pthread/threads/vfork.hpp"
#include "sys/errno_kept.hpp"
#include "sys/futex.hpp"
#include "sys/kernel_thread.hpp"
#include "sys/message.hpp"
#include "sys/signals.hpp"

#include <utility>

#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

namespace comity::posix {

__thread std::uint32_t handled_on_kernel_thread __attribute__((tls_model("initial-exec"))) = 0;
__thread const void *innermost_call __attribute__((tls_model("initial-exec"))) = nullptr;
__thread std::uintptr_t handler_amid_comity __attribute__((tls_model("initial-exec"))) = 0;

namespace {

COMITY_NEXT_SYMBOL next<int (*)(int, const struct sigaction *, struct sigaction *)> next_sigaction{
    sigaction_of_c_library};
COMITY_NEXT_SYMBOL next<long (*)(long, ...)> next_syscall{"syscall"};

core::spinlock lock;                             // of these:
struct sigaction actions[number_of_signals + 1]; // of the claimed ones
std::atomic<signal_set> claimed{0};              // written under the lock
std::atomic<bool> routing{false};

// Brought by the kernel, and not seen by the router yet. Written by handlers anywhere, which may hold any lock below.
struct arrival {
    enum : std::uint32_t { free, filling, full };
    std::atomic<std::uint32_t> state{free};
    pid_t process = 0; // the child of a fork has its parent's slots
    siginfo_t info{};
};
constexpr unsigned most_arrivals = 128;
arrival arrivals[most_arrivals];
std::atomic<std::uint32_t> bell{0};
std::atomic<bool> router_runs{false};
std::atomic<bool> router_is_to_end{false}; // the router takes it back when it ends

void ring() noexcept {
    bell.fetch_add(1, std::memory_order_release); // release[posix-router]
    sys::futex_wake(bell);
}

// Of a real-time signal more than fit are lost, as where the kernel has no room.
void note_arrival(const siginfo_t &info) noexcept {
    for (arrival &a : arrivals) {
        std::uint32_t expected = arrival::free;
        if (!a.state.compare_exchange_strong(expected, arrival::filling, std::memory_order_acquire, // acquire[arrival]
                                             std::memory_order_relaxed))
            continue;
        a.info = info;
        a.process = ::getpid();
        a.state.store(arrival::full, std::memory_order_release); // release[arrival]
        return;
    }
}

// What abort() raises, and expects to be handled when that returns?
bool is_of_abort(const siginfo_t &info) noexcept {
    return info.si_signo == SIGABRT && info.si_code == SI_TKILL && info.si_pid == ::getpid();
}

// A signal for a kernel thread alone, on which there is none that Comity sends signals: one that the C library made for
// the program (for a bound scope, say), or a rank, which may have raised it.
bool is_for_this_kernel_thread(const siginfo_t &info, const sys::interruption &i) noexcept {
    if (info.si_code != SI_TKILL) return false;
    const core::context *c = core::current_context();
    return !c || (!receiver_here() && (c->home || !core::is_protected_code(i.pc)));
}

bool is_handler(const struct sigaction &a) noexcept {
    return (a.sa_flags & SA_SIGINFO) || (a.sa_handler != SIG_DFL && a.sa_handler != SIG_IGN);
}

// While a handler runs amid Comity's code nothing switches: what was interrupted may hold a lock, or be half in a list.
class amid_comity {
public:
    explicit amid_comity(const sys::interruption &i) noexcept
        : k_(is_amid_comity() ? nullptr : core::current_carrier()) {
        if (k_ && (k_->settled || !core::stands_amid_comity(i))) k_ = nullptr;
        if (!k_) return;
        handler_amid_comity = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
        k_->settled = true;
        std::atomic_signal_fence(std::memory_order_seq_cst); // with the handler of displacement: seq_cst[settled]
    }
    ~amid_comity() {
        if (k_) leave_handler_amid_comity(UINTPTR_MAX);
    }
    amid_comity(const amid_comity &) = delete;
    amid_comity &operator=(const amid_comity &) = delete;

private:
    core::carrier *k_;
};

void handle_here(siginfo_t info, const sys::interruption &i) {
    ++handled_on_kernel_thread;
    const amid_comity here(i);
    const bool in_call = i.sp <= reinterpret_cast<std::uintptr_t>(innermost_call);
    const struct sigaction a = take_action(info.si_signo);
    sys::open_signals(i);
    if (a.sa_flags & SA_SIGINFO)
        a.sa_sigaction(info.si_signo, &info, i.frame);
    else if (a.sa_handler == SIG_DFL)
        act_by_default(info.si_signo);
    else if (a.sa_handler != SIG_IGN)
        a.sa_handler(info.si_signo);
    sys::close_signals(i);
    // To the kernel all handlers are set up so that calls begin anew.
    if (in_call && is_handler(a) && !(a.sa_flags & SA_RESTART)) sys::end_call(i);
}

// On whatever kernel thread the kernel has chosen.
void on_arrival(int, siginfo_t *info, void *frame) {
    const sys::errno_kept kept;
    const sys::interruption i = sys::interruption_at(frame);
    // Until the first thread takes what the process is sent, that is handled where the kernel brings it.
    const bool is_routed_on = routing.load(std::memory_order_relaxed);
    if (is_of_abort(*info) || (!is_routed_on && !is_of_who_causes_it(info->si_signo))) return handle_here(*info, i);
    if (on_arrival_in_program(i, *info)) return;
    if (is_for_this_kernel_thread(*info, i) || !is_routed_on) return handle_here(*info, i);
    ++sys::comity_interruptions; // it is another's
    note_arrival(*info);
    ring();
}

} // namespace

void leave_handler_amid_comity(std::uintptr_t sp) noexcept {
    if (!is_amid_comity() || handler_amid_comity >= sp) return;
    handler_amid_comity = 0;
    std::atomic_signal_fence(std::memory_order_seq_cst); // seq_cst[settled]
    core::current_carrier()->settled = core::stays_in_handler;
}

void take_arrivals() noexcept {
    for (arrival &a : arrivals) {
        std::uint32_t expected = arrival::full;
        if (!a.state.compare_exchange_strong(expected, arrival::filling, std::memory_order_acquire, // acquire[arrival]
                                             std::memory_order_relaxed))
            continue;
        const siginfo_t info = a.info;
        a.state.store(arrival::free, std::memory_order_release); // release[arrival]
        (void)send_to_process(info);
    }
}

namespace {

// ---- The router

// True: somebody was roused who can take one of the process's, so it is to be looked at again.
bool rouse_somebody() noexcept {
    const auto waits = [](receiver &r, void *) {
        const bool takes = (pending_for(r) & r.awaits.load(std::memory_order_relaxed)) != 0;
        if (takes) rouse(r);
        return takes;
    };
    const auto takes_it = [](receiver &r, void *) {
        const bool takes = is_due(r);
        if (takes) rouse(r);
        return takes && !has_given_away(r);
    };
    return visit_receivers(waits, nullptr) || visit_receivers(takes_it, nullptr);
}

bool rouse_listed() noexcept {
    bool any = false;
    static constinit listed_receivers listed; // the router's
    take_listed(listed);
    for (unsigned i = 0; i < listed.number; ++i) {
        receiver *r = listed.all[i];
        const bool cancelled = is_to_be_cancelled(*r);
        const bool due =
            cancelled || is_due(*r) || (pending_for(*r) & r->awaits.load(std::memory_order_relaxed)) ||
            (r->sent.pending.load(std::memory_order_relaxed) && r->handlers.load(std::memory_order_relaxed));
        if (!due || !r->context.load(std::memory_order_relaxed)) continue;
        see_to_once(*r);
        any = true;
    }
    return any;
}

void *route(void *) {
    sys::name_kernel_thread("comity-signals");
    constexpr std::int64_t shortest = 1'000'000, longest = 64'000'000, patience = 20'000'000;
    std::int64_t pause = shortest;
    for (std::uint32_t seen = bell.load(std::memory_order_acquire);;) { // acquire[posix-router]
        take_arrivals();
        if (router_is_to_end.load(std::memory_order_relaxed)) {
            router_runs.store(false, std::memory_order_relaxed);
            router_is_to_end.store(false, std::memory_order_release); // release[posix-router-ends]
            return nullptr;
        }
        leave_to_anybody_after(patience);
        const bool stays = serve_descriptors(), somebody = rouse_somebody(), any = rouse_listed() || somebody || stays;
        const std::uint32_t now = bell.load(std::memory_order_acquire); // acquire[posix-router]
        if (now == seen) {
            (void)sys::futex_wait(bell, seen, any ? sys::deadline_in(pause) : sys::no_deadline);
            pause = pause < longest ? pause * 2 : pause;
        } else {
            pause = shortest;
        }
        seen = now;
    }
}

// ---- Claims

// What the program has set for a signal that is not claimed.
bool look_up(int signal, struct sigaction &a) noexcept {
    if (signal == SIGURG && sys::programs_action_on_interruptions(a)) return true;
    return next_sigaction.get()(signal, nullptr, &a) == 0;
}

bool ignored_by_default(int signal) noexcept {
    return signal == SIGCHLD || signal == SIGCONT || signal == SIGWINCH || signal == SIGURG;
}
bool stops_by_default(int signal) noexcept { return signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU; }

bool is_ignored(const struct sigaction &a, int signal) noexcept {
    return !is_handler(a) && (a.sa_handler == SIG_IGN || ignored_by_default(signal));
}

// It interrupts no call that can begin anew, and runs on the stack on which it finds the thread, which may go on
// elsewhere before it returns. Nothing interrupts it.
struct sigaction ours(const struct sigaction &programs) noexcept {
    struct sigaction a {};
    a.sa_sigaction = on_arrival;
    a.sa_flags = SA_SIGINFO | SA_RESTART | (programs.sa_flags & (SA_NOCLDSTOP | SA_NOCLDWAIT));
    sigfillset(&a.sa_mask);
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS}) sigdelset(&a.sa_mask, fault);
    return a;
}

// The kernel's action for a claimed signal. That for SIGURG stays what interrupts threads.
int set(int signal, const struct sigaction &programs) noexcept {
    if (signal == SIGURG) return sys::pass_other_signals(on_arrival) ? 0 : -1;
    const bool ignores = !is_handler(programs) && programs.sa_handler == SIG_IGN;
    const struct sigaction a = ignores ? programs : ours(programs);
    return next_sigaction.get()(signal, &a, nullptr);
}

void start_router() noexcept {
    if (router_runs.exchange(true, std::memory_order_relaxed)) return;
    constexpr std::size_t stack = 128 << 10;
    if (sys::start_kernel_thread(route, nullptr, stack) != 0) router_runs.store(false, std::memory_order_relaxed);
}

void end_router() noexcept {
    router_is_to_end.store(true, std::memory_order_relaxed);
    ring();
    while (router_is_to_end.load(std::memory_order_acquire) && router_runs.load(std::memory_order_relaxed))
        sys::yield_kernel_thread(); // acquire[posix-router-ends]
    router_is_to_end.store(false, std::memory_order_relaxed);
}

void begin_router() noexcept {
    start_router();
    ring(); // for what has come meanwhile
}

core::helper router{[]() noexcept -> unsigned { return router_runs.load(std::memory_order_relaxed) ? 1 : 0; },
                    end_router, begin_router};
__attribute__((constructor)) void tell_of_router() noexcept { core::add_helper(router); }

} // namespace

bool is_routed(int signal) noexcept {
    switch (signal) {
    case SIGSEGV:
    case SIGBUS:
    case SIGFPE:
    case SIGILL:
    case SIGTRAP:
    case SIGSYS:
    case SIGKILL:
    case SIGSTOP:
        return false;
    default:
        return signal >= 1 && signal <= number_of_signals && (signal < 32 || signal >= SIGRTMIN);
    }
}

bool is_any_claimed() noexcept { return claimed.load(std::memory_order_relaxed) != 0; }

bool may_be_signalled() noexcept { return is_any_claimed() && receiver_here(); }

bool is_claimed(int signal) noexcept { return claimed.load(std::memory_order_relaxed) & set_of(signal); }

void claim(signal_set s) noexcept {
    s &= ~claimed.load(std::memory_order_relaxed);
    if (s == 0) return;
    for (int i = 1; i <= number_of_signals; ++i) {
        if (!(s & set_of(i)) || !is_routed(i)) continue;
        lock.lock();
        if (!is_claimed(i) && look_up(i, actions[i])) {
            (void)set(i, actions[i]);
            claimed.store(claimed.load(std::memory_order_relaxed) | set_of(i), std::memory_order_relaxed);
        }
        lock.unlock();
    }
    start_router();
}

struct sigaction take_action(int signal) noexcept {
    lock.lock();
    struct sigaction a {};
    if (is_claimed(signal))
        a = actions[signal];
    else
        (void)look_up(signal, a);
    if (is_handler(a) && (a.sa_flags & SA_RESETHAND)) {
        struct sigaction usual {};
        usual.sa_handler = SIG_DFL;
        if (is_claimed(signal))
            actions[signal] = usual;
        else if (signal != SIGURG) // which stays ours
            (void)next_sigaction.get()(signal, &usual, nullptr);
    }
    lock.unlock();
    return a;
}

bool acts_by_default(int signal) noexcept {
    lock.lock();
    const bool does = is_claimed(signal) && !is_handler(actions[signal]) && !is_ignored(actions[signal], signal);
    lock.unlock();
    return does;
}

void act_by_default(int signal) noexcept {
    if (ignored_by_default(signal)) return;
    if (stops_by_default(signal)) {
        sys::signal_kernel_thread(sys::kernel_thread_id(), SIGSTOP); // the process stops
        return;
    }
    struct sigaction usual {};
    usual.sa_handler = SIG_DFL;
    next_sigaction.get()(signal, &usual, nullptr);
    sys::unblock_signal(signal);
    next_syscall.get()(SYS_tgkill, ::getpid(), sys::kernel_thread_id(), signal); // past ours, which asks whose id it is
}

void leave_defaults_to_kernel() noexcept {
    struct sigaction usual {};
    usual.sa_handler = SIG_DFL;
    for (int i = 1; i <= number_of_signals; ++i)
        if (acts_by_default(i)) (void)next_sigaction.get()(i, &usual, nullptr);
}
void take_defaults_again() noexcept {
    for (int i = 1; i <= number_of_signals; ++i) {
        lock.lock();
        if (is_claimed(i)) (void)set(i, actions[i]);
        lock.unlock();
    }
}

void start_routing() noexcept {
    if (routing.exchange(true, std::memory_order_relaxed)) return;
    signal_set with_handlers = 0;
    for (int i = 1; i <= number_of_signals; ++i) {
        struct sigaction a {};
        if (is_routed(i) && look_up(i, a) && is_handler(a)) with_handlers |= set_of(i);
    }
    claim(with_handlers);
    take_over_faults();
}

void stop_routing() noexcept { routing.store(false, std::memory_order_relaxed); }

void ring_router() noexcept {
    start_router();
    ring();
}

void lock_routing() noexcept { lock.lock(); }
void unlock_routing() noexcept { lock.unlock(); }

void routing_after_fork() noexcept {
    router_runs.store(false, std::memory_order_relaxed);
    for (arrival &a : arrivals)
        if (a.state.load(std::memory_order_relaxed) != arrival::full || a.process != ::getpid())
            a.state.store(arrival::free, std::memory_order_relaxed);
}

namespace {

// By the kernel alone; what the child has not set is as in its parent.
int set_in_child(int signal, const struct sigaction *to, struct sigaction *before) noexcept {
    vforked_child &c = this_vforked_child();
    struct sigaction was {};
    if (!look_up(signal, was) || next_sigaction.get()(signal, to, nullptr) != 0) return -1;
    lock.lock();
    if (before) *before = is_claimed(signal) && !(c.actions & set_of(signal)) ? actions[signal] : was;
    lock.unlock();
    if (to) c.actions |= set_of(signal);
    return 0;
}

} // namespace

} // namespace comity::posix

using namespace comity::posix;

COMITY_INTERPOSED int sigaction(int signal, const struct sigaction *to, struct sigaction *before) noexcept {
    if (routing.load(std::memory_order_relaxed) && is_fault(signal) && !in_vforked_child())
        return set_fault_action(signal, to, before);
    if (!is_routed(signal)) return next_sigaction.get()(signal, to, before);
    if (!routing.load(std::memory_order_relaxed) && !is_claimed(signal)) {
        const int result = next_sigaction.get()(signal, to, before);
        if (result != 0 || !to || !(routing.load(std::memory_order_relaxed) || is_claimed(signal))) return result;
        before = nullptr; // it has become Comity's meanwhile
    }
    if (in_vforked_child()) return set_in_child(signal, to, before);
    if (to && routing.load(std::memory_order_relaxed)) claim(set_of(signal));
    lock.lock();
    struct sigaction was {};
    int result = 0;
    if (is_claimed(signal)) {
        was = actions[signal];
        if (to) {
            actions[signal] = *to;
            result = set(signal, *to);
        }
    } else {
        result = look_up(signal, was) ? 0 : -1;
    }
    lock.unlock();
    if (result == 0 && to && is_claimed(signal) && is_ignored(*to, signal)) forget_pending(signal);
    if (before) *before = was;
    return result;
}

COMITY_ALSO_NAMED(__sigaction, sigaction);
