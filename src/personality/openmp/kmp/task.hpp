// LLVM's tasks: the compiler asks for a task's memory, fills it, and then says what shall become of it.
#pragma once

#include "personality/openmp/kmp/abi.hpp"
#include "personality/openmp/task.hpp"

namespace comity::openmp::kmp {

// Of a function that calls one of the program's: UndefinedBehaviorSanitizer would complain that the program's type of a
// task is not this library's.
#define COMITY_CALLS_PROGRAM __attribute__((no_sanitize("undefined")))

struct kmp_task;
using task_routine = i32 (*)(i32 number, kmp_task *);

// As the compiler has it; the task's private variables follow, then what it shares with its creator.
struct kmp_task {
    void *shared; // where its addresses of shared variables are
    task_routine routine;
    i32 part; // of an untied task: where it goes on
    union {
        i32 priority;
        task_routine destructors;
    } first, second; // destructors; priority
};

// What we keep before it, at the beginning of the task's memory in the core.
struct alignas(16) task_head {
    u32 size;   // of the compiler's part
    u32 shared; // offset of what is shared, in that part
    i32 flags;  // task_bit
};

enum task_bit : i32 {
    task_is_tied = 1 << 0,
    task_is_final = 1 << 1,
    task_is_mergeable = 1 << 2,
    task_has_destructors = 1 << 3,
    task_is_proxy = 1 << 4, // completed by a call from elsewhere
    task_has_priority = 1 << 5,
    task_is_detachable = 1 << 6,
};

inline task_head *head_of(kmp_task *k) noexcept { return reinterpret_cast<task_head *>(k) - 1; }
inline kmp_task *body_of(void *head) noexcept {
    return reinterpret_cast<kmp_task *>(static_cast<task_head *>(head) + 1);
}
inline task *core_task(kmp_task *k) noexcept { return task_of(head_of(k)); }

// A child of the current task with room for `size` bytes, of which the last ones, from `shared` on, are shared data.
kmp_task *make_task(thread *t, u32 size, u32 shared, i32 flags, task_routine routine) noexcept;
// The compiler has filled the task: what it said of it goes to the core.
task *finish_set_up(kmp_task *k) noexcept;

// One entry of a depend clause as the compiler has it.
struct kmp_dependence {
    void *location;
    std::size_t length; // not looked at: dependences are on the same beginning
    std::uint8_t flags;
};

} // namespace comity::openmp::kmp
