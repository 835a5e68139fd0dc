// A user-level thread: its descriptor, and the seam between what all threads share (thread.cpp) and how a technique
// starts and ends them (technique/). Protocol "Join": README.md.
#pragma once

#include "comity/thread.h"
#include "pool/unit.hpp"
#include "sys/own_memory.hpp"
#include "thread/end_word.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

// A function on the way of every thread: where it lies against the lines of the instruction cache is worth up to a
// twentieth of the whole way, and would change with each change of another function before it.
#define COMITY_HOT [[gnu::aligned(64)]]

namespace comity {
struct thread_extension;
struct interruption;
} // namespace comity

// What a thread seldom needs. It stands apart from the descriptor, so that the descriptors of many threads lie
// close together: with both in one, those of 256 threads would use every other line of a first-level cache, and all of
// these.
struct alignas(64) comity_thread_rest {
    // What few threads have: a name, values of keys, a request to cancel it (extension.hpp). Null in a free descriptor.
    std::atomic<comity::thread_extension *> more{nullptr};
    // While it waits at a cancellation point: how a request to cancel it ends that. Written by the thread ("Cancelled
    // waits": README.md).
    std::atomic<comity::interruption *> waits{nullptr};
    alignas(16) std::byte data[COMITY_THREAD_DATA];
};

// One cache line, all that a thread created in C touches. While it runs, `next` is its technique's.
struct alignas(64) comity_thread : comity::unit {
    std::uint8_t how = 0; // its technique: an index into `techniques`
    // What its creator wanted beyond the technique, and what has happened to it: bits. Written by whoever has the
    // handle alone; while the thread lives `is_extended` may be added by anybody.
    std::atomic<std::uint8_t> marks{0};
    std::uint32_t stack_size = 0; // 0: the default
    void *(*fn)(void *) = nullptr;
    void *value = nullptr; // fn's argument, then its result; written by the thread before `join`
    comity::unit_scheduler *owner = nullptr;
    comity::end_word join;
    comity::core::context *c = nullptr; // where it runs, from its start; eager techniques: from its creation

    // with_tls: it needs a full context. that_has_context: its technique is eager. that_is_special: it has its own TLS,
    // or a stack size. that_unwinds: a cancellation point returns to it; that_drops_results: its result is not the
    // program's (both by attr.unwinds). that_is_prepared: it was, and not launched yet. that_is_extended: `more` is
    // there. that_is_tracked: its scheduler is to be told of its end.
    static constexpr unsigned with_tls = 1, that_has_context = 2, that_unwinds = 4, that_drops_results = 8,
                              that_is_prepared = 16, that_is_special = 32, that_is_extended = 64, that_is_tracked = 128;
    static constexpr unsigned prepared_marks(int unwinds) noexcept {
        return static_cast<unsigned>(unwinds & 3) << 2 | that_is_prepared;
    }
    bool has(unsigned any_of) const noexcept { return marks.load(std::memory_order_relaxed) & any_of; }
    void mark_as(unsigned all) noexcept { marks.store(static_cast<std::uint8_t>(all), std::memory_order_relaxed); }
    void add_marks(unsigned some) noexcept { mark_as(marks.load(std::memory_order_relaxed) | some); }
    void take_marks(unsigned some) noexcept { mark_as(marks.load(std::memory_order_relaxed) & ~some); }
    bool own_tls() const noexcept { return has(with_tls); }
    bool unwinds() const noexcept { return has(that_unwinds); }
    bool drops_results() const noexcept { return has(that_drops_results); }
    bool is_prepared() const noexcept { return has(that_is_prepared); }
    bool is_extended() const noexcept { return has(that_is_extended); }
};

