// A user-level thread: its descriptor, and the seam between what all threads share (thread.cpp) and how a technique
// starts and ends them (technique/). Protocol "Join": README.md.
#pragma once

#include "comity/thread.h"
#include "pool/unit.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>

struct alignas(64) comity_thread : comity::unit {
    void *(*fn)(void *) = nullptr;
    void *arg = nullptr;
    void *result = nullptr;             // written by the thread before `join`
    comity::core::context *c = nullptr; // full: from the creation; roc_l: from the start
    comity::unit_scheduler *owner = nullptr;
    // 0: it has not ended and nobody waits; `ended`; `detached`; else the context that waits. Changed by exchange.
    std::atomic<std::uintptr_t> join{0};
    std::uint32_t stack_size = 0; // 0: the default
    bool own_tls = false;
    std::uint8_t how = 0; // index of its technique
    alignas(16) std::byte data[COMITY_THREAD_DATA];

    static constexpr std::uintptr_t ended = 1, detached = 2;
};

namespace comity {

struct thread : comity_thread {};

// What a technique does (technique/). All run on a hart of the thread's scheduler.
struct technique {
    // Gets what the thread needs before it is pushed. An error number.
    int (*prepare)(thread *t, core::carrier *k) noexcept;
    // unit::run.
    void (*run)(unit *t, core::carrier *k) noexcept;
    // The calling context joins a thread that was taken back from its queue: runs it, and returns when it has ended.
    // Null: then no thread is.
    void (*run_for)(thread *t, core::context *joiner) noexcept;
    // The thread has left its context for good; on the transition context. Null: nothing to do.
    void (*left)(thread *t, core::carrier *k) noexcept;
    // Nobody will use the thread any more. On any thread; k: with a hart, or null. Null: nothing to do.
    void (*dispose)(thread *t, core::carrier *k) noexcept;
};

extern const technique full, roc_l;

// The functions that contexts of threads run, with the thread as argument: by them thread_of knows such a context.
void full_main(void *t) noexcept;
void roc_l_main(void *t) noexcept;
void roc_l_main_for(void *t) noexcept;

// The thread that runs on the context, or null.
inline thread *thread_of(const core::context *c) noexcept {
    const bool is_thread = c && (c->fn == roc_l_main || c->fn == roc_l_main_for || c->fn == full_main);
    return is_thread ? static_cast<thread *>(c->arg) : nullptr;
}

// ---- For techniques

// Counts the thread as ended and tells who waits for it. Returns a context that waits and that can go on on this hart
// (the caller resumes it), else null. The thread may be gone afterwards.
core::context *publish_end(thread *t, core::carrier *k) noexcept;

// Ends the calling thread on the transition context, whatever happened to it before.
[[noreturn]] void leave_context(thread *t) noexcept;

} // namespace comity
