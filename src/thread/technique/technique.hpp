// What the techniques share, and the functions that make them up: table.cpp combines them. README.md.
#pragma once

#include "core/carrier.hpp"
#include "sys/message.hpp"
#include "thread/cache.hpp"

namespace comity {

// ---- Contexts

// Dresses the context that the thread has for it.
inline core::context *own_context(thread *t) noexcept {
    core::context *c = t->c;
    c->owner = t->owner;
    c->runs = t;
    return c;
}

// A context for a thread that starts and finds none at hand. Null: there is none to be had, and the thread, which may
// be gone, will be started later.
core::context *find_context(thread *t, core::carrier *k) noexcept;

// Gives a thread that starts a context to run on; an eager one has it. Null: as above.
template <bool eager> core::context *get_context(thread *t, core::carrier *k) noexcept {
    if constexpr (!eager) {
        core::context *c = is_plain(t) ? own_cache(k).contexts[0].pop() : nullptr;
        if (!c) [[unlikely]]
            if (!(c = find_context(t, k))) return nullptr;
        t->c = c;
    }
    return own_context(t);
}

// The same for a plain thread, whose `runs` run_plain_threads fills in.
inline core::context *get_plain_context(thread *t, core::carrier *k) noexcept {
    core::context *c = own_cache(k).contexts[0].pop();
    if (!c) [[unlikely]]
        if (!(c = find_context(t, k))) return nullptr;
    t->c = c;
    c->owner = t->owner;
    return c;
}

// The same for a thread that its joiner starts. Null: the thread has ended meanwhile.
template <bool eager> core::context *get_context_to_join(thread *t, core::context *joiner) noexcept {
    core::context *c = get_context<eager>(t, joiner->on);
    if (!eager && !c) [[unlikely]]
        while (t->join.get() == end_word::open) t->join.wait();
    return c;
}

// The thread has left its context for good.
inline void part_from_context(thread *t, core::carrier *k) noexcept {
    if (!t->has(thread::that_has_context | thread::that_is_special)) [[likely]]
        give_back_plain_context(t->c, k);
    else if (!t->has(thread::that_has_context))
        give_back_context(t->c, t->stack_size, t->own_tls(), k);
}

// ---- The end

// What a context runs for a thread: it returns if the context was never stopped, else it leaves for good.
void run_and_return(void *t) noexcept;
// The same, and always leaves.
void run_and_leave(void *t) noexcept;

// Frees what it has beyond its descriptor.
void free_extension(thread *t) noexcept;
// Nobody will use the thread any more. k: the calling carrier with a hart, or null.
inline void dispose(thread *t, core::carrier *k) noexcept {
    if (how(t).eager) give_back_context(t->c, t->stack_size, t->own_tls(), k);
    if (t->is_extended()) [[unlikely]]
        free_extension(t);
    give_back_descriptor(t, k);
}

// Somebody joins the thread, which has ended, or nobody ever will: what publish_end found in its word.
core::context *tell_waiter(std::uintptr_t found, thread *t, core::carrier *k) noexcept;
// Counts the thread as ended and tells who waits for it. Returns a context that waits and that can go on on this hart
// (the caller resumes it), else null. The thread may be gone afterwards.
[[gnu::always_inline]] inline core::context *publish_end(thread *t, core::carrier *k, bool alone) noexcept {
    work_of(k)->add_ended();
    const std::uintptr_t found = t->join.end(alone);
    return found == end_word::open ? nullptr : tell_waiter(found, t, k);
}

[[gnu::always_inline]] inline core::context *publish_end(thread *t, core::carrier *k) noexcept {
    return publish_end(t, k, work_of(k)->owner->alone());
}

// On the transition context: the thread has left its context for good, and has ended. Goes on with who waits for it, if
// somebody does who can go on here.
inline void finish(thread *t, core::carrier *k) noexcept {
    part_from_context(t, k);
    if (core::context *waiter = publish_end(t, k)) [[unlikely]]
        core::resume(k, waiter);
}

// On the transition context: whatever the scheduler has next.
[[noreturn]] void go_on_elsewhere(core::carrier *k) noexcept;
// Ends a thread on the transition context, whatever happened to it before.
[[noreturn]] void leave_context(thread *t) noexcept;

// What may run next where a thread has just ended, instead of leaving that to the scheduler: the hart's newest unit, if
// it is wanted. Null: it is not, or it is the turn of something else.
template <class Wanted> [[gnu::always_inline]] inline unit *next_unit(unit_scheduler::slot *w, Wanted wanted) noexcept {
    const unsigned turn = w->take_turn_at_home();
    if (turn % 4 == 0) {
        if (turn == 0 || (!w->ready.empty() && w->owes_ready(turn))) return nullptr;
        if (w->owner->could_use_harts() && w->fresh.size() > 1) [[unlikely]]
            w->owner->hooks->units->call_help(w->owner);
    }
    return w->fresh.take_if(wanted);
}

// The same for who runs threads that start alike one after the other. Every `at_once` of them it looks whether it is
// somebody else's turn.
class next_alike {
public:
    // run: how they start; alone: there is one hart only (unit_scheduler::alone).
    next_alike(run_function_t run, bool alone) noexcept : run_(run), alone_(alone) {}
    // stopped: the thread before was, or another one here; then each counts as a turn, for those that are ready stand
    // behind each other.
    [[gnu::always_inline]] thread *take(core::carrier *k, bool stopped) noexcept {
        unit_scheduler::slot *w = work_of(k);
        const auto is_alike = [run = run_](const unit *next) { return next->run == run; };
        if (stopped) [[unlikely]]
            return as_thread(next_unit(w, is_alike));
        if (--left_ == 0) [[unlikely]] {
            if (!may_go_on(w, k)) return nullptr;
            left_ = at_once;
        }
        return as_thread(alone_ ? w->fresh.take_alone_if(is_alike) : w->fresh.take_if(is_alike));
    }

private:
    static thread *as_thread(unit *u) noexcept { return static_cast<thread *>(static_cast<comity_thread *>(u)); }
    static constexpr unsigned at_once = 4;
    static bool may_go_on(unit_scheduler::slot *w, core::carrier *k) noexcept;
    const run_function_t run_;
    const bool alone_;
    unsigned left_ = at_once;
};

// What a context runs for plain threads of lazy techniques: the one that it starts with, and then others of the hart's
// that are alike, for as long as there are any. Between two of them the context is the scheduler's: a thread that is
// stopped takes it along, and its end leads back into this loop, wherever that is. It returns if the context was never
// stopped.
void run_plain_threads(void *t) noexcept;
// Ends such a context and goes on with `next`, or with whatever the scheduler has.
[[noreturn]] void leave_to(core::context *c, core::context *next) noexcept;

// ---- technique::run: by a switch, by a call, by a call that saves nothing, by a call on the scheduler's stack

template <bool eager> void run_by_switch(unit *t, core::carrier *k) noexcept;
template <bool eager> void run_by_call(unit *t, core::carrier *k) noexcept;
template <bool eager> void run_separately(unit *t, core::carrier *k) noexcept;
void run_plain_by_call(unit *t, core::carrier *k) noexcept;
void run_plain_separately(unit *t, core::carrier *k) noexcept;
void run_plain_on_scheduler(unit *t, core::carrier *k) noexcept;
void run_stackless(unit *t, core::carrier *k) noexcept;

// ---- technique::run_for

template <bool eager> void join_by_switch(thread *t, core::context *joiner) noexcept;
template <bool eager> void join_by_call(thread *t, core::context *joiner) noexcept;
// On the joiner's own stack, if that has room; else by a call.
void run_on_joiner(thread *t, core::context *joiner) noexcept;
void join_stackless(thread *t, core::context *joiner) noexcept;
// On the joiner's stack, unless nearly all threads that ran there were stopped of late: then by a switch.
void run_where_it_pays(thread *t, core::context *joiner) noexcept;

// ---- technique::start: child-first

int start_by_switch(thread *t, core::context *parent) noexcept;
int start_by_call(thread *t, core::context *parent) noexcept;

// Does the thread, which runs, do so on the stack of the context that joins it?
inline bool is_on_joiner(const thread *t) noexcept { return t->join.get() == reinterpret_cast<std::uintptr_t>(t->c); }
// Ends a thread that runs on its joiner's stack; the joiner goes on.
[[noreturn]] void leave_joiner(thread *t) noexcept;

} // namespace comity
