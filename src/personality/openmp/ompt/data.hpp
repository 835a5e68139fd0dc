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
    const void *unused;
    task *self; // the last word before a task's data (task_of)
};
static_assert(sizeof(task_info) == 64);

// Of a team, for its current region.
struct team_info {
    tool_data data;
    const void *caller; // where the region was opened
    unsigned flags;     // parallel_flag
    bool sections;
};

// Of what a tool takes for a thread: whatever has its own thread-local storage, so that a tool's own is right. Only the
// thread itself writes it, but for the links and the end of the process.
struct native_thread {
    tool_data data{};
    thread_kind kind = thread_kind::worker;
    thread_state state = thread_state::undefined; // it waits; undefined: it works
    std::uint64_t wait_id = 0;
    place noted;
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

} // namespace comity::openmp::ompt
