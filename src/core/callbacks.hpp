// The callbacks of schedulers that a program has written (comity/core.h). Protocol "Callbacks": README.md.
#pragma once

#include "core/carrier.hpp"
#include "sys/backoff.hpp"
#include "sys/shared.hpp"

#include "comity/core.h"

#include <cstdint>

namespace comity::core {

// What Comity calls in place of them: it notes that the calling hart is in a callback, and calls
// sched::callbacks_of_program.
extern const comity_sched_callbacks_t callbacks_of_program;

// Stands in carrier::guest while the hart is in an update callback: whatever would stop the context there finds it.
COMITY_SHARED extern unsigned char update_callback_mark[];
inline context *update_mark() noexcept { return reinterpret_cast<context *>(update_callback_mark); }

// Is the caller in a callback, or in the function given to comity_context_pause?
inline bool in_callback() noexcept {
    const context *c = current_context();
    const carrier *k = c ? c->on : nullptr;
    return k && (k->guest == update_mark() || (c == &k->transition && !k->transition.runs));
}

// Is the caller in a handler that has interrupted Comity's code and that is not to return (stay_in_handler)?
extern COMITY_SHARED __thread bool stays_in_handler __attribute__((tls_model("initial-exec")));

// Can the caller not be stopped: in a callback, in a stackless thread, within a call of Comity's to the C library
// (is_settled), or in a handler amid Comity's code? If a lock is taken there, it waits for that where it stands.
inline bool waits_in_place() noexcept {
    const context *c = current_context();
    const carrier *k = c ? c->on : nullptr;
    return k ? k->settled || c == &k->transition : stays_in_handler;
}

// One such wait. The holder of the lock runs on another kernel thread, or on a hart that is called for it, and leaves
// it soon.
class COMITY_SHARED wait_in_place {
public:
    void pause() noexcept; // after ten seconds in a callback it says so, once

private:
    void look_around() noexcept;
    void look_at_time() noexcept;
    sys::backoff backoff_;
    std::uint32_t pauses_ = 0, looks_ = 0;
    std::int64_t since_ = 0; // ns; 0: not known yet
};

// Ends the program: something waits where it cannot be stopped.
[[noreturn]] void cannot_stop(const carrier *k) noexcept;

} // namespace comity::core
