// The lock for a few dozen instructions, under the name that everything above the core uses.
#pragma once

#include "sys/spinlock.hpp"

namespace comity::core {

using sys::spinlock;

} // namespace comity::core
