// What can be printed of streams and work units.
#pragma once

#include <atomic>

namespace comity::abt {

extern std::atomic<unsigned> dump_request; // ABT_info_trigger_print_all_thread_stacks: 0, or its number
inline bool dump_wanted() noexcept { return dump_request.load(std::memory_order_relaxed) != 0; }
// The calling stream takes part: stops until all do, or the time is up; one of them prints. May switch.
void dump_stacks() noexcept;
// A stream is about to sleep: from now on a request wakes it. Starts a kernel thread, once.
void watch_for_dumps() noexcept;

} // namespace comity::abt
