// For a call that the kernel makes only in a process of one kernel thread, Comity's own ones, its helpers, end before
// it and begin again after it. README.md, "One kernel thread".
#pragma once

#include "sys/shared.hpp"

namespace comity::core {

struct sched;

// A kind of kernel threads of Comity's that end if they are asked to.
struct helper {
    // How many of them there are that would end now; stale at once.
    unsigned (*count)() noexcept;
    // They end. Returns when they will do so without anybody's help. One caller at a time.
    void (*end)() noexcept;
    // Makes again what is needed without being asked for. Null: nothing is.
    void (*begin)() noexcept;
    helper *next = nullptr; // those that were added before
    bool has_ended = false; // and is to begin again
};

// For good. Any thread; each kind once.
COMITY_SHARED void add_helper(helper &kind) noexcept;

// The calling kernel thread is the process' only one from here to end_being_alone: true. It is the first thread, in no
// scheduler but `home` (null: in none), in which nothing is to be done; it does not wait for a context of its process
// meanwhile, and no signal is handled. What it has of the kernel's for itself (kernel_state.hpp) is the process' then,
// also afterwards. False: there are kernel threads of the program's, or something of Comity's is at work; nothing has
// changed.
COMITY_SHARED bool become_alone(const sched *home) noexcept;
COMITY_SHARED void end_being_alone() noexcept;

} // namespace comity::core
