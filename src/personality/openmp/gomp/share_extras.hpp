// What the general forms of worksharing constructs have beside their iterations: task reductions, and memory that all
// ranks see.
#pragma once

#include "personality/openmp/thread.hpp"
#include "personality/openmp/work_share.hpp"

namespace comity::openmp {

// Before the construct is entered.
inline void begin_extras(thread *t, const std::uintptr_t *reductions) noexcept {
    if (!reductions) return;
    begin_group(t);
    t->task->group->workshare = true;
}

// After it was entered and, by the first rank, before it is published. In *memory: the size wanted, then the memory.
inline void join_extras(thread *t, bool first, std::uintptr_t *reductions, void **memory) noexcept {
    work_share *share = t->share;
    if (!share) return; // the region was cancelled
    if (reductions) {
        taskgroup *group = t->task->group;
        chain_reductions(reductions, group->reductions, first ? nullptr : share->reductions, t->size);
        group->reductions = reductions;
        if (first) share->reductions = reductions;
    }
    if (memory) *memory = first ? share_memory(share, reinterpret_cast<std::size_t>(*memory)) : share->memory;
}

} // namespace comity::openmp
