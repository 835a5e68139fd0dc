// Sending signals, masks, and waiting for signals.
#include "personality/pthread/threads/faults.hpp"
#include "personality/pthread/threads/kernel_state.hpp"
#include "personality/pthread/threads/signals.hpp"
#include "personality/pthread/threads/thread.hpp"
#include "personality/pthread/threads/vfork.hpp"

#include <unistd.h>

namespace comity::posix {

namespace {

COMITY_NEXT_SYMBOL next<int (*)(pthread_t, int)> next_kill{"pthread_kill"};
COMITY_NEXT_SYMBOL next<int (*)(pthread_t, int, sigval)> next_sigqueue{"pthread_sigqueue"};
COMITY_NEXT_SYMBOL next<int (*)(pid_t, int)> next_process_kill{"kill"};
COMITY_NEXT_SYMBOL next<int (*)(pid_t, int, sigval)> next_process_sigqueue{"sigqueue"};
COMITY_NEXT_SYMBOL next<int (*)(int)> next_raise{"raise"};
COMITY_NEXT_SYMBOL next<int (*)(int, const sigset_t *, sigset_t *)> next_sigmask{"pthread_sigmask"};
COMITY_NEXT_SYMBOL next<int (*)(const sigset_t *, siginfo_t *, const timespec *)> next_sigtimedwait{"sigtimedwait"};
COMITY_NEXT_SYMBOL next<int (*)(const sigset_t *, int *)> next_sigwait{"sigwait"};
COMITY_NEXT_SYMBOL next<int (*)(const sigset_t *)> next_sigsuspend{"sigsuspend"};
COMITY_NEXT_SYMBOL next<int (*)()> next_pause{"pause"};
COMITY_NEXT_SYMBOL next<int (*)(sigset_t *)> next_sigpending{"sigpending"};
COMITY_NEXT_SYMBOL next<int (*)(const stack_t *, stack_t *)> next_sigaltstack{"sigaltstack"};

int fail(int error) noexcept {
    errno = error;
    return -1;
}

bool is_signal(int signal) noexcept { return signal >= 0 && signal <= SIGRTMAX && (signal < 32 || signal >= SIGRTMIN); }

void put(signal_set s, sigset_t *to) noexcept {
    sigemptyset(to);
    *reinterpret_cast<signal_set *>(to) = s;
}

// A signal to a thread of ours: 0 or an error number. What is for the caller is delivered before this returns.
int send_to(thread *t, int signal, int code, sigval value) noexcept {
    if (!is_signal(signal)) return EINVAL;
    int error = 0;
    {
        const alive target(t);
        if (!target) return target.is_known() ? 0 : ESRCH;
        if (signal != 0) error = send(t->signals, info_of(signal, code, value));
    }
    if (t == current_thread) deliver_here();
    return error;
}

// The whole process, as kill. True: it was for us; `result` is an error number.
bool send_to_own_process(pid_t pid, int signal, int code, sigval value, int &result) {
    receiver *r = settled_receiver_here();
    if (!r || pid != ::getpid() || signal == 0 || !is_routed(signal) || !is_claimed(signal) || in_vforked_child())
        return false;
    struct sigaction now {};
    sigaction(signal, nullptr, &now);
    result = 0;
    const bool blocked = r->blocked.load(std::memory_order_relaxed) & set_of(signal);
    if (!blocked && !(now.sa_flags & SA_SIGINFO) && now.sa_handler == SIG_IGN) return true;
    result = send_to_process(info_of(signal, code, value));
    deliver_here();
    return true;
}

// The child of a vfork has a kernel thread of its own, which has its mask from the first change on.
int change_mask_of_child(const receiver &parents, int how, const sigset_t *to, sigset_t *before) noexcept {
    vforked_child &c = this_vforked_child();
    if (!c.has_mask) {
        sigset_t now;
        put(parents.blocked.load(std::memory_order_relaxed), &now);
        next_sigmask.get()(SIG_SETMASK, &now, nullptr);
        c.has_mask = true;
    }
    return next_sigmask.get()(how, to, before);
}

int change_mask(receiver &r, int how, const sigset_t *to, sigset_t *before) noexcept {
    const signal_set was = r.blocked.load(std::memory_order_relaxed);
    if (to) {
        const signal_set s = set_of(to);
        signal_set now = 0;
        switch (how) {
        case SIG_BLOCK:
            now = was | s;
            break;
        case SIG_UNBLOCK:
            now = was & ~s;
            break;
        case SIG_SETMASK:
            now = s;
            break;
        default:
            return EINVAL;
        }
        now &= ~never_blocked;
        claim(now);
        r.blocked.store(now, std::memory_order_relaxed);
    }
    if (before) put(was, before);
    return 0;
}

class awaits_for_now final : left_by_jump {
public:
    awaits_for_now(receiver &r, signal_set s) noexcept
        : left_by_jump(&r), r_(r), before_(r.awaits.load(std::memory_order_relaxed)) {
        r.awaits.store(s, std::memory_order_relaxed);
    }
    ~awaits_for_now() { undo(); }
    void undo() noexcept final { r_.awaits.store(before_, std::memory_order_relaxed); }

private:
    receiver &r_;
    signal_set before_;
};

// Until one of the set is there, or a handler has run, or the deadline has passed.
signalled_wait await(receiver &r, signal_set s, std::int64_t deadline) {
    const awaits_for_now here(r, s);
    const auto there = [&r, s]() noexcept { return (pending_for(r) & s) != 0; };
    return wait_or_signal<true>(&r, there, deadline);
}

// The signal, or minus an error number.
int wait_for_signal(receiver &r, const sigset_t *set, siginfo_t *info, std::int64_t deadline, bool goes_on) {
    const signal_set s = set_of(set) & ~never_blocked;
    claim(s);
    siginfo_t own;
    for (;;) {
        come_home();
        test_cancel();
        if (take(r, s, own)) break;
        switch (await(r, s, deadline)) {
        case signalled_wait::cancelled:
            act_upon(signalled_wait::cancelled);
            break;
        case signalled_wait::signalled:
            if (!goes_on) return -EINTR;
            break;
        case signalled_wait::late:
            return -EAGAIN;
        case signalled_wait::done:
            break;
        }
    }
    if (info) *info = own;
    return own.si_signo;
}

// Until a handler has run.
int wait_for_handler(receiver &r) {
    const std::uint32_t seen = r.handled;
    while (r.handled == seen) {
        come_home();
        test_cancel();
        if (await(r, 0, sys::no_deadline) == signalled_wait::cancelled) act_upon(signalled_wait::cancelled);
    }
    return fail(EINTR);
}

} // namespace

mask_for_now::mask_for_now(receiver &r, const sigset_t *mask) noexcept
    : r_(r), before_(r.blocked.load(std::memory_order_relaxed)) {
    const signal_set s = set_of(mask) & ~never_blocked;
    claim(s);
    r.blocked.store(s, std::memory_order_relaxed);
}

siginfo_t info_of(int signal, int code, sigval value) noexcept {
    siginfo_t i{};
    i.si_signo = signal;
    i.si_code = code;
    i.si_pid = ::getpid();
    i.si_uid = ::getuid();
    i.si_value = value;
    return i;
}

} // namespace comity::posix

