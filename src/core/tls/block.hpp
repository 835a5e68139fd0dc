// TLS blocks: thread-local storage that a full context runs on, whichever kernel thread carries it.
//
// Two providers make them. A *donor* is a real kernel thread that sleeps while its stack and its TLS are borrowed. A
// *glibc block* is one that the C library's own allocator filled, without a kernel thread. README.md compares them.
// Nothing here switches, but for the self-test, which comes back on the kernel thread on which it began.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "sys/memory.hpp"
#include "sys/own_count.hpp"

namespace comity::core {

struct context;
struct promotion;

enum class tls_provider : std::uint8_t { none, donor, glibc };

struct tls_block {
    std::uintptr_t base = 0;          // what the TLS base register holds
    context **current_slot = nullptr; // the variable comity_tls_current in this block
    std::byte *stack_top = nullptr;   // a context may use [stack_bottom, stack_top); 64-byte aligned
    std::byte *stack_bottom = nullptr;
    sys::stack_memory stack; // the mapping around it, for reports of overflow
    int kernel_id = 0;       // who runs on it, as its own gettid says; a glibc block: 0
    tls_provider provider = tls_provider::none;
    bool forked = false;       // the process is a fork made on this block: the C library counts on it for ever
    bool used = false;         // a thread of the program has run on it: the next one renews the variables
    unsigned renewals = 0;     // so many threads have run on it after others
    bool used_up = false;      // not for another context: its kernel thread is to end with the one that it has
    unsigned kernel_state = 0; // what its kernel thread has of its own (kernel_state.hpp); by who runs on it
    // What it blocks of signals, where that may be its own (context_mask.hpp): as of when it was left; by the context
    // on it.
    bool has_mask = false;
    std::uint64_t mask = 0;
    bool id_was_told = false; // its kernel_id, to the program: another context is not to have that soon
    unsigned generation = 0;  // how many forks away from the first process it was made
    void *reserved = nullptr; // the provider's
    // CPU time in ns ("CPU time": ../README.md): on harts, of those that have run on it; written by the carrier that
    // runs one. What was told of it. What the donor's kernel thread has used, as of when it last slept, unless it has
    // run since: who runs on it.
    sys::own_count<std::int64_t> cpu_ns;
    std::atomic<std::int64_t> cpu_told{0};
    sys::own_count<std::int64_t> donor_cpu_ns;
    bool donor_has_run = true;
    promotion *promoted = nullptr; // the means to run a context on the donor's own kernel thread (../promotion)
};

// ---- For everyone: the provider that was chosen. Any thread.

// Chooses by COMITY_TLS and by the providers' self-tests; the first call does it, others wait for it. A provider that
// was asked for and fails gives one warning and the other is used. tls_provider::none: there are no full contexts.
tls_provider select_tls_provider() noexcept;
// For messages: "thread-local storage from ...".
const char *provider_name(tls_provider provider) noexcept;

// A block with a stack of at least `stack_size` bytes for the context; nullptr with an error number in `error`:
// EAGAIN when a limit on threads is reached or no provider works, ENOMEM, EINVAL. errno is kept.
tls_block *make_tls_block(std::size_t stack_size, int &error) noexcept;

// No context may run on it or be stopped on it. Destructors of its thread-local variables run, and may take as long as
// they like.
void free_tls_block(tls_block *block) noexcept;

// In the child of a fork, before anything else here: `running` is the block that the fork was called on, nullptr when
// it was called on a thread's own TLS. Of all others there is no kernel thread any more: they may only be freed.
void tls_after_fork(tls_block *running) noexcept;

// ---- Promotion: the donor's own kernel thread goes on with the context. Donors only.

// The donor's kernel thread wakes and calls fn(arg) on its own TLS, above stack_top; there are 12 KiB of stack for
// that. When fn returns it sleeps again. The donor must be asleep, or away; then it gets another kernel thread. What
// was written before is seen by fn.
void run_on_donor(tls_block *block, void (*fn)(void *), void *arg) noexcept;
// Before that: the donor has a kernel thread, also if it was away. False: there is none to be had.
bool have_kernel_thread(tls_block *block) noexcept;
// Has the donor one of its own, also while it does not run on it? For who runs on the block.
COMITY_SHARED bool has_own_kernel_thread(const tls_block *block) noexcept;
// From now on it has the same one until it is freed, and glibc knows its id. For who runs on the block. False: as
// above.
COMITY_SHARED bool keep_kernel_thread(tls_block *block) noexcept;
// What its kernel thread of the moment has used of a CPU, in ns; 0: it has none.
std::int64_t donor_cpu_ns(const tls_block *block) noexcept;
// Is the donor asleep, or away? What fn wrote is then seen.
bool donor_asleep(const tls_block *block) noexcept;

// ---- The providers: for the functions above, and for tests.

tls_block *make_donor_block(std::size_t stack_size, int &error) noexcept;
tls_block *make_glibc_block(std::size_t stack_size, int &error) noexcept;
// Runs a context on a block of the provider. nullptr when all is well, else what is wrong.
const char *tls_self_test(tls_provider provider) noexcept;

// ---- For tests.

// Replaces the start of a donor's kernel thread, to let it fail: returns an error number. nullptr: the real one.
using start_hook = int (*)();
void set_donor_start_hook(start_hook hook) noexcept;

} // namespace comity::core
