// What leaves the function of a thread that was cancelled.
#pragma once

#include "comity/core/cxx20.hpp" // first: nothing else would compile

#include "comity/thread.h"

#include <system_error>

namespace comity {

// Leaves the function of a thread that was cancelled (comity_thread_cancel); not to be kept from leaving. Cancellation
// points throw it once; destructors on the way are not cancelled. Where a cancellation point stands in a function that
// does not let exceptions through, a destructor for one, the program ends, unless comity_thread_set_cancel(0) was
// called before.
class cancelled final {
public:
    [[noreturn]] static void leave() {
        comity_thread_set_cancel(0);
        throw cancelled();
    }
    // A cancellation point has returned this.
    static int check(int error) {
        if (error == static_cast<int>(std::errc::operation_canceled)) leave();
        return error;
    }

private:
    cancelled() = default;
};

} // namespace comity
