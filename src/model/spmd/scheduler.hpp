// The team as a scheduler in the tree.
#pragma once

#include "core/sched.hpp"

#include <cstdint>

namespace comity::spmd {

extern const comity_sched_callbacks_t team_callbacks;
extern const core::sched_hooks team_hooks;

} // namespace comity::spmd
