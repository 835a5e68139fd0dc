// Work units: how they are made, taken up, stopped, and how they end. Everything that switches between them is here.
// Protocols: README.md.
#pragma once

#include "core/sched.hpp"
#include "personality/argobots/object.hpp"
#include "personality/argobots/streams.hpp"

namespace comity::abt {

inline void nothing(void *) noexcept {}

// ---- Who calls

// The work unit on whose stack the caller runs: a ULT or a scheduler. Null: the caller is no part of the streams.
inline thread *own_thread() noexcept {
    context *c = core::current_context();
    streams *all = all_streams.load(std::memory_order_relaxed);
    return c && all && c->owner == all ? static_cast<thread *>(c->local) : nullptr;
}
// The calling work unit; a tasklet runs on its scheduler's stack.
inline thread *self() noexcept {
    thread *t = own_thread();
    return t ? t->on->current : nullptr;
}
inline stream *own_stream() noexcept {
    thread *t = own_thread();
    return t ? t->on : nullptr;
}
// The calling ULT, if it can let its stream go on without it.
inline thread *leaving_ult() noexcept {
    thread *t = own_thread();
    return t && t->on->current == t && t->kind != unit_kind::main_scheduler && t->parent ? t : nullptr;
}

// ---- Life

struct thread_options {
    std::size_t stack_size = 0; // 0: the default
    void *stack_address = nullptr;
    bool migratable = true;
    void (*on_migration)(ABT_thread, void *) = nullptr;
    void *migration_arg = nullptr;
    bool of_another = false; // the stack is in use
};

// A new work unit that belongs to `home` and is in no pool. ABT_SUCCESS, ABT_ERR_MEM or ABT_ERR_UNIT.
int create(pool *home, void (*fn)(void *), void *arg, unit_kind kind, const thread_options &options, bool named,
           thread *&made) noexcept;
// Frees one that has ended, or was never pushed, with its values.
void destroy(thread *t) noexcept;
// What has ended begins anew, in no pool. ABT_SUCCESS or ABT_ERR_UNIT.
int revive(thread *t, pool *home, void (*fn)(void *), void *arg) noexcept;
// Returns when it has ended. May switch.
void join(thread *t) noexcept;
// It has ended, and nobody runs on its stack: frees what it does not need, and tells who waits. An unnamed one is gone
// then.
void finish(thread *t) noexcept;
std::uint64_t id_of(thread *t) noexcept;

// ---- Running

// Takes the work unit up as a child of `by`, the calling ULT or scheduler. Returns when it has ended or stopped.
// Switches.
void run(thread *by, thread *t) noexcept;
// Stops the calling ULT and goes on with its parent; after(arg) runs there, when the caller is off its stack. Returns
// when the caller is taken up again.
void leave_to_parent(thread *t, core::arch::after_fn after, void *arg) noexcept;
// The same, but goes on with a ULT of the caller's choice, in its own place. False: there is no stack for it.
[[nodiscard]] bool leave_to(thread *t, thread *to, core::arch::after_fn after, void *arg) noexcept;
// Ends the calling ULT.
[[noreturn]] void exit_to_parent(thread *t) noexcept;
[[noreturn]] void exit_to(thread *t, thread *to) noexcept; // which must have a stack
[[nodiscard]] bool give_stack(thread *t) noexcept;

void push_stopped(thread *t, ABT_pool_context op) noexcept;
// The caller goes on with another ULT without its stream's scheduler, as it may for ever: now and then others that wait
// for the hart have it first.
void pass_by(stream *s) noexcept;

// `after` functions for a ULT that stops: it is ready, or blocked.
void after_yield(void *t) noexcept;
template <ABT_pool_context Op> void after_going(void *t) noexcept { push_stopped(static_cast<thread *>(t), Op); }
void after_suspend(void *t) noexcept;

// The ULT has stopped and waits. It goes on after make_ready.
void mark_blocked(thread *t) noexcept;
void make_ready(thread *t, ABT_pool_context op) noexcept;

// What a stream's context runs.
void stream_main(void *s);

} // namespace comity::abt
