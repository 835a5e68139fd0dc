// Pools: what is ready, in the order that the pool's kind gives. Everything here may be called by any thread.
#pragma once

#include "personality/argobots/object.hpp"

namespace comity::abt {

pool *make_pool(ABT_pool_kind kind, ABT_pool_access access, bool automatic) noexcept;
void free_pool(pool *p) noexcept;
// A scheduler has it, or has it no more: an automatic one is freed with its last scheduler.
void retain(pool *p) noexcept;
void release(pool *p) noexcept;

void push(pool *p, thread *t, ABT_pool_context op) noexcept;
// Null: there is nothing.
thread *pop(pool *p, ABT_pool_context op) noexcept;
bool is_empty(pool *p) noexcept;
// How many work units are in it; false: the program's pool cannot tell.
bool size_of(pool *p, std::size_t &size) noexcept;
bool can_remove(const pool *p) noexcept;
// The work unit, which stands in it, goes out of it. False: it does not stand there, somebody else has taken it.
bool take_out(pool *p, thread *t) noexcept;

// The work unit, which stands in no pool, belongs to `to` from now on. ABT_SUCCESS, or ABT_ERR_UNIT, ABT_ERR_MEM: it
// belongs where it did.
int associate(thread *t, pool *to) noexcept;
void leave_pool(thread *t) noexcept;
// What a work unit is known by that is in no pool of the program's own kind.
ABT_unit built_in_unit(thread *t) noexcept;
// Null: no such unit is known.
thread *thread_of(ABT_unit unit) noexcept;

} // namespace comity::abt
