// How whoever waits for a lock spins. Each look takes the lock's word away from the holder's core, and may take the
// lock: with looks that follow closely, two harts would hand it to and fro every few operations, at a cache miss and
// more each time. So the time between looks grows.
//
//     lock_spin spin(125);
//     do {
//         if (…free…) …
//     } while (spin.again());
#pragma once

#include "sys/shared.hpp"

#include <cstdint>

namespace comity::sync {

// Who finds a lock taken may wait for somebody without a hart: once in so many calls on a hart, its other contexts have
// their turn. Any thread or context; may switch.
COMITY_SHARED void give_turn() noexcept;
// The same for who only looks, again and again perhaps, and does not wait, if `may_switch`, where it is given, says so.
// The holder may stand in a scheduler around the caller's, which has the hart back only from who leaves it: so after a
// millisecond of such looks, while others wait there, the caller goes on without it.
COMITY_SHARED void give_turn_after_look(bool (*may_switch)() noexcept = nullptr) noexcept;

// On any thread or context, within one wait; never switches.
class COMITY_SHARED lock_spin {
public:
    // Until the second look so many nanoseconds pass. Many let the holder have the lock several times, few find it
    // soon.
    explicit lock_spin(unsigned first_pause_ns) noexcept;
    ~lock_spin();
    lock_spin(const lock_spin &) = delete;
    lock_spin &operator=(const lock_spin &) = delete;
    // After a while, true; false: it has spun for long enough, or spinning is in vain.
    bool again() noexcept;

private:
    bool is_enough(std::uint64_t spun) noexcept;
    std::uint64_t from_, now_; // ticks
    std::uint64_t pause_;
    bool had_others_ = false; // were there others for the hart to run, at some look?
    bool gave_up_ = false;
};

} // namespace comity::sync
