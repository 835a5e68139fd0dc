// Stacks and descriptors of work units, kept for use again: a few with each stream, the others in common.
#pragma once

#include "personality/argobots/object.hpp"

namespace comity::abt {

// A context that has not started: of the default size (size 0), of a size of its own, or in the program's memory. Null:
// no memory. `s`: the caller's stream, or null.
context *take_stack(stream *s, std::size_t size, void *address) noexcept;
// The work unit will not run on it again.
void drop_stack(thread *t) noexcept;

thread *new_thread(stream *s) noexcept;
void delete_thread(stream *s, thread *t) noexcept;

// What a stream, or all in common, have kept is freed.
void forget_kept(stream *s) noexcept;
void forget_kept() noexcept;

// What the environment says, read at each ABT_init (docs/argobots.md lists the variables).
struct settings_t {
    std::size_t thread_stack = std::size_t{16} << 10;
    std::size_t scheduler_stack = std::size_t{4} << 20;
    unsigned event_frequency = 50;
    unsigned long sleep_ns = 100;
    unsigned max_streams = 0;
    bool print_config = false;
};
settings_t &settings() noexcept;
void read_settings() noexcept;

} // namespace comity::abt
