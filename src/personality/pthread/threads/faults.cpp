// Handlers of faults on the thread's own signal stack (sigaltstack). The kernel knows only that of the kernel thread,
// and calls such a handler there; from there the signal's frame goes on to the thread's. README.md, "Signals".
#include "personality/pthread/threads/faults.hpp"
#include "core/spinlock.hpp"
#include "personality/pthread/threads/thread.hpp"
#include "sys/interruption.hpp"
#include "sys/message.hpp"
#include "sys/process.hpp"
#include "sys/signals.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <iterator>

#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

namespace comity::posix {

namespace {

COMITY_NEXT_SYMBOL next<int (*)(int, const struct sigaction *, struct sigaction *)> next_sigaction{
    sigaction_of_c_library};

core::spinlock lock;
struct sigaction programs[number_of_signals + 1]; // of the faults that on_fault handles; written under the lock

constexpr int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};

std::uintptr_t down(std::uintptr_t address, std::size_t alignment) noexcept { return address & ~(alignment - 1); }

// Where a thread's handler runs: below `top`. No room: on the kernel thread's signal stack, where the kernel has called
// it.
struct stack_room {
    std::uintptr_t top = 0;
    std::size_t room = 0;
};

// On its signal stack; but where it stands if it is there already, or has none, as by the kernel.
stack_room room_for(const thread &t, std::uintptr_t sp) noexcept {
    constexpr std::size_t red_zone = 128, overflowing = 64 << 10;
    const stack_t &s = t.signals.alternate;
    const auto bottom = reinterpret_cast<std::uintptr_t>(s.ss_sp);
    if (is_on(s, sp)) return {sp - red_zone, sp - red_zone - bottom};
    if (!(s.ss_flags & SS_DISABLE)) return {bottom + s.ss_size, s.ss_size};
    const auto own = reinterpret_cast<std::uintptr_t>(t.stack_bottom.load(std::memory_order_relaxed));
    if (sp - own >= t.stack_size || sp - own < overflowing) return {};
    return {sp - red_zone, sp - red_zone - own};
}

// A signal's frame that was copied: the kernel takes it for its own when the handler returns.
struct copy {
    siginfo_t *info = nullptr;
    ucontext_t *context = nullptr; // null: it cannot be copied
    std::uintptr_t sp = 0;         // the handler's
};

#if defined(__x86_64__)

// Of the floating-point state, which stands apart.
std::size_t state_size(const void *state) noexcept {
    constexpr std::size_t plain = 512, reserved_at = 464;
    constexpr std::uint32_t is_extended = 0x46505853;
    std::uint32_t reserved[2];
    std::memcpy(reserved, static_cast<const std::byte *>(state) + reserved_at, sizeof reserved);
    return reserved[0] == is_extended ? reserved[1] : plain;
}

copy copy_to(stack_room to, const siginfo_t *info, const ucontext_t *context, void *returns_to) noexcept {
    constexpr std::size_t kernels_size = offsetof(ucontext_t, uc_sigmask) + sizeof(std::uint64_t);
    constexpr std::size_t for_handler = 1024;
    const void *state = context->uc_mcontext.fpregs;
    const std::size_t size = state ? state_size(state) : 0;
    if (to.room < size + sizeof(siginfo_t) + sizeof(ucontext_t) + 128 + for_handler) return {};
    const std::uintptr_t state_at = down(to.top - size, 64), info_at = down(state_at - sizeof(siginfo_t), 16);
    copy c{reinterpret_cast<siginfo_t *>(info_at),
           reinterpret_cast<ucontext_t *>(down(info_at - sizeof(ucontext_t), 16)), 0};
    std::memcpy(reinterpret_cast<void *>(state_at), state, size);
    *c.info = *info;
    std::memcpy(static_cast<void *>(c.context), context, kernels_size);
    if (state) c.context->uc_mcontext.fpregs = reinterpret_cast<fpregset_t>(state_at);
    c.sp = reinterpret_cast<std::uintptr_t>(c.context) - sizeof(void *);
    *reinterpret_cast<void **>(c.sp) = returns_to;
    return c;
}

[[noreturn]] void jump_to(void (*f)(int, siginfo_t *, void *), int signal, const copy &c, void *) noexcept {
    asm volatile("movq %[sp], %%rsp\n\t"
                 "jmpq *%[f]"
                 :
                 : [sp] "r"(c.sp), [f] "r"(f), "D"(signal), "S"(c.info), "d"(c.context)
                 : "memory");
    __builtin_unreachable();
}

#elif defined(__aarch64__)

// Has it a part that stands apart?
bool has_more(const ucontext_t *context) noexcept {
    constexpr std::uint32_t extra = 0x45585401;
    const auto *room = reinterpret_cast<const std::byte *>(context->uc_mcontext.__reserved);
    std::uint32_t head[2]; // kind, size
    for (std::size_t at = 0; at + sizeof head <= sizeof context->uc_mcontext.__reserved; at += head[1]) {
        std::memcpy(head, room + at, sizeof head);
        if (head[0] == extra) return true;
        if (head[0] == 0 || head[1] == 0) break;
    }
    return false;
}

copy copy_to(stack_room to, const siginfo_t *info, const ucontext_t *context, void *) noexcept {
    struct frame {
        siginfo_t info;
        ucontext_t context;
    };
    constexpr std::size_t for_handler = 1024;
    if (to.room < sizeof(frame) + for_handler || has_more(context)) return {};
    auto *f = reinterpret_cast<frame *>(down(to.top - sizeof(frame), 16));
    f->info = *info;
    f->context = *context;
    return {&f->info, &f->context, reinterpret_cast<std::uintptr_t>(f)};
}

[[noreturn]] void jump_to(void (*f)(int, siginfo_t *, void *), int signal, const copy &c, void *returns_to) noexcept {
    register long first asm("x0") = signal;
    register siginfo_t *second asm("x1") = c.info;
    register ucontext_t *third asm("x2") = c.context;
    asm volatile("mov x30, %[to]\n\t"
                 "mov sp, %[sp]\n\t"
                 "br %[f]"
                 :
                 : [sp] "r"(c.sp), [f] "r"(f), [to] "r"(returns_to), "r"(first), "r"(second), "r"(third)
                 : "x30", "memory");
    __builtin_unreachable();
}

#endif

void call(int signal, siginfo_t *info, void *frame) {
    const struct sigaction a = programs[signal];
    if (a.sa_flags & SA_SIGINFO)
        a.sa_sigaction(signal, info, frame);
    else
        a.sa_handler(signal);
}

// The receiver's own mask has what the handler blocks, and the kernel thread's is open: others may come to run on that
// before the handler returns.
void call_for_receiver(int signal, siginfo_t *info, void *frame) {
    receiver &r = *receiver_here();
    const struct sigaction &a = programs[signal];
    const sys::interruption at = sys::interruption_at(frame);
    {
        const handler_runs h(r, set_of(&a.sa_mask) | (a.sa_flags & SA_NODEFER ? 0 : set_of(signal)));
        sys::open_signals(at);
        call(signal, info, frame);
    }
    if (is_due(r)) deliver(r);
    sys::close_signals(at);
}

void act_by_default_again(int signal) noexcept {
    struct sigaction usual {};
    usual.sa_handler = SIG_DFL;
    (void)next_sigaction.get()(signal, &usual, nullptr); // the instruction faults again
}

// Not for what was sent: the kernel has chosen a kernel thread for that, and perhaps one whose storage is lent.
void on_fault(int signal, siginfo_t *info, void *frame) {
    receiver *r = info->si_code > 0 ? receiver_here() : nullptr;
    if (!r) return call(signal, info, frame);
    const std::uintptr_t sp = sys::interruption_at(frame).sp;
    leave_handlers_below(*r, sp);
    if (r->blocked.load(std::memory_order_relaxed) & set_of(signal)) return act_by_default_again(signal);
    if (!current_thread) return call_for_receiver(signal, info, frame); // the first one: the kernel knows its stack
    void *const returns_to = __builtin_return_address(0);
    const copy there = copy_to(room_for(*current_thread, sp), info, static_cast<const ucontext_t *>(frame), returns_to);
    if (there.context) jump_to(call_for_receiver, signal, there, returns_to);
    call(signal, info, frame);
}

bool is_ours(const struct sigaction &a) noexcept { return (a.sa_flags & SA_SIGINFO) && a.sa_sigaction == on_fault; }

__attribute__((constructor(handlers_of_signals))) void watch_forks() noexcept {
    if (!sys::at_fork([] { lock.lock(); }, [] { lock.unlock(); }, [] { lock.unlock(); }))
        sys::warn("no memory to prepare for fork: a child process must not handle faults");
}

} // namespace

