// A program's own kinds of pools, and the configuration of pools and schedulers.
#pragma once

#include "personality/argobots/object.hpp"

namespace comity::abt {

// Gives the pool the program's functions, in whichever of the two ways they were defined.
void define(pool *p, ABT_pool_user_def def) noexcept;
bool read_pool_config(ABT_pool_config config, int key, void *value) noexcept;

} // namespace comity::abt
