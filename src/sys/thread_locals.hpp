// Thread-local variables of the program and its libraries, on thread-local storage that one thread leaves to the next.
#pragma once

#include "sys/shared.hpp"

namespace comity::sys {

// Runs the destructors of the calling thread's C++ variables, as at a thread's end. False: this C library does not say
// how. Any thread; the destructors may switch, if the storage goes along.
COMITY_SHARED bool destroy_thread_locals() noexcept;

// Gives the caller's thread-local variables their initial values, but for those of the C and the C++ library and of
// Comity. Any thread, not in a signal handler; never switches. Takes the dynamic linker's lock for a moment if
// libraries have been loaded since the process began.
COMITY_SHARED void renew_thread_locals() noexcept;

// After Comity has loaded the C++ library, and what that needs, for good: they count as there from the beginning.
void note_own_libraries() noexcept;

} // namespace comity::sys