bool is_fault(int signal) noexcept {
    for (const int f : faults)
        if (f == signal) return true;
    return false;
}

bool is_in_fault_handler() noexcept {
    const std::uint64_t blocked = sys::blocked_signals();
    const auto is_blocked = [blocked](int signal) { return (blocked >> (signal - 1) & 1) != 0; };
    return std::any_of(std::begin(faults), std::end(faults), is_blocked);
}

int set_fault_action(int signal, const struct sigaction *to, struct sigaction *before) noexcept {
    struct sigaction was {};
    lock.lock();
    int result = next_sigaction.get()(signal, nullptr, &was);
    if (result == 0 && is_ours(was)) was = programs[signal];
    if (result == 0 && to) {
        struct sigaction kernels = *to;
        const bool calls = (to->sa_flags & SA_SIGINFO) || (to->sa_handler != SIG_DFL && to->sa_handler != SIG_IGN);
        if (calls && (to->sa_flags & SA_ONSTACK)) {
            programs[signal] = *to;
            kernels.sa_flags |= SA_SIGINFO;
            kernels.sa_sigaction = on_fault;
        }
        result = next_sigaction.get()(signal, &kernels, nullptr);
    }
    lock.unlock();
    if (result == 0 && before) *before = was;
    return result;
}

void take_over_faults() noexcept {
    for (const int signal : faults) {
        struct sigaction a {};
        if (set_fault_action(signal, nullptr, &a) == 0 && (a.sa_flags & SA_ONSTACK))
            (void)set_fault_action(signal, &a, nullptr);
    }
}

} // namespace comity::posix
