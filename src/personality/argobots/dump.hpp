// Printing stacks.
#pragma once

#include "personality/argobots/object.hpp"

#include <cstdio>

namespace comity::abt {

void print_stack(std::FILE *fp, thread *t) noexcept;
// Of all work units in the pool. ABT_SUCCESS, or ABT_ERR_POOL: the program's pool cannot tell them.
int print_stacks(std::FILE *fp, pool *p) noexcept;

} // namespace comity::abt
