// Task reductions of LLVM's ABI: each rank that takes part has a copy of each variable, found by a call; the end of the
// taskgroup combines them.
#pragma once

#include "personality/openmp/thread.hpp"

namespace comity::openmp::kmp {

// The end of a taskgroup that may have reductions: waits for its tasks, then combines. May switch.
void end_group_with_reductions(thread *t) noexcept;

} // namespace comity::openmp::kmp
