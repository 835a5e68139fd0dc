// Does the C library take the caller for a thread like any other? For self-tests on thread-local storage that Comity
// lent or made. Any thread; does not switch; makes and frees one key.
#pragma once

#include <cstdint>

namespace comity::sys {

// nullptr when pthread_self, keys, a recursive mutex and sched_getcpu work for the caller, whose thread pointer
// is `base` and who has never used a key; else what does not, in words.
const char *probe_thread(std::uintptr_t base) noexcept;

} // namespace comity::sys
