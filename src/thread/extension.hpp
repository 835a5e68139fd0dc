// What few threads have beyond a descriptor. It is made when it is first needed, by anybody who has the handle, and
// lives until the thread is disposed of.
#pragma once

#include "sys/own_memory.hpp"
#include "thread/thread.hpp"

#include <atomic>
#include <cstdint>
#include <memory>

namespace comity {

// A key's value, of the key with this number that was current when it was set.
struct key_value {
    void *value = nullptr;
    std::uint32_t number = 0;
};

struct thread_extension : sys::in_own_memory {
    // Bits, and the context while the thread is suspended: whoever takes that out resumes it. requested: it is to be
    // cancelled; by anybody, who also sets taking while he uses comity_thread::waits. By the thread itself, disabled:
    // not now; ending: nothing is cancelled any more.
    static constexpr std::uintptr_t requested = 1, disabled = 2, ending = 4, taking = 8, bits = 15;
    std::atomic<std::uintptr_t> state{0};
    comity_cleanup_t *cleanup = nullptr; // newest first; the thread's
    key_value *values = nullptr;         // by key; the thread's
    std::uint32_t number_of_values = 0;
    // The harts that may run it; null: any. Written while it does not stand in a queue: before it is launched, then by
    // the thread.
    std::unique_ptr<hart_set> harts;
    bool was_given_harts = false; // at its creation
    bool has_own_storage = false; // whose variables Comity renews and destroys (own_storage.hpp)
    // Its function, until it is on one of its harts and its variables are new; null: there is nothing to do before.
    void *(*fn)(void *) = nullptr;
    // Under name_lock; by whoever names it.
    core::spinlock name_lock;
    char name[COMITY_THREAD_NAME_MAX + 1] = {};
};

// The thread's extension, or null when it has none.
inline thread_extension *extension_of(const thread *t) noexcept {
    return t->rest().more.load(std::memory_order_acquire); // acquire[thread-more]
}
// The same, and makes one; null: no memory. Any thread.
thread_extension *extend(thread *t) noexcept;

// A thread that has an extension and was not launched yet: its start does first what that says.
void start_by_extension(thread *t) noexcept;

// Makes a thread that has not been launched one that runs on these harts only. Returns 0, EINVAL, ENOMEM.
int set_affinity(thread *t, const int *harts, std::size_t n) noexcept;
// A thread that was prepared is given to its scheduler, which has to ask from now on.
void announce_affinity(const thread *t) noexcept;
// For a thread that begins again: what it had.
void keep_affinity(thread *t, std::unique_ptr<hart_set> harts) noexcept;

// Was it created with an affinity? Any thread.
bool was_given_affinity(const thread *t) noexcept;

// The calling thread, or null.
inline thread *own_thread() noexcept { return thread_of(core::current_context()); }

// Was the caller's cancellation requested, and may it act upon it?
inline bool is_cancelled(std::uintptr_t state) noexcept {
    return (state & (thread_extension::bits & ~thread_extension::taking)) == thread_extension::requested;
}
inline bool is_cancelled(const thread_extension *x) noexcept {
    // With the request comes what its maker did before: the extension is marked.
    return x && is_cancelled(x->state.load(std::memory_order_acquire)); // acquire[suspend]
}
// Takes the context out of the state and sets bits in it; null: the thread is not suspended, or a request to cancel it
// means nothing to it now. The thread may be gone when the context is made ready. The first request to a thread that
// runs or waits elsewhere also sets `taking`, which the caller takes off again.
core::context *take_suspended(thread_extension *x, std::uintptr_t set, std::uintptr_t &before) noexcept;
// At a cancellation point: if the calling thread was cancelled it ends here, or, if it unwinds by itself, the result is
// ECANCELED; else 0. May switch.
int cancel_here() noexcept;

// Returns when nobody has `taking` set. The thread itself.
void await_taker(const thread_extension *x) noexcept;

// The destructors of the values that the calling thread has, in rounds.
void destroy_values(thread_extension *x) noexcept;

} // namespace comity
