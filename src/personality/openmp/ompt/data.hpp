// What the interface keeps of threads, regions and tasks while a tool is attached.
#pragma once

#include <cstdlib>

#include "personality/openmp/ompt/hooks.hpp"
#include "personality/openmp/thread.hpp"

namespace comity::openmp::ompt {

// Of a task. An explicit one's stands between the task and its data; an implicit one's is allocated.
struct alignas(16) task_info {
    tool_data data;
    task_frame frame;
    task *below;               // which its rank executed before, and goes back to
    unsigned flags;            // task_flag_bits
    thread_state state_before; // of the thread, when it began
    bool detached;             // its body was told to end with the event open
    task *self;                // the last word before a task's data (task_of)
};
static_assert(sizeof(task_info) == 64);

// Of a team, for its current region.
struct team_info {
    tool_data data;
    const void *caller; // where the region was opened
    unsigned flags;     // parallel_flag
    bool sections;
    // At a root only, while it executes a team of a league.
    league_region *league;
    task_info *initial; // the team's initial task, if this is the region that the team has in it; else null
};

// Of what a tool takes for a thread: whatever has its own thread-local storage, so that a tool's own is right. Only the
// thread itself writes it, but for the links and the end of the process.
struct native_thread {
    tool_data data{};
    thread_kind kind = thread_kind::worker;
    thread_state state = thread_state::undefined; // it waits; undefined: it works
    std::uint64_t wait_id = 0;
    call_site noted;
    tool_data *waits = nullptr; // dependent_wait's
    bool yields = false;
    bool ended = false;     // with the process; under the list's lock
    thread *root = nullptr; // an initial thread's
    native_thread *next = nullptr, *previous = nullptr;
};

// Null: the caller is none yet.
extern __thread native_thread *here __attribute__((tls_model("initial-exec"), visibility("hidden")));
native_thread &begin_thread(thread_kind kind) noexcept;
inline native_thread &mine() noexcept { return here ? *here : begin_thread(thread_kind::worker); }
// All threads that have begun end, for the tool.
void end_all_threads() noexcept;

task_info &make_info(thread *t) noexcept; // aborts when there is no memory
team_info &make_info(team *tm) noexcept;

inline task_info &info_of(task *what) noexcept {
    if (what->parent_task()) return *reinterpret_cast<task_info *>(what + 1);
    auto *t = reinterpret_cast<thread *>(reinterpret_cast<char *>(what) - offsetof(thread, implicit));
    return t->tool ? *t->tool : make_info(t);
}
inline team_info &info_of(team *tm) noexcept { return tm->tool ? *tm->tool : make_info(tm); }

// What the tool knows the region of the team's tasks by: teams of a league share theirs.
tool_data &region_data_of(team *tm) noexcept;

// The task enters the runtime from the frame; null: it is back.
inline void enter_runtime(task_info &info, void *frame) noexcept {
    info.frame.enter.pointer = frame;
    info.frame.enter_flags = frame ? frame_runtime | frame_is_cfa : 0;
}

// A step of the way from a task outwards: a rank, or the initial task that is around the region of a league's team.
struct enclosing {
    thread *rank; // null: there is none
    bool initial; // that team's

    task_info &info(task *what) const noexcept { return initial ? *info_of(rank->team).initial : info_of(what); }
    tool_data &region() const noexcept;
    unsigned size() const noexcept;   // of the region
    unsigned number() const noexcept; // in it
};
enclosing next_out(const enclosing &from) noexcept;

// ---- Callbacks

extern std::atomic<any_function> callbacks[last_event + 1] __attribute__((visibility("hidden")));

template <event E> typename callback<E>::type callback_for() noexcept {
    // acquire[ompt-callback]: what the tool did before it set the callback.
    return reinterpret_cast<typename callback<E>::type>(callbacks[static_cast<int>(E)].load(std::memory_order_acquire));
}
template <event E, class... A> void tell(A... arguments) noexcept {
    if (const auto function = callback_for<E>()) function(arguments...);
}

// entry_points.cpp: what a tool's initializer gets.
any_function look_up(const char *name) noexcept __attribute__((visibility("hidden")));
void finalize() noexcept; // the tool, once; any thread
bool has_tool() noexcept; // or is it only the check (check.hpp) that is told?

} // namespace comity::openmp::ompt
