// Threads with thread-local storage of their own (own_tls): each begins with initialised variables, and their
// destructors run when it ends. The storage itself goes from one thread to the next.
#pragma once

#include "thread/thread.hpp"

#include <climits>

namespace comity {

// comity_thread_attr_t::own_tls of a thread whose creator sees to its variables itself (POSIX threads).
inline constexpr int storage_of_creator = INT_MIN;

// For a thread with own_tls that was not launched yet. Returns 0 or ENOMEM.
int begin_with_own_storage(thread *t) noexcept;
// By the thread itself, as it begins.
COMITY_SHARED void renew_own_storage() noexcept;
// By the thread itself, before it ends; also after whatever may have made further variables. May switch.
void end_own_storage() noexcept;

} // namespace comity
