// Donors: real kernel threads that lend their stack and their TLS while they sleep. The protocol is in README.md.
#include "core/tls/provider.hpp"

#include <atomic>
#include <cerrno>
#include <new>

#include "core/binding.hpp"
#include "core/context.hpp"
#include "core/tls/base.hpp"
#include "core/tls/sanitized.hpp"
#include "sys/c_library.hpp"
#include "sys/clock.hpp"
#include "sys/futex.hpp"
#include "sys/kernel_thread.hpp"
#include "sys/message.hpp"

namespace comity::core {
namespace {

// Written by the donor to idle, by others from idle to run or to exit.
enum donor_state : std::uint32_t { starting, idle, run, exit };

struct alignas(64) donor : tls_block {
    std::atomic<std::uint32_t> word{starting};
    sys::joinable_thread thread = 0; // written by the creator
    void (*fn)(void *) = nullptr;    // written by the commander before `run`
    void *arg = nullptr;
};

std::atomic<start_hook> hook_for_start{nullptr};

// Lends the TLS until a command comes. Between the two marked points the thread uses nothing of its TLS, nor does a
// sanitizer for it: the context that has borrowed it may run at any moment.
COMITY_NEVER_INSTRUMENTED std::uint32_t lend(std::uint32_t *word) noexcept {
    __atomic_store_n(word, static_cast<std::uint32_t>(idle), __ATOMIC_RELEASE); // release[donor-idle]; from here on
    sys::lent_wake_all(word);                                                   // whoever waits in await_idle
    std::uint32_t seen = 0;
    while ((seen = __atomic_load_n(word, __ATOMIC_ACQUIRE)) == idle) // acquire[donor-command]; to here
        sys::lent_wait(word, idle);
    return seen;
}

// Below the donor's frame: room for a signal handler (the C library's setuid runs one on every thread, with the whole
// vector state), and for what run_on_donor calls. Pages of it that nobody touches cost nothing.
std::size_t room_below_donor() noexcept {
    constexpr unsigned long at_minsigstksz = 51;
    constexpr std::size_t for_calls = tls_sanitized ? 32 * 1024 : 16 * 1024;
    const std::size_t frame = sys::auxiliary_value(at_minsigstksz);
    return for_calls + (frame != 0 ? frame : 4096 + 512);
}

void *donor_main(void *argument) {
    auto *d = static_cast<donor *>(argument);
    sys::name_kernel_thread("comity-donor");
    run_anywhere(); // a promoted context is bound to no hart's CPUs while it has none
    d->base = tls_base();
    sys::unregister_restartable_sequences(reinterpret_cast<void *>(d->base));
    d->current_slot = current_slot();
    d->kernel_id = sys::kernel_thread_id();
    const auto frame = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    d->stack_top = reinterpret_cast<std::byte *>((frame - room_below_donor()) & ~std::uintptr_t{63});
    for (;;) {
        tell_release(&d->word);
        (void)lend(reinterpret_cast<std::uint32_t *>(&d->word));
        if (d->word.load(std::memory_order_acquire) == exit) return nullptr; // acquire[donor-command]
        d->fn(d->arg);
    }
}

// Waits until the donor sleeps, or is about to: its TLS may be used.
void await_idle(donor *d) noexcept {
    constexpr int spins = 2000; // the start of a kernel thread takes about as long
    for (int i = 0;; ++i) {
        const std::uint32_t seen = d->word.load(std::memory_order_acquire); // acquire[donor-idle]
        if (seen == idle) return;
        if (i < spins)
            sys::cpu_relax();
        else
            (void)sys::futex_wait(d->word, seen);
    }
}

// The donor must be idle.
void command(donor *d, donor_state what) noexcept {
    d->word.store(what, std::memory_order_release); // release[donor-command]
    sys::futex_wake(d->word);
}

int start(donor *d) noexcept {
    if (const auto hook = hook_for_start.load(std::memory_order_relaxed))
        if (const int error = hook()) return error;
    return sys::start_kernel_thread_on(d->stack.bottom, d, donor_main, d, d->thread);
}

} // namespace

void set_donor_start_hook(start_hook hook) noexcept { hook_for_start.store(hook, std::memory_order_relaxed); }

tls_block *make_donor_block(std::size_t stack_size, int &error) noexcept {
    const int kept = errno;
    error = ENOMEM;
    constexpr std::size_t for_sanitizer = tls_sanitized ? 160 * 1024 : 0;
    const std::size_t overhead = sys::kernel_thread_overhead() + room_below_donor() + for_sanitizer;
    if (stack_size > PTRDIFF_MAX - overhead) return nullptr;
    carved_stack carved = carve_stack(stack_size + overhead, sizeof(donor));
    if (!carved.block) return nullptr;
    auto *d = new (carved.block) donor;
    d->stack = carved.stack;
    d->stack_bottom = carved.stack.bottom;
    d->provider = tls_provider::donor;
    d->generation = process_generation();
    error = start(d);
    if (error != 0) {
        sys::unmap_stack(carved.stack);
        errno = kept;
        return nullptr;
    }
    await_idle(d);
    tell_stack(d->stack.bottom, d->stack.size());
    errno = kept;
    return d;
}

void free_donor_block(tls_block *block) noexcept {
    auto *d = static_cast<donor *>(block);
    sys::stack_memory stack = d->stack;
    untell_stack(stack.bottom, stack.size());
    if (d->generation == process_generation()) {
        await_idle(d);
        command(d, exit);
        sys::join_kernel_thread(d->thread);
    }
    sys::unmap_stack(stack);
}

void run_on_donor(tls_block *block, void (*fn)(void *), void *arg) noexcept {
    auto *d = static_cast<donor *>(block);
    if (block->provider != tls_provider::donor || !donor_asleep(block))
        sys::fatal("run_on_donor", "the block has no kernel thread that sleeps");
    d->fn = fn;
    d->arg = arg;
    command(d, run);
}

bool donor_asleep(const tls_block *block) noexcept {
    if (block->provider != tls_provider::donor || block->generation != process_generation()) return false;
    return static_cast<const donor *>(block)->word.load(std::memory_order_acquire) == idle; // acquire[donor-idle]
}

} // namespace comity::core
