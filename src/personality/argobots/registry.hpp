// The streams that exist, and their life.
#pragma once

#include "personality/argobots/object.hpp"

namespace comity::abt {

// A stream with this main scheduler, which is marked as used, that does not run yet. rank -1: the lowest free one.
// Null: ABT_ERR_MEM or ABT_ERR_INV_XSTREAM_RANK.
stream *make_stream(scheduler *d, int rank, int &error) noexcept;
// It has ended, or never run.
void free_stream(stream *s) noexcept;
// A scheduler, which is marked as used and has its work unit, is the main one of a stream that does not run, or is it
// no more: then it may be gone.
void become_main(stream *s, scheduler *d) noexcept;
void stop_being_main(scheduler *d) noexcept;
// Asks it to end when it has no more work, and waits for that. May switch.
void join_stream(stream *s) noexcept;
// The primary stream's scheduler has ended: goes on with the main ULT, which waits for that in ABT_finalize.
void primary_ends(stream *s) noexcept;

// Under the registry's lock: `visit` is short and does not switch.
void for_each_stream(void (*visit)(stream *, void *), void *arg) noexcept;
// Any stream but the primary one, or null.
stream *other_stream() noexcept;
// A stream that runs, other than `from`, or null.
stream *migration_target(const stream *from) noexcept;
int count_streams() noexcept;
// False: the rank is taken.
bool set_rank(stream *s, int rank) noexcept;

} // namespace comity::abt
