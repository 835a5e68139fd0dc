// Do other threads of the machine want the core on which one spins? The kernel says how many are runnable; the file is
// open from the start, since one that is opened for a moment takes the number that the program expects for its next.
#pragma once

namespace comity::sys {

// Once, before the program's threads can be many. Without it are_cores_short is true, and where it cannot be known: the
// process may not use all cores (affinity, a quota), /proc is not there or not the kernel's, descriptors are few.
void watch_core_demand() noexcept;

// Are more threads of the whole machine on a core, or waiting for one, than it has cores? True where it cannot be told,
// also once the program has closed the file. What was read up to 0.1 ms before counts. Any thread; a few microseconds;
// errno is kept.
bool are_cores_short() noexcept;

// How many cores too few there were for them, on the average over the last milliseconds; 0 where it cannot be told.
unsigned cores_missing_lately() noexcept;

// are_cores_short by what /proc/loadavg says: three averages, then RUNNABLE/ALL. For the tests.
bool are_more_runnable(const char *loadavg, unsigned cores) noexcept;

} // namespace comity::sys
