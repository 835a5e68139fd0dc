// Donors: real kernel threads that lend their stack and their TLS while they sleep. The protocol is in README.md.
#include "core/tls/provider.hpp"

#include <atomic>
#include <cerrno>
#include <new>

#include "core/arch/switch.hpp"
#include "core/binding.hpp"
#include "core/context.hpp"
#include "core/spinlock.hpp"
#include "core/tls/base.hpp"
#include "core/tls/glibc_layout.hpp"
#include "core/tls/sanitized.hpp"
#include "sys/c_library.hpp"
#include "sys/clock.hpp"
#include "sys/cpp_library.hpp"
#include "sys/errno_kept.hpp"
#include "sys/futex.hpp"
#include "sys/kernel_thread.hpp"
#include "sys/message.hpp"
#include "sys/options.hpp"
#include "sys/process.hpp"
#include "sys/signals.hpp"
#include "sys/thread_maker.hpp"

namespace comity::core {
namespace {

// Written by the donor to idle or to away, by others from these to run, to exit, or from away to idle; by end_donors
// from idle to leave.
enum donor_state : std::uint32_t { starting, idle, run, exit, away, leave };

struct alignas(64) donor : tls_block {
    std::atomic<std::uint32_t> word{starting};
    sys::joinable_thread thread = 0; // written by the creator
    void (*fn)(void *) = nullptr;    // written by the commander before `run`
    void *arg = nullptr;
    bool on_call = false;                       // it is away at times
    bool at_ease = false;                       // it could be, but sleeps, and is counted; the donor's
    bool has_left = false;                      // it was asked to be away once, though it is not on call; the donor's
    int thread_id = 0;                          // of its kernel thread, if it has one
    void *robust = nullptr;                     // the C library's list of robust mutexes
    void *frame = nullptr;                      // the donor's, while it is away
    std::byte *away_stack = nullptr;            // between stack_top and the frame: for the last and the first steps
    donor *next = nullptr, *previous = nullptr; // in the list of all, under its lock
};

// All of this process.
spinlock all_lock;
donor *all = nullptr; // under it

void enlist(donor *d) noexcept {
    all_lock.lock();
    d->next = all;
    if (all) all->previous = d;
    all = d;
    all_lock.unlock();
}
void delist(const donor *d) noexcept {
    all_lock.lock();
    (d->previous ? d->previous->next : all) = d->next;
    if (d->next) d->next->previous = d->previous;
    all_lock.unlock();
}

// The number of those for which `is(d)`.
template <class Is> unsigned count_donors(Is is) noexcept {
    unsigned n = 0;
    all_lock.lock();
    for (donor *d = all; d; d = d->next) n += is(d) ? 1 : 0;
    all_lock.unlock();
    return n;
}

std::atomic<start_hook> hook_for_start{nullptr};

// ---- Which kernel threads stay

std::atomic<unsigned> sleepers{0}, at_ease{0}; // those of donors that are never away, and others that sleep

// Of each of the two kinds. A quarter of what the kernel allows, since others need kernel threads too.
unsigned most_sleepers() noexcept {
    return sys::made_once([] {
        const std::uint64_t quarter = sys::kernel_thread_limit() / 4, asked = sys::get_options().tls_threads;
        return static_cast<unsigned>(quarter < asked ? quarter : asked);
    });
}

bool take_place(std::atomic<unsigned> &of) noexcept {
    if (of.fetch_add(1, std::memory_order_relaxed) < most_sleepers()) return true;
    of.fetch_sub(1, std::memory_order_relaxed);
    return false;
}

// Owner ids of locked mutexes: above every kernel thread's (4,194,304 at most), within the 30 bits that a futex has.
int next_id() noexcept {
    constexpr unsigned first = 0x10000000, count = 0x0fffffff;
    static std::atomic<unsigned> made{0};
    return static_cast<int>(first + made.fetch_add(1, std::memory_order_relaxed) % count);
}

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

// ---- A donor that is away: its kernel thread has ended, without the C library, which goes on knowing the thread. The
// next kernel thread goes on where the last one left the donor's frame.

COMITY_NEVER_INSTRUMENTED void end_kernel_thread(void *word, void *) {
    sys::lent_leave(static_cast<std::uint32_t *>(word), away); // release[donor-idle]
}

COMITY_NEVER_INSTRUMENTED int come_back(void *argument) {
    arch::comity_arch_resume(static_cast<donor *>(argument)->frame, nullptr, nullptr);
}

// From now on the C library signals the thread no more (its setuid does). It takes an id that is no kernel thread's,
// which stays: locked mutexes name it.
void take_own_id(donor *d, const glibc_layout &l) noexcept {
    constexpr int setuid_is_under_way = 0x40;
    d->kernel_id = next_id();
    __atomic_store_n(&field_at<int>(d->base, l.tid), d->kernel_id, __ATOMIC_RELAXED);
    __sync_synchronize(); // setuid marks all threads, then reads their ids
    while (__atomic_load_n(&field_at<int>(d->base, l.cancelhandling), __ATOMIC_RELAXED) & setuid_is_under_way)
        sys::yield_kernel_thread(); // its signal comes, on this stack
}

// Returns on another kernel thread, when a command has come. Until then the TLS is lent.
COMITY_NEVER_INSTRUMENTED void be_away(donor *d) noexcept {
    (void)sys::exchange_mask(~std::uint64_t{0});
    sys::set_robust_list(nullptr);
    sys::tell_end_at(nullptr);
    arch::comity_arch_save_call(&d->frame, d->away_stack, end_kernel_thread, &d->word, nullptr);
    auto *word = reinterpret_cast<std::uint32_t *>(&d->word);
    while (__atomic_load_n(word, __ATOMIC_ACQUIRE) == idle) sys::lent_wait(word, idle); // acquire[donor-command]
}

// One that is asked to be away, and is on call no more than before.
void begin_to_leave(donor *d) noexcept {
    if (!d->robust) d->robust = sys::robust_list();
    d->has_left = true;
    take_own_id(d, *find_glibc_layout());
}

// What a donor does while its TLS is lent. Who has slept in the kernel may do so again; so far nobody has.
void rest(donor *d, bool first) noexcept {
    if (!d->on_call || (!first && take_place(at_ease))) {
        d->at_ease = d->on_call;
        tell_release(&d->word);
        const std::uint32_t asked = lend(reinterpret_cast<std::uint32_t *>(&d->word));
        if (d->at_ease) at_ease.fetch_sub(1, std::memory_order_relaxed);
        if (asked != leave) return;
    }
    do {
        if (!d->on_call) begin_to_leave(d);
        if (const std::int64_t ns = sys::cpu_clock_ns(CLOCK_THREAD_CPUTIME_ID); ns > 0) d->cpu_ns.add(ns);
        be_away(d);
    } while (d->word.load(std::memory_order_relaxed) == leave); // it had a kernel thread again, and was asked again
    d->thread_id = sys::kernel_thread_id();
    sys::block_as_lent_threads();
    sys::name_kernel_thread("comity-donor");
    run_anywhere();
    if (!d->on_call) sys::set_robust_list(d->robust);
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
    sys::kernel_state_here = d->kernel_state;
    if (d->kernel_state == 0) run_anywhere(); // a promoted context is bound to no hart's CPUs while it has none
    d->base = tls_base();
    // A C++ library that was loaded late takes memory for a thread's first use of this. Whoever needs it later may have
    // been stopped within the allocator, with its lock.
    (void)sys::get_cpp_library().get_globals();
    errno = 0; // which an allocation that failed has set
    sys::unregister_restartable_sequences(reinterpret_cast<void *>(d->base));
    d->current_slot = current_slot();
    d->kernel_id = d->thread_id = sys::kernel_thread_id();
    const auto frame = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    d->stack_top = reinterpret_cast<std::byte *>((frame - room_below_donor()) & ~std::uintptr_t{63});
    constexpr std::size_t for_leaving = 4096;
    d->away_stack = d->stack_top + for_leaving;
    const glibc_layout *const layout = d->on_call ? find_glibc_layout() : nullptr;
    if (layout) {
        d->robust = sys::robust_list();
        take_own_id(d, *layout);
    }
    for (bool first = true;; first = false) {
        rest(d, first);
        if (d->word.load(std::memory_order_acquire) == exit) break; // acquire[donor-command]
        d->fn(d->arg);
    }
    if (layout || d->has_left) { // for who joins it
        sys::set_robust_list(d->robust);
        sys::tell_end_at(&field_at<int>(d->base, find_glibc_layout()->tid));
    }
    return nullptr;
}

bool is_at_rest(std::uint32_t state) noexcept { return state == idle || state == away; }

// Waits until the donor sleeps or is away, or is about to be: its TLS may be used.
void await_idle(donor *d) noexcept {
    for (;;) {
        const std::uint32_t seen = d->word.load(std::memory_order_acquire); // acquire[donor-idle]
        if (is_at_rest(seen)) return;
        (void)sys::futex_wait(d->word, seen);
    }
}

// The same for a new one. The kernel puts it on another core, which may have to be woken first, or behind somebody who
// computes there, for milliseconds. So it is sent to the caller's core, who steps aside for it. (Who sleeps instead is
// woken on another core, and may share that with another hart for milliseconds.)
void await_start(donor *d) noexcept {
    constexpr int yields = 100;
    const bool sent = d->kernel_state == 0 && sys::send_kernel_thread(d->thread, sys::current_cpu()) == 0;
    for (int i = 0; i < yields && !is_at_rest(d->word.load(std::memory_order_relaxed)); ++i) sys::yield_kernel_thread();
    if (sent) let_run_anywhere(d->thread); // one that is away has no kernel thread
    await_idle(d);
}

// Else the place is taken all the same. What its kernel thread has of its own another one would not have.
bool can_be_away(unsigned kernel_state) noexcept {
    if (!tls_sanitized && kernel_state == 0 && find_glibc_layout()) return true;
    sleepers.fetch_add(1, std::memory_order_relaxed);
    return false;
}

int refusal() noexcept {
    const auto hook = hook_for_start.load(std::memory_order_relaxed);
    return hook ? hook() : 0;
}

// The donor must be idle, or away: then it gets a kernel thread, whose id is the result, or this fails, with an error
// number below 0, and nothing has happened. After success the donor may be gone.
int command(donor *d, donor_state what) noexcept {
    const bool was_away = d->word.load(std::memory_order_relaxed) == away;
    d->word.store(what, std::memory_order_release); // release[donor-command]
    if (!was_away) {
        sys::futex_wake(d->word);
        return 0;
    }
    const int id = refusal() != 0 ? -EAGAIN : sys::start_bare_kernel_thread(d->away_stack, d->base, come_back, d);
    if (id < 0) d->word.store(away, std::memory_order_relaxed);
    return id;
}

// At the limit of kernel threads a donor that went away a moment ago may still count.
int start(donor *d) noexcept {
    constexpr int most_looks = 40;
    constexpr std::int64_t between_ns = 500'000;
    if (const int error = refusal()) return error;
    for (int looks = 0;; ++looks) {
        const int error = sys::start_kernel_thread_on(d->stack.bottom, d, donor_main, d, d->thread);
        if (error != EAGAIN || !d->on_call || looks == most_looks) return error;
        (void)sys::futex_wait_for(d->word, starting, between_ns);
    }
}

} // namespace

void set_donor_start_hook(start_hook hook) noexcept { hook_for_start.store(hook, std::memory_order_relaxed); }

tls_block *make_donor_block(std::size_t stack_size, int &error) noexcept {
    const sys::errno_kept kept;
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
    d->kernel_state = sys::kernel_state_here; // which the new kernel thread inherits
    d->on_call = !take_place(sleepers) && can_be_away(d->kernel_state);
    error = start(d);
    if (error != 0) {
        if (!d->on_call) sleepers.fetch_sub(1, std::memory_order_relaxed);
        sys::unmap_stack(carved.stack);
        return nullptr;
    }
    await_start(d);
    enlist(d);
    tell_stack(d->stack.bottom, d->stack.size());
    return d;
}

void free_donor_block(tls_block *block) noexcept {
    auto *d = static_cast<donor *>(block);
    sys::stack_memory stack = d->stack;
    untell_stack(stack.bottom, stack.size());
    if (d->generation == process_generation()) {
        delist(d);
        await_idle(d);
        if (!d->on_call) sleepers.fetch_sub(1, std::memory_order_relaxed);
        // For as long as the kernel refuses one for it to end on.
        while (command(d, exit) < 0) sys::yield_kernel_thread();
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
    if (command(d, run) < 0) sys::fatal("run_on_donor", "no kernel thread is to be had, and none was asked for before");
}

bool have_kernel_thread(tls_block *block) noexcept {
    if (block->provider != tls_provider::donor || block->generation != process_generation()) return false;
    auto *d = static_cast<donor *>(block);
    if (d->word.load(std::memory_order_relaxed) != away) return true;
    const int id = command(d, idle);
    if (id > 0) d->thread_id = id;
    return id > 0;
}

bool has_own_kernel_thread(const tls_block *block) noexcept {
    return block && block->provider == tls_provider::donor && !static_cast<const donor *>(block)->on_call;
}

// In the C library's descriptor, so that a mutex that it locks names a kernel thread.
bool keep_kernel_thread(tls_block *block) noexcept {
    auto *d = static_cast<donor *>(block);
    if (!have_kernel_thread(block)) return false;
    if (!d->on_call) return true;
    d->on_call = false;
    sleepers.fetch_add(1, std::memory_order_relaxed);
    field_at<int>(d->base, find_glibc_layout()->tid) = d->thread_id;
    return true;
}

std::int64_t donor_cpu_ns(const tls_block *block) noexcept {
    if (block->provider != tls_provider::donor || block->generation != process_generation()) return 0;
    const auto *d = static_cast<const donor *>(block);
    if (d->word.load(std::memory_order_relaxed) == away) return 0;
    const std::int64_t ns = sys::thread_cpu_ns(d->thread_id);
    return ns > 0 ? ns : 0;
}

namespace {

// What its kernel thread has of its own another one would not have. It may be on call no more (keep_kernel_thread).
bool can_leave(const donor *d) noexcept { return !tls_sanitized && d->kernel_state == 0; }
bool is_in(const donor *d, donor_state state) noexcept { return d->word.load(std::memory_order_relaxed) == state; }

} // namespace

unsigned count_donors() noexcept {
    if (!find_glibc_layout()) return 0;
    return count_donors([](const donor *d) { return is_in(d, idle) && can_leave(d); });
}

void end_donors() noexcept {
    constexpr std::int64_t between_ns = 50'000;
    (void)count_donors([](donor *d) {
        std::uint32_t seen = idle;
        const bool asked =
            can_leave(d) && d->word.compare_exchange_strong(seen, leave, std::memory_order_release,
                                                            std::memory_order_relaxed); // release[donor-command]
        if (asked) sys::futex_wake(d->word);
        return asked;
    });
    while (count_donors([](const donor *d) { return is_in(d, leave); }) != 0) sys::nap(between_ns);
}

// Nobody else is there whom the lock could keep waiting.
void begin_donors() noexcept {
    (void)count_donors([](donor *d) {
        if (d->on_call || !is_in(d, away)) return false;
        const int id = command(d, idle);
        if (id <= 0) return false; // it has one when it is needed
        d->kernel_id = d->thread_id = id;
        field_at<int>(d->base, find_glibc_layout()->tid) = id;
        return true;
    });
}

void donors_after_fork() noexcept {
    new (&all_lock) spinlock;
    all = nullptr;
    sleepers.store(0, std::memory_order_relaxed);
    at_ease.store(0, std::memory_order_relaxed);
}

bool donor_asleep(const tls_block *block) noexcept {
    if (block->provider != tls_provider::donor || block->generation != process_generation()) return false;
    const auto *d = static_cast<const donor *>(block);
    return is_at_rest(d->word.load(std::memory_order_acquire)); // acquire[donor-idle]
}

} // namespace comity::core