using namespace comity::posix;
using comity::posix::thread;

// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): glibc's names are reserved ones

COMITY_INTERPOSED int pthread_kill(pthread_t t, int signal) noexcept {
    thread *own = thread_of(t);
    if (own) return send_to(own, signal, SI_TKILL, {});
    receiver *first = first_receiver_if(t);
    if (!first || !is_signal(signal) || signal == 0 || !is_claimed(signal)) return next_kill.get()(t, signal);
    const int error = send(*first, info_of(signal, SI_TKILL));
    if (first == receiver_here()) deliver_here();
    return error;
}

COMITY_INTERPOSED int pthread_sigqueue(pthread_t t, int signal, const sigval value) noexcept {
    thread *own = thread_of(t);
    if (own) return send_to(own, signal, SI_QUEUE, value);
    receiver *first = first_receiver_if(t);
    if (!first || !is_signal(signal) || signal == 0 || !is_claimed(signal))
        return next_sigqueue.get()(t, signal, value);
    const int error = send(*first, info_of(signal, SI_QUEUE, value));
    if (first == receiver_here()) deliver_here();
    return error;
}

COMITY_INTERPOSED int raise(int signal) noexcept {
    receiver *r = settled_receiver_here();
    if (!r || !is_signal(signal) || signal == 0 || !is_routed(signal) || in_vforked_child())
        return next_raise.get()(signal);
    const int error = send(*r, info_of(signal, SI_TKILL));
    deliver_here();
    return error == 0 ? 0 : fail(error);
}