namespace comity {

struct thread : comity_thread {
    comity_thread_rest &rest() noexcept;
    const comity_thread_rest &rest() const noexcept { return const_cast<thread *>(this)->rest(); }
};

// Descriptors are made by the block: a page of them, and behind it a page of what they seldom need, which takes no
// memory before one of them does. So that page is not written here: the kernel gives it as zeros, and these are what a
// rest begins with.
struct descriptor_block {
    static constexpr unsigned size = 64;
    thread threads[size];
    union {
        comity_thread_rest rests[size];
    };
    descriptor_block() noexcept {} // NOLINT(modernize-use-equals-default): the union has no default one
    ~descriptor_block() = delete;
    static void *operator new(std::size_t bytes, const std::nothrow_t &) noexcept {
        return sys::allocate_own_pages(bytes);
    }
};
static_assert(sizeof(thread) == 64 && sizeof(comity_thread_rest) == 64); // as far apart at each place
inline comity_thread_rest &thread::rest() noexcept {
    return *reinterpret_cast<comity_thread_rest *>(this + descriptor_block::size);
}

// What a technique does (technique/). All run on a hart of the thread's scheduler.
struct technique {
    // unit::run of a thread that has not started; `run` of plain ones: with the default stack size and no TLS of their
    // own.
    void (*run)(unit *t, core::carrier *k) noexcept;
    void (*run_special)(unit *t, core::carrier *k) noexcept;
    // The calling context joins a thread that it took back from its queue: runs it, and returns when it has ended.
    // Null: then none is taken back.
    void (*run_for)(thread *t, core::context *joiner) noexcept;
    // Starts the thread at its creation, and the parent waits in a queue meanwhile; 0, which the creation returns.
    // Null: parent-first techniques.
    int (*start)(thread *t, core::context *parent) noexcept;
    bool eager; // the context belongs to the thread from its creation until it is disposed of, not from start to end
};

inline constexpr unsigned number_of_techniques = 14;
[[gnu::visibility(
    "hidden")]] extern const technique techniques[number_of_techniques]; // by comity_technique_t; technique/table.cpp
// technique::run of those whose threads take nothing but a descriptor until they start; null: the others.
using run_function_t = void (*)(unit *t, core::carrier *k) noexcept;
[[gnu::visibility("hidden")]] extern const std::array<run_function_t, number_of_techniques> runs_without_context;
inline const technique &how(const thread *t) noexcept { return techniques[t->how]; }

// Before the thread ends, if one of these marks is set: destructors of its keys, and what else it wants done; its
// scheduler is told. May switch.
inline constexpr unsigned marks_at_end = thread::that_is_extended | thread::that_is_tracked;
void end_with_more(thread *t) noexcept;
// Runs its function.
[[gnu::always_inline]] inline void run_function(thread *t) noexcept {
    t->value = t->fn(t->value);
    if (t->has(marks_at_end)) [[unlikely]]
        end_with_more(t);
}

inline bool has_ended(const thread *t) noexcept { return t->join.get() == end_word::ended; }
// A handle that was joined, and no other thread has got the descriptor yet.
inline bool is_freed(const thread *t) noexcept { return t->join.get() == end_word::freed; }
// Nobody will join the thread, which has ended: what it has thrown ends the program (COMITY_THREAD_UNWINDS_CXX).
inline void lose_result(const thread *t) noexcept {
    if (t->drops_results() && t->value && t->value != COMITY_THREAD_CANCELLED) [[unlikely]]
        (*static_cast<void (**)(void *)>(t->value))(t->value);
}
inline bool is_detached(const thread *t) noexcept { return t->join.get() == end_word::detached; }
// Waits until it has ended. Returns 0 or the error number of joining it. A cancellation point. May switch.
int wait_for_end(thread *t, std::uintptr_t state) noexcept;

// Has one found no memory for its context at its start? Others had better get theirs at their creation, which can fail.
COMITY_SHARED bool contexts_were_missing() noexcept;

// The default stack size, and no TLS of its own?
inline bool is_plain(const thread *t) noexcept { return !t->has(thread::that_is_special); }

// The thread that runs on the context, or null.
inline thread *thread_of(const core::context *c) noexcept { return c ? static_cast<thread *>(c->runs) : nullptr; }

} // namespace comity
