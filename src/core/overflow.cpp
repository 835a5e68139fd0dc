#include "core/overflow.hpp"

#include "core/context.hpp"
#include "core/tls/block.hpp"
#include "sys/memory.hpp"
#include "sys/message.hpp"
#include "sys/signals.hpp"

#include <atomic>
#include <csignal>

namespace comity::core {

namespace {

constexpr std::size_t signal_stack_size = std::size_t{64} << 10; // AVX-512 frames and a program's own handlers

std::atomic<name_fn> namer{nullptr};

void on_fault(int signal, siginfo_t *info, void *) {
    if (const context *c = overflowed_at(info->si_addr)) {
        const sys::stack_memory &stack = c->tls ? c->tls->stack : c->stack;
        const name_fn name_of = namer.load(std::memory_order_relaxed);
        const char *name = name_of ? name_of(c) : nullptr;
        const bool named = name && *name;
        sys::warn("stack overflow in context %u%s%s%s, which has %zu KiB; set OMP_STACKSIZE (OpenMP threads) or "
                  "COMITY_STACK_SIZE higher, or create the thread with a larger stack",
                  c->id, named ? " (\"" : "", named ? name : "", named ? "\")" : "", stack.size() / 1024);
    }
    struct sigaction usual {};
    usual.sa_handler = SIG_DFL;
    ::sigaction(signal, &usual, nullptr); // the instruction faults again on return
}

} // namespace

void name_contexts_by(name_fn f) noexcept { namer.store(f, std::memory_order_relaxed); }

void watch_for_overflow() noexcept {
    struct sigaction now {};
    if (::sigaction(SIGSEGV, nullptr, &now) != 0 || (now.sa_flags & SA_SIGINFO) || now.sa_handler != SIG_DFL) return;
    struct sigaction ours {};
    ours.sa_sigaction = on_fault;
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
    ::sigemptyset(&ours.sa_mask);
    ::sigaction(SIGSEGV, &ours, nullptr);
}

void *give_signal_stack(void *memory) noexcept {
    stack_t now{};
    if (!sys::set_signal_stack(nullptr, &now) || !(now.ss_flags & SS_DISABLE)) return memory;
    stack_t ours{};
    ours.ss_sp = memory ? memory : sys::map_pages(signal_stack_size);
    ours.ss_size = signal_stack_size;
    if (ours.ss_sp) sys::set_signal_stack(&ours, nullptr);
    return ours.ss_sp;
}

void free_signal_stack(void *memory) noexcept {
    if (memory) sys::unmap_pages(memory, signal_stack_size);
}

} // namespace comity::core