COMITY_INTERPOSED int kill(pid_t pid, int signal) noexcept {
    int error = 0;
    if (!send_to_own_process(pid, signal, SI_USER, {}, error)) return next_process_kill.get()(pid, signal);
    return error == 0 ? 0 : fail(error);
}

COMITY_INTERPOSED int sigqueue(pid_t pid, int signal, const sigval value) noexcept {
    int error = 0;
    if (!send_to_own_process(pid, signal, SI_QUEUE, value, error))
        return next_process_sigqueue.get()(pid, signal, value);
    return error == 0 ? 0 : fail(error);
}

COMITY_INTERPOSED int pthread_sigmask(int how, const sigset_t *to, sigset_t *before) noexcept {
    receiver *r = settled_receiver_here();
    if (!r) return change_kernels_mask(next_sigmask.get(), how, to, before);
    if (in_vforked_child()) return change_mask_of_child(*r, how, to, before);
    const int error = change_mask(*r, how, to, before);
    deliver_here();
    return error;
}
COMITY_INTERPOSED int sigprocmask(int how, const sigset_t *to, sigset_t *before) noexcept {
    const int error = pthread_sigmask(how, to, before);
    return error == 0 ? 0 : fail(error);
}

COMITY_INTERPOSED int sigpending(sigset_t *set) noexcept {
    receiver *r = settled_receiver_here();
    const int result = next_sigpending.get()(set);
    if (result == 0 && r) put(set_of(set) | (pending_for(*r) & r->blocked.load(std::memory_order_relaxed)), set);
    return result;
}

COMITY_INTERPOSED int sigtimedwait(const sigset_t *set, siginfo_t *info, const timespec *timeout) {
    receiver *r = settled_receiver_here();
    if (!r) return next_sigtimedwait.get()(set, info, timeout);
    if (timeout && (!is_time(timeout) || timeout->tv_sec < 0)) return fail(EINVAL);
    const std::int64_t deadline = timeout ? comity::sys::deadline_in(nanoseconds(*timeout)) : comity::sys::no_deadline;
    const int result = wait_for_signal(*r, set, info, deadline, false);
    return result < 0 ? fail(-result) : result;
}
COMITY_INTERPOSED int sigwaitinfo(const sigset_t *set, siginfo_t *info) { return sigtimedwait(set, info, nullptr); }
COMITY_INTERPOSED int sigwait(const sigset_t *set, int *signal) {
    receiver *r = settled_receiver_here();
    if (!r) return next_sigwait.get()(set, signal);
    *signal = wait_for_signal(*r, set, nullptr, comity::sys::no_deadline, true);
    return 0;
}

COMITY_INTERPOSED int sigsuspend(const sigset_t *mask) {
    receiver *r = settled_receiver_here();
    if (!r) return next_sigsuspend.get()(mask);
    const mask_for_now masked(*r, mask);
    return wait_for_handler(*r);
}
COMITY_INTERPOSED int pause() {
    receiver *r = settled_receiver_here();
    return r ? wait_for_handler(*r) : next_pause.get()();
}

// Handlers of faults run there (faults.cpp), others on the stack of the thread.
COMITY_INTERPOSED int sigaltstack(const stack_t *to, stack_t *before) noexcept {
    thread *t = current_thread;
    if (!t) return next_sigaltstack.get()(to, before);
    stack_t was = t->signals.alternate;
    const bool is_in_use = is_on(was, reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)));
    if (to && is_in_use) return fail(EPERM);
    if (is_in_use) was.ss_flags |= SS_ONSTACK;
    if (to && !(to->ss_flags & SS_DISABLE) && to->ss_size < static_cast<std::size_t>(MINSIGSTKSZ)) return fail(ENOMEM);
    if (to) t->signals.alternate = *to;
    if (before) *before = was;
    return 0;
}

COMITY_ALSO_NAMED(__sigsuspend, sigsuspend);
COMITY_ALSO_NAMED(gsignal, raise);

// NOLINTEND(readability-inconsistent-declaration-parameter-name)
