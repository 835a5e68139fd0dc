// While one lives, the calling thread is not cancelled: Comity's functions do not unwind, so what they call of the C
// library must not either. A request that comes stays, and is acted upon at the thread's next cancellation point.
#pragma once

#include <pthread.h>

namespace comity::sys {

class uncancelled {
public:
    uncancelled() noexcept { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
    ~uncancelled() { pthread_setcancelstate(before_, nullptr); }
    uncancelled(const uncancelled &) = delete;
    uncancelled &operator=(const uncancelled &) = delete;

private:
    int before_ = PTHREAD_CANCEL_ENABLE;
};

} // namespace comity::sys
