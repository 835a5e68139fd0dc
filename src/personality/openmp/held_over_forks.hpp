// A lock that may be held by any thread as another one forks.
#pragma once

#include "core/spinlock.hpp"
#include "sys/message.hpp"
#include "sys/process.hpp"

namespace comity::openmp {

// From now on, whatever other threads are at, the child of a fork finds what the lock guards whole. Call it in a
// constructor. `where` names the function at which a child hangs, if there is no memory for that.
template <core::spinlock &lock> void hold_over_forks(const char *where) noexcept {
    if (!sys::at_fork([] { lock.lock(); }, [] { lock.unlock(); }, [] { lock.unlock(); }))
        sys::warn("no memory to prepare for fork: a child process may hang %s", where);
}

} // namespace comity::openmp
