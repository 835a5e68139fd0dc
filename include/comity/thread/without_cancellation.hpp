// A thread that is not to be cancelled for a while.
#pragma once

#include "comity/thread.h"

namespace comity::detail {

// The calling thread runs what is not its own function: cancelled in there, it would leave the wrong frames. A request
// takes effect at its first cancellation point afterwards.
class without_cancellation {
public:
    without_cancellation() noexcept : was_enabled_(comity_thread_set_cancel(0)) {}
    without_cancellation(const without_cancellation &) = delete;
    without_cancellation &operator=(const without_cancellation &) = delete;
    ~without_cancellation() {
        if (was_enabled_ == 1) comity_thread_set_cancel(1);
    }

private:
    int was_enabled_;
};

} // namespace comity::detail
