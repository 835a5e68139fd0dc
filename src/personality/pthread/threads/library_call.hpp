// Functions of the C library that sleep in system calls of its own. README.md, "Signals", 7.
#pragma once

#include "personality/pthread/threads/thread.hpp"
#include "sys/interruption.hpp"

namespace comity::posix {

// While it lives, a signal, or a request to cancel the thread, ends the calls in which the C library opens, reads,
// writes or locks a file.
class open_library_call {
public:
    explicit open_library_call(receiver &r) noexcept : r_(r) {
        call_.outer = r.call;
        call_.is_librarys = true;
        call_.base = r.base;
        r.base = reinterpret_cast<std::uintptr_t>(this);
        r.call = &call_;
        sys::comity_writes_in_parts = true; // as the C library does here
        if (current_thread) note_cancellation(current_thread);
    }
    ~open_library_call() {
        leave_handlers_below(r_, reinterpret_cast<std::uintptr_t>(this));
        if (r_.call == &call_) leave_call(r_);
        if (current_thread) note_cancellation(current_thread);
    }
    open_library_call(const open_library_call &) = delete;
    open_library_call &operator=(const open_library_call &) = delete;
    bool is_ended() const noexcept { return call_.is_ended; }

private:
    receiver &r_;
    interruptible_call call_;
};

// Would the calling thread, one of ours, sleep for `events` (POLLIN or POLLOUT) at the descriptor?
bool would_sleep(int fd, short events) noexcept;
// Is there one of these, an error or an end?
bool has_events(int fd, short events) noexcept;

} // namespace comity::posix
