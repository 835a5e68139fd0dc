#include "sys/input_set.hpp"

#include "sys/errno_kept.hpp"
#include "sys/high_descriptor.hpp"
#include "sys/refusal.hpp"

#include <cstdint>

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace comity::sys {

namespace {

bool control(int set, int what, int fd, std::uint32_t events) noexcept {
    epoll_event e{};
    e.events = events;
    e.data.fd = fd;
    return ::syscall(SYS_epoll_ctl, set, what, fd, &e) == 0;
}

std::atomic<bool> waits_by_older_call{false}, is_refused{false};

// The same by either of two calls, of which a sandbox may refuse one.
long wait_for_events(int set, epoll_event *events, int most, int milliseconds) noexcept {
    if (!waits_by_older_call.load(std::memory_order_relaxed)) {
        const long got = ::syscall(SYS_epoll_pwait, set, events, most, milliseconds, nullptr, 0);
        if (got >= 0 || !is_refusal(errno)) return got;
        waits_by_older_call.store(true, std::memory_order_relaxed);
    }
#ifdef SYS_epoll_wait
    return ::syscall(SYS_epoll_wait, set, events, most, milliseconds);
#else
    return ::syscall(SYS_epoll_pwait, set, events, most, milliseconds, nullptr, 0);
#endif
}

// Can it be waited at? Once a sandbox refuses what that needs, nobody asks again.
bool can_wait(int set, int bell) noexcept {
    epoll_event event{};
    const bool can =
        set >= 0 && bell >= 0 && control(set, EPOLL_CTL_ADD, bell, EPOLLIN) && wait_for_events(set, &event, 1, 0) >= 0;
    if (!can && is_refusal(errno)) is_refused.store(true, std::memory_order_relaxed);
    return can;
}

} // namespace

bool input_set::open() noexcept {
    if (is_refused.load(std::memory_order_relaxed)) return false;
    const errno_kept kept;
    errno = 0;
    const int set = moved_up(static_cast<int>(::syscall(SYS_epoll_create1, EPOLL_CLOEXEC)));
    const int bell = moved_up(static_cast<int>(::syscall(SYS_eventfd2, 0, EFD_CLOEXEC | EFD_NONBLOCK)));
    if (!can_wait(set, bell)) {
        if (set >= 0) close_raw(set);
        if (bell >= 0) close_raw(bell);
        return false;
    }
    bell_.store(bell, std::memory_order_relaxed);
    set_.store(set, std::memory_order_release); // release[input-set]
    return true;
}

void input_set::close() noexcept {
    const errno_kept kept;
    const int set = set_.exchange(-1, std::memory_order_relaxed), bell = bell_.exchange(-1, std::memory_order_relaxed);
    if (set >= 0) close_raw(set);
    if (bell >= 0) close_raw(bell);
}

// Most descriptors are watched again and again, so they stay in the set, silent in between.
bool input_set::watch(int fd) noexcept {
    const errno_kept kept;
    const int set = set_.load(std::memory_order_relaxed);
    constexpr std::uint32_t once = static_cast<std::uint32_t>(EPOLLIN) | static_cast<std::uint32_t>(EPOLLONESHOT);
    if (control(set, EPOLL_CTL_MOD, fd, once)) return true;
    if (errno != ENOENT) return false;
    if (control(set, EPOLL_CTL_ADD, fd, once)) return true;
    return errno == EEXIST && control(set, EPOLL_CTL_MOD, fd, once); // somebody was faster
}

void input_set::forget(int fd) noexcept {
    const errno_kept kept;
    control(set_.load(std::memory_order_relaxed), EPOLL_CTL_DEL, fd, 0);
}

int input_set::take(int (&reported)[most], bool sleep) noexcept {
    const errno_kept kept;
    const int set = set_.load(std::memory_order_relaxed), bell = bell_.load(std::memory_order_relaxed);
    epoll_event events[most];
    const long got = wait_for_events(set, events, static_cast<int>(most), sleep ? -1 : 0);
    if (got < 0) return errno == EINTR ? 0 : is_refusal(errno) ? refused : -1;
    int n = 0;
    for (long i = 0; i < got; ++i) {
        if (events[i].data.fd != bell) {
            reported[n++] = events[i].data.fd;
        } else if (sleep) { // else it is for who sleeps
            std::uint64_t rung = 0;
            static_cast<void>(::syscall(SYS_read, bell, &rung, sizeof rung));
        }
    }
    return n;
}

void input_set::ring() noexcept {
    const errno_kept kept;
    const std::uint64_t once = 1;
    static_cast<void>(::syscall(SYS_write, bell_.load(std::memory_order_relaxed), &once, sizeof once));
}

} // namespace comity::sys
