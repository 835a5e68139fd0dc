// setuid and its like, where kernel threads run on storage that is not their own. README.md, "setuid".
#pragma once

#include "sys/shared.hpp"

namespace comity::core {

// From now on each kernel thread answers the C library's setuid as the thread that it is. To be called on a kernel
// thread's own storage, before any is lent, when the C library has created a thread.
void answer_setuid_as_own_thread() noexcept;

// Whose storage the calling kernel thread runs on: its own; one that is lent to it, so that the C library takes it for
// another thread; or that cannot be told, and its setuid would wait for ever while storage is lent.
enum class running_on { own, lent, unknown };
COMITY_SHARED running_on storage_here() noexcept;

} // namespace comity::core
