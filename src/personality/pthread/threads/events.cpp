// Calls that wait for events at descriptors: for input on the harts, if that is all they wait for; else they leave the
// hart first. All are cancellation points.
#include "personality/pthread/threads/input.hpp"
#include "personality/pthread/threads/library_call.hpp"
#include "personality/pthread/threads/sleeping_call.hpp"
#include "sys/errno_kept.hpp"
#include "sys/refusal.hpp"

#include <algorithm>
#include <optional>
#include <span>

#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace comity::posix {

namespace {

COMITY_NEXT_SYMBOL next<int (*)(int, epoll_event *, int, int)> next_epoll_wait{"epoll_wait"};

timespec milliseconds(int n) noexcept { return {n / 1000, n % 1000 * 1'000'000L}; }
// In whole ones, and not too few.
int milliseconds_of(const timespec &t) noexcept {
    return static_cast<int>(t.tv_sec * 1000 + (t.tv_nsec + 999'999) / 1'000'000);
}

// first() makes a call; once that is refused, by the kernel's age or a sandbox, second() does.
template <class First, class Second> auto make_either(std::atomic<bool> &is_refused, First first, Second second) {
    const int before = errno;
    if (!is_refused.load(std::memory_order_relaxed)) {
        const auto result = first();
        if (result != -1 || !sys::is_refusal(errno)) return result;
        is_refused.store(true, std::memory_order_relaxed);
        errno = before;
    }
    return second();
}

} // namespace

int poll_in_kernel(pollfd *of, nfds_t n, timespec *limit) noexcept {
    const auto call = [=] { return static_cast<int>(::syscall(SYS_ppoll, of, n, limit, nullptr, sizeof(signal_set))); };
#ifdef SYS_poll
    static std::atomic<bool> is_refused{false};
    return make_either(is_refused, call, [=] {
        return static_cast<int>(::syscall(SYS_poll, of, n, limit ? milliseconds_of(*limit) : -1));
    });
#else
    return call();
#endif
}

int epoll_in_kernel(int fd, epoll_event *events, int n, int milliseconds) {
    static std::atomic<bool> is_refused{false};
    return make_either(
        is_refused, [=] { return next_epoll_wait.get()(fd, events, n, milliseconds); },
        [=] { return static_cast<int>(::syscall(SYS_epoll_pwait, fd, events, n, milliseconds, nullptr, 0)); });
}

namespace {

int fail(int error) noexcept {
    errno = error;
    return -1;
}

// ---- attempt(limit) has the kernel wait.

// At once. The kernel ends that, too, if a signal is pending: where it is Comity's own, it begins anew.
template <class Attempt> int look(const Attempt &attempt) {
    const receiver *r = receiver_here();
    for (const int error_before = errno;; errno = error_before) {
        test_cancel();
        deliver_here();
        const std::uint32_t before = r ? r->handled : 0;
        const call_without_receiver here;
        timespec none{};
        const int found = attempt(&none);
        if (found != -1 || errno != EINTR) return found;
        if (r ? r->handled != before : !here.was_ended_for_nothing()) return found;
    }
}

// Without the hart.
template <class Attempt>
int await_events(Attempt attempt, const timespec *timeout, const sigset_t *mask, std::int64_t end) {
    const bool only_looks = timeout && nanoseconds(*timeout) == 0;
    if (only_looks && !mask) return look(attempt);
    return if_it_sleeps(!only_looks, limited_call<Attempt>{attempt, end}, {after_handler::ends, !only_looks, mask});
}
bool is_wrong(const timespec *timeout) noexcept { return timeout && (!is_time(timeout) || timeout->tv_sec < 0); }

// On the harts, if there is nothing now. No result: the thread goes the other way.
template <class Attempt>
std::optional<int> await_here(std::span<called_file *const> files, std::int64_t end, const Attempt &attempt,
                              bool looks_first) {
    using outcome = input_wait::outcome;
    input_wait input(files, input_wait::what::events);
    if (!input) return {};
    for (int found = looks_first ? look(attempt) : 0;; found = look(attempt)) {
        if (found != 0) return found;
        const outcome o = input.wait(end);
        if (o == outcome::interrupted) return fail(EINTR);
        if (o == outcome::is_closed) return fail(EBADF);
        if (o == outcome::is_to_call) return {};
        if (o == outcome::late) return look(attempt);
    }
}

// ---- poll and select

// A poll for nothing but input at a few descriptors, of which the kernel says that there is nothing yet.
class small_poll {
public:
    static bool is_one(const pollfd *of, nfds_t n) noexcept {
        constexpr int input = POLLIN | POLLRDNORM;
        const auto is_input = [](const pollfd &p) { return (p.events & POLLIN) && !(p.events & ~input); };
        return n <= input_wait::most &&
               std::all_of(of, of + n, [&](const pollfd &p) { return p.fd < 0 || is_input(p); });
    }
    explicit small_poll(std::span<pollfd> of) noexcept : of_(of) {
        for (std::size_t i = 0; i < of.size(); ++i)
            if (of[i].fd >= 0) all_[files_++] = &file_[i].emplace(of[i].fd);
    }
    int wait(std::int64_t end) {
        const auto by_numbers = [this](timespec *limit) { return poll_in_kernel(of_.data(), of_.size(), limit); };
        const std::span<called_file *const> files(all_, files_);
        const std::optional<int> found = await_here(files, end, by_numbers, false);
        if (found == -1 && errno == EBADF) return say_what_is_gone();
        if (found) return *found;
        const kernel_input asleep(files);
        return await_events([this](timespec *limit) { return poll_files(limit); }, nullptr, nullptr, end);
    }

private:
    int say_what_is_gone() noexcept {
        int n = 0;
        for (std::size_t i = 0; i < of_.size(); ++i) {
            const bool is_gone = file_[i] && file_[i]->is_gone();
            of_[i].revents = is_gone ? POLLNVAL : 0;
            n += is_gone;
        }
        return n;
    }
    // Whatever has become of their numbers.
    int poll_files(timespec *limit) noexcept {
        pollfd own[input_wait::most];
        for (std::size_t i = 0; i < of_.size(); ++i) own[i] = {file_[i] ? file_[i]->number() : -1, of_[i].events, 0};
        const int found = poll_in_kernel(own, of_.size(), limit);
        if (found >= 0)
            for (std::size_t i = 0; i < of_.size(); ++i) of_[i].revents = own[i].revents;
        return found;
    }

    std::span<pollfd> of_;
    std::optional<called_file> file_[input_wait::most]; // as many; none for a number that is to be left out
    called_file *all_[input_wait::most] = {};
    std::size_t files_ = 0;
};

int poll_for(pollfd *of, nfds_t n, const timespec *timeout, const sigset_t *mask) {
    if (is_wrong(timeout)) return fail(EINVAL);
    const std::int64_t end = end_of(timeout);
    const auto attempt = [=](timespec *limit) { return poll_in_kernel(of, n, limit); };
    const bool only_looks = timeout && nanoseconds(*timeout) == 0;
    if (current_thread && !only_looks && !habit::makes_call_away(*current_thread)) {
        if (const int ready = look(attempt)) return ready;
        if (!mask && small_poll::is_one(of, n)) return small_poll({of, n}).wait(end);
    }
    if (mask || only_looks) return await_events(attempt, timeout, mask, end);
    const auto look_again = [&attempt] {
        timespec none{};
        const sys::errno_kept kept;
        return attempt(&none) > 0;
    };
    using call = limited_call<decltype(attempt)>;
    return if_it_sleeps(true, call_that_looks{call{attempt, end}, look_again}, {after_handler::ends, true});
}

int select_for(int n, fd_set *in, fd_set *out, fd_set *other, const timespec *timeout, const sigset_t *mask) {
    if (is_wrong(timeout)) return fail(EINVAL);
    const auto attempt = [=](timespec *limit) {
        return static_cast<int>(::syscall(SYS_pselect6, n, in, out, other, limit, nullptr));
    };
    return await_events(attempt, timeout, mask, end_of(timeout));
}

int milliseconds_left(std::int64_t end) noexcept {
    return end == sys::no_deadline ? -1 : milliseconds_of(time_left(end));
}

} // namespace
} // namespace comity::posix

using namespace comity::posix;

// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): glibc's names are reserved ones

#define COMITY_NEXT(name, type)                                                                                        \
    COMITY_NEXT_SYMBOL static next<type> next_##name { #name }

// Who has no receiver has the kernel's mask.
static bool is_kernels(const sigset_t *mask) noexcept { return is_stranger() || (mask && !receiver_here()); }

COMITY_INTERPOSED int poll(pollfd *of, nfds_t n, int timeout) {
    COMITY_NEXT(poll, int (*)(pollfd *, nfds_t, int));
    if (is_stranger()) return next_poll.get()(of, n, timeout);
    const timespec time = milliseconds(timeout);
    return poll_for(of, n, timeout < 0 ? nullptr : &time, nullptr);
}
COMITY_INTERPOSED int ppoll(pollfd *of, nfds_t n, const timespec *timeout, const sigset_t *mask) {
    COMITY_NEXT(ppoll, int (*)(pollfd *, nfds_t, const timespec *, const sigset_t *));
    return is_kernels(mask) ? next_ppoll.get()(of, n, timeout, mask) : poll_for(of, n, timeout, mask);
}
COMITY_INTERPOSED int select(int n, fd_set *in, fd_set *out, fd_set *other, timeval *timeout) {
    COMITY_NEXT(select, int (*)(int, fd_set *, fd_set *, fd_set *, timeval *));
    if (is_stranger()) return next_select.get()(n, in, out, other, timeout);
    if (!timeout) return select_for(n, in, out, other, nullptr, nullptr);
    constexpr long second = 1'000'000;
    if (timeout->tv_usec < 0) return fail(EINVAL);
    const timespec time{timeout->tv_sec + timeout->tv_usec / second, timeout->tv_usec % second * 1000};
    const std::int64_t end = end_of(&time);
    const int result = select_for(n, in, out, other, &time, nullptr);
    const timespec left = time_left(end);
    *timeout = {left.tv_sec, left.tv_nsec / 1000};
    return result;
}
COMITY_INTERPOSED int pselect(int n, fd_set *in, fd_set *out, fd_set *other, const timespec *timeout,
                              const sigset_t *mask) {
    COMITY_NEXT(pselect, int (*)(int, fd_set *, fd_set *, fd_set *, const timespec *, const sigset_t *));
    if (is_kernels(mask)) return next_pselect.get()(n, in, out, other, timeout, mask);
    return select_for(n, in, out, other, timeout, mask);
}
static std::optional<int> epoll_here(called_file &file, epoll_event *events, int n, std::int64_t end) {
    if (!current_thread || habit::makes_call_away(*current_thread)) return {};
    if (comity::core::descriptor *d = file.descriptor()) d->is_epoll.store(true, std::memory_order_relaxed);
    called_file *const files[] = {&file};
    const auto attempt = [&](timespec *) { return epoll_in_kernel(file.number(), events, n, 0); };
    return await_here(files, end, attempt, true);
}
COMITY_INTERPOSED int epoll_wait(int fd, epoll_event *events, int n, int timeout) {
    const timespec time = milliseconds(timeout);
    const std::int64_t end = end_of(timeout < 0 ? nullptr : &time);
    called_file file(fd);
    called_file *const files[] = {&file};
    if (timeout != 0)
        if (const std::optional<int> found = epoll_here(file, events, n, end)) return *found;
    const kernel_input asleep(files);
    return if_it_sleeps(
        [&] { return timeout != 0 && would_sleep(file.number(), POLLIN); },
        call_that_looks{[&] { return epoll_in_kernel(file.number(), events, n, milliseconds_left(end)); },
                        [&] { return has_events(file.number(), POLLIN); }},
        {after_handler::ends, timeout != 0});
}
// In Comity's own set an epoll stands one deeper, which the kernel counts: it refuses what it would take otherwise.
COMITY_INTERPOSED int epoll_ctl(int fd, int what, int of, epoll_event *event) noexcept {
    COMITY_NEXT(epoll_ctl, int (*)(int, int, int, epoll_event *));
    const int error_before = errno;
    const auto again = [&](comity::core::descriptor *epoll) {
        if (what != EPOLL_CTL_ADD || (errno != EINVAL && errno != ELOOP)) return false;
        const comity::sys::errno_kept kept;
        return comity::core::leave_out(epoll);
    };
    int result = next_epoll_ctl.get()(fd, what, of, event);
    comity::core::descriptor *const d = comity::core::known_descriptor(fd);
    if (result == -1 && d && again(d)) result = next_epoll_ctl.get()(fd, what, of, event);
    if (result == -1 && again(nullptr)) result = next_epoll_ctl.get()(fd, what, of, event);
    if (result == 0) errno = error_before;
    return result;
}
// The descriptor itself is waited for, with a limit that the kernel reads late. The mask is the thread's.
static int await_epoll(int fd, epoll_event *events, int n, const timespec *timeout, const sigset_t *mask,
                       std::int64_t end) {
    const auto attempt = [=](timespec *limit) {
        for (;;) {
            pollfd p{fd, POLLIN, 0};
            const int ready = poll_in_kernel(&p, 1, limit);
            const bool is_over = ready > 0 && !(p.revents & POLLIN);
            if (ready <= 0) return ready;
            const int found = epoll_in_kernel(fd, events, n, 0);
            if (found != 0 || is_over) return found; // else somebody else has taken them
        }
    };
    return await_events(attempt, timeout, mask, end);
}
COMITY_INTERPOSED int epoll_pwait(int fd, epoll_event *events, int n, int timeout, const sigset_t *mask) {
    COMITY_NEXT(epoll_pwait, int (*)(int, epoll_event *, int, int, const sigset_t *));
    if (is_kernels(mask)) return next_epoll_pwait.get()(fd, events, n, timeout, mask);
    if (!mask) return epoll_wait(fd, events, n, timeout);
    const timespec time = milliseconds(timeout), *limit = timeout < 0 ? nullptr : &time;
    return await_epoll(fd, events, n, limit, mask, end_of(limit));
}
COMITY_INTERPOSED int epoll_pwait2(int fd, epoll_event *events, int n, const timespec *timeout, const sigset_t *mask) {
    COMITY_NEXT(epoll_pwait2, int (*)(int, epoll_event *, int, const timespec *, const sigset_t *));
    if (!next_epoll_pwait2.look()) return fail(ENOSYS); // glibc 2.35 has it
    if (is_kernels(mask)) return next_epoll_pwait2.get()(fd, events, n, timeout, mask);
    if (is_wrong(timeout)) return fail(EINVAL);
    const std::int64_t end = end_of(timeout);
    called_file file(fd);
    if (!mask && !(timeout && nanoseconds(*timeout) == 0))
        if (const std::optional<int> found = epoll_here(file, events, n, end)) return *found;
    return await_epoll(file.number(), events, n, timeout, mask, end);
}

// What the headers make of such calls in a program built with _FORTIFY_SOURCE.

extern "C" [[noreturn]] void __chk_fail(); // the C library's: ends the program

COMITY_INTERPOSED int __poll_chk(pollfd *of, nfds_t n, int timeout, std::size_t room) {
    return n > room / sizeof(pollfd) ? __chk_fail(), 0 : poll(of, n, timeout);
}
COMITY_INTERPOSED int __ppoll_chk(pollfd *of, nfds_t n, const timespec *timeout, const sigset_t *mask,
                                  std::size_t room) {
    return n > room / sizeof(pollfd) ? __chk_fail(), 0 : ppoll(of, n, timeout, mask);
}

COMITY_ALSO_NAMED(__poll, poll);
COMITY_ALSO_NAMED(__select, select);

// NOLINTEND(readability-inconsistent-declaration-parameter-name)
