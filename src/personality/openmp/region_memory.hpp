// Does a region make explicit tasks? Ranks that have nothing more to do may then help, if they wait for each other at
// the end of the region; in a region without tasks that wait would only cost. A region is known by its function: at
// first it may make tasks, afterwards it does what it did before. A wrong guess costs time, never tasks: who makes them
// finishes them.
#pragma once

#include <atomic>
#include <cstdint>

#include "personality/openmp/thread.hpp"

namespace comity::openmp {

// Functions that made no tasks when they ran last. Direct-mapped: a function may push another out.
inline constexpr unsigned remembered_functions = 4096;
extern std::atomic<const void *> taskless[remembered_functions]; // any thread writes

inline std::atomic<const void *> &memory_of(const void *f) noexcept {
    auto address = reinterpret_cast<std::uintptr_t>(f);
    return taskless[(address >> 4 ^ address >> 16) % remembered_functions];
}
inline bool may_make_tasks(const void *f) noexcept { return memory_of(f).load(std::memory_order_relaxed) != f; }
inline void remember_tasks(const void *f, bool made) noexcept {
    memory_of(f).store(made ? nullptr : f, std::memory_order_relaxed);
}

} // namespace comity::openmp
