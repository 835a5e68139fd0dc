// A worker that has nothing to do spins for a while before it sleeps (README.md, "Park and wake", 6), since the next
// work may be about to come.
#pragma once

#include "sys/shared.hpp"

namespace comity::core {

// Not so the calling worker when it is idle next: what it would wait for comes from outside the process. On the
// transition context.
COMITY_SHARED void skip_idle_spin() noexcept;

} // namespace comity::core
