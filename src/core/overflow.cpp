#include "core/overflow.hpp"

#include "core/callbacks.hpp"
#include "core/carrier.hpp"
#include "core/context.hpp"
#include "core/tls/block.hpp"
#include "sys/called_function.hpp"
#include "sys/interruption.hpp"
#include "sys/kernel_thread.hpp"
#include "sys/memory.hpp"
#include "sys/message.hpp"
#include "sys/process.hpp"
#include "sys/signals.hpp"

#include <atomic>
#include <cstring>

namespace comity::core {

namespace {

constexpr std::size_t signal_stack_size = std::size_t{64} << 10; // AVX-512 frames and a program's own handlers

std::atomic<name_fn> namer{nullptr};

struct quoted { // the name of what runs on the context, or nothing
    const char *before = "", *name = "", *after = "";
};
quoted name_of(const context *c) noexcept {
    const name_fn give = namer.load(std::memory_order_relaxed);
    const char *name = give ? give(c) : nullptr;
    return name && *name ? quoted{" (\"", name, "\")"} : quoted{};
}

void report(const context *c, const sys::stack_memory &stack) noexcept {
    const quoted n = name_of(c);
    sys::warn("stack overflow in context %u%s%s%s, which has %zu KiB; set OMP_STACKSIZE (OpenMP threads) or "
              "COMITY_STACK_SIZE higher, or create the thread with a larger stack",
              c->id, n.before, n.name, n.after, stack.size() / 1024);
}

// A stack that Comity did not make: that of the calling kernel thread, whose bounds are not known, but a place on it is
// (adopt). What faults there is below that place, where the stack pointer is too, and not further from the pointer than
// a frame may be large.
bool is_below_own_stack(const context *native, std::uintptr_t address, std::uintptr_t sp) noexcept {
    constexpr std::uintptr_t most_below = std::uintptr_t{64} << 10, largest_frame = std::uintptr_t{8} << 20;
    const auto place = reinterpret_cast<std::uintptr_t>(native->floor);
    return address < place && sp < place && address >= sp - most_below && address < sp + largest_frame;
}

void report_own(const context *native) noexcept {
    const bool joins = native->runs; // a thread that runs on the stack of who joins it
    const bool is_first = sys::kernel_thread_id() == sys::process_id();
    const quoted n = name_of(native);
    sys::warn("stack overflow on the stack of %s%s%s%s%s; %s%s",
              is_first ? "the program's first thread" : "a thread of the program's own",
              joins ? ", in a thread that it joins" : "", n.before, n.name, n.after,
              is_first ? "set `ulimit -s` higher" : "create that thread with a larger stack",
              joins ? ", or the joined one with a stack size, for a stack of its own" : "");
}

// Says whose stack has overflowed, if one has. What stands on a stack with a small guard, or none, may have gone beyond
// that and met another's: so first comes where the kernel thread is, and then whose guard it is.
void find_whose(std::uintptr_t address, std::uintptr_t sp) noexcept {
    const auto *at = reinterpret_cast<const void *>(address);
    const carrier *k = current_carrier();
    if (k && k->adopted && k->native && k->current == k->native && !k->native->tls && !k->native->stack &&
        is_below_own_stack(k->native, address, sp))
        return report_own(k->native);
    if (const context *c = overflowed_at(at)) return report(c, c->tls ? c->tls->stack : c->stack);
    if (!k || !k->transition.stack || !k->transition.stack.overflowed_at(at)) return;
    if (k->guest && k->guest != update_mark()) return report(k->guest, k->transition.stack);
    sys::warn("stack overflow in a scheduler's callback, which has %zu KiB; set COMITY_STACK_SIZE higher",
              k->transition.stack.size() / 1024);
}

// A pointer that the program has given to a function of Comity's, which does not look whether it is null: most are on
// hot paths.
void report_null(std::uintptr_t address, const sys::interruption &at) noexcept {
    const std::uintptr_t largest_object = sys::page_size();
    if (address >= largest_object) return;
    const sys::called_function call(at);
    if (call.is_comitys() && !*call.name())
        sys::warn(
            "a fault at address %p in Comity, in no call of the program's: a scheduler's callback or order has given "
            "a unit or a context that is NULL, has ended, or was given twice",
            reinterpret_cast<const void *>(address));
    else if (call.is_comitys())
        sys::warn("%s: NULL was given for an object, or an object that is not initialised (a fault at address %p)",
                  call.name(), reinterpret_cast<const void *>(address));
}

// On return the instruction faults again, or what was sent comes again.
void on_fault(int signal, siginfo_t *info, void *frame) {
    const bool was_sent = info->si_code <= 0;
    if (!was_sent) {
        const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
        const sys::interruption at = sys::interruption_at(frame);
        find_whose(address, at.sp);
        report_null(address, at);
    }
    struct sigaction usual {};
    usual.sa_handler = SIG_DFL;
    sys::set_signal_action(signal, &usual, nullptr);
    if (was_sent) sys::send_again(*info);
}

} // namespace

void name_contexts_by(name_fn f) noexcept { namer.store(f, std::memory_order_relaxed); }

void watch_for_overflow() noexcept {
    struct sigaction now {};
    if (!sys::set_signal_action(SIGSEGV, nullptr, &now) || (now.sa_flags & SA_SIGINFO) || now.sa_handler != SIG_DFL)
        return;
    struct sigaction ours {}; // blocks nothing else
    ours.sa_sigaction = on_fault;
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sys::set_signal_action(SIGSEGV, &ours, nullptr);
}

// Also before Comity starts, where the program is linked with it: objects of comity/sync.h do not start it. Not in
// programs that it is preloaded into, which may never use it.
__attribute__((constructor)) static void watch_early() noexcept {
    const char *preloaded = sys::environment_value("LD_PRELOAD");
    if (!preloaded || !std::strstr(preloaded, "comity")) watch_for_overflow();
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

void take_signal_stack(void *memory) noexcept {
    if (!memory) return;
    stack_t none{};
    none.ss_flags = SS_DISABLE;
    sys::set_signal_stack(&none, nullptr);
    free_signal_stack(memory);
}

void free_signal_stack(void *memory) noexcept {
    if (memory) sys::unmap_pages(memory, signal_stack_size);
}

} // namespace comity::core
