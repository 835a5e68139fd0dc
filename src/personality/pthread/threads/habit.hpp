// Which threads wait and compute without a hart: those that mostly sleep. README.md, "Leaving the harts and coming
// back", 3. All functions are about the calling thread.
#pragma once

#include "personality/pthread/threads/thread.hpp"

namespace comity::posix {

// Is the calling thread one of ours, and on no hart?
bool is_away() noexcept;

namespace habit {

// The thread is about to sleep in the kernel. Does it stay without a hart afterwards?
bool begins_sleep(thread &t) noexcept;
void ends_sleep(thread &t) noexcept;

// It is about to make a call that would be waited for on the harts. True: it has none, and makes the call itself.
bool makes_call_away(thread &t) noexcept;
// It waits for that on the harts.
struct wait_for_input {
    std::uint32_t searches; // core::long_searches
    bool was_brief;         // what it had computed before
};
wait_for_input begins_wait(thread &t) noexcept;
void ends_wait(thread &t, wait_for_input w) noexcept;

// It is about to wait at an object: comes home, unless it mostly sleeps in calls. True: it is without a hart, and calls
// after_wait then. May switch.
bool before_wait() noexcept;
void after_wait() noexcept;

} // namespace habit
} // namespace comity::posix
