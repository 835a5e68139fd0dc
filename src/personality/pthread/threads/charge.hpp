// What a thread allocates is charged to the quota of the space-efficient order. README.md, "Memory".
#pragma once

#include <cstdint>

namespace comity::posix {

// No quota: of who is no thread of ours, or not by descent. Nobody allocates so much, nor frees it.
constexpr std::int64_t unlimited = INT64_MAX / 2;

// Bytes that the calling thread may allocate before the scheduler is told; at least 0. And those allocated beyond them
// where it could not be told. The thread's own.
extern __thread std::int64_t prepaid __attribute__((tls_model("initial-exec")));
extern __thread std::int64_t owed __attribute__((tls_model("initial-exec")));

// The scheduler of threads is open, with this quota (comity_scheduler_attr_t); 0: it has none.
void charge_from_now_on(std::size_t quota) noexcept;
// The calling thread, which is one of ours, runs the program's code from here on; no more.
void begin_charging() noexcept;
void end_charging() noexcept;
// What it owes. May switch.
void pay() noexcept;

} // namespace comity::posix
