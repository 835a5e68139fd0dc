// What a rank and a team have for tasks.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "core/spinlock.hpp"
#include "personality/openmp/task.hpp"
#include "personality/openmp/task_memory.hpp"
#include "pool/deque.hpp"
#include "sync/wait_list.hpp"
#include "sys/linked_list.hpp"
#include "sys/own_count.hpp"

namespace comity::openmp {

// A rank's; it is the owner of the deque and of the pool.
struct rank_tasks {
    std::uint32_t random = 0;
    std::uint64_t stolen_at = 0;    // ticks
    unsigned stolen = 0;            // how many then; 0: it has looked for others since
    std::uint64_t usual_length = 0; // of a stolen task, in ticks
    std::uint64_t pauses_until = 0; // ticks; it does not steal before. 0: it does
    unsigned yields = 0;            // taskyields around the current task that run others
    bool gone = false;              // arrived at the barrier by leaving its implicit task's count
    bool listed = false;            // among the team's helpers; under helpers_lock
    thread *next_helper = nullptr;
    std::atomic<bool> called{false}; // a helper that there is something for; set by the caller
    sync::wait_list changed;         // what it waits for in a task: its children's end, and calls
    block_pool memory;
    pool::deque<task> ready;
};

struct by_next_helper {
    template <class Thread> static auto &of(Thread *t) noexcept { return t->tasks.next_helper; }
};

// A team's. Few tasks come here: those with a priority, and what outsiders bring.
struct team_tasks {
    sys::own_count<unsigned> shared;   // how many are in the two lists below; written under lock
    std::atomic<unsigned> visitors{0}; // outsiders that are about to touch the team; any thread
    core::spinlock lock;
    task *completed = nullptr; // bodies have run and outsiders have fulfilled their events; under lock
    std::vector<task *> heap;  // the most urgent first; under lock
    core::spinlock helpers_lock;
    sys::counted_list<thread, by_next_helper> helpers; // ranks that sleep in a wait for tasks; under helpers_lock
};

} // namespace comity::openmp
