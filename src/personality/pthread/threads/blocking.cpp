// System calls that may sleep: the thread leaves its hart to others first. All are cancellation points. Those that need
// not sleep, as far as a look tells, are made at once.
#include "personality/pthread/threads/input.hpp"
#include "personality/pthread/threads/library_call.hpp"
#include "personality/pthread/threads/sleeping_call.hpp"
#include "personality/pthread/threads/system_call.hpp"
#include "sys/memory.hpp"
#include "sys/refusal.hpp"

#include <algorithm>
#include <climits>
#include <span>

#include <aio.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

namespace comity::posix {

namespace {

// ---- Descriptors

// Where that is not told it counts as one that blocks: then the call itself decides.
bool is_nonblocking(int fd) noexcept {
    const int flags = ::fcntl(fd, F_GETFL);
    return flags != -1 && (flags & O_NONBLOCK);
}
bool tells_whether_nonblocking(int fd) noexcept { return ::fcntl(fd, F_GETFL) != -1; }

} // namespace

bool has_events(int fd, short events) noexcept {
    const sys::errno_kept kept;
    pollfd p{fd, events, 0};
    timespec at_once{};
    int found = 0;
    do found = poll_in_kernel(&p, 1, &at_once);
    while (found == -1 && errno == EINTR); // a signal is pending, perhaps Comity's own
    return found != 0 && !(p.revents & POLLNVAL);
}

bool would_sleep(int fd, short events) noexcept {
    if (!current_thread || has_events(fd, events)) return false;
    const sys::errno_kept kept;
    const int flags = ::fcntl(fd, F_GETFL);
    if (flags == -1) return errno != EBADF;
    return !(flags & O_NONBLOCK) && !(events == POLLIN && (flags & O_ACCMODE) == O_WRONLY);
}

namespace {

// The same for output of this size: a pipe or a socket that can take some of it sleeps for the rest.
bool sleeps_for(int fd, std::size_t size) noexcept {
    if (!current_thread) return false;
    if (size <= PIPE_BUF) return would_sleep(fd, POLLOUT);
    const sys::errno_kept kept;
    struct stat about {};
    return ::fstat(fd, &about) == 0 && !S_ISREG(about.st_mode) && !is_nonblocking(fd);
}

// A socket may have a time limit (SO_RCVTIMEO, SO_SNDTIMEO), from which the kernel counts anew. `result` is the call's
// if it is over.
template <class Number, class Call> auto within_limit_of(Number number, short events, Call call) {
    return [=, begun = std::int64_t{0}]() mutable -> decltype(call()) {
        timeval given{};
        const int fd = number();
        if (begun == 0) {
            begun = sys::now_ns();
        } else if (has_time_limit(fd, events == POLLIN ? SO_RCVTIMEO : SO_SNDTIMEO, given)) {
            pollfd p{fd, events, 0};
            timespec limit = time_left(begun + nanoseconds({given.tv_sec, given.tv_usec * 1000}));
            const int ready = poll_in_kernel(&p, 1, &limit);
            if (ready == 0) errno = EAGAIN;
            if (ready <= 0) return -1;
        }
        return call();
    };
}

// What a call is tried with first, where that can be done without sleeping.
enum class tried { made, would_sleep, not_at_all };
// On sockets; is_for_all: also on what is none, since the call is for them alone. Else it stands for another call,
// which a sandbox may let through where it refuses this one.
template <class Call, class Result>
tried try_on_socket(int fd, Call call, Result &result, bool is_for_all = false) noexcept {
    const int before = errno;
    result = call(fd);
    if (result == -1 && !is_for_all && (errno == ENOTSOCK || sys::is_refusal(errno))) {
        using kind_of = core::descriptor::kind_of;
        return note_kind(fd, errno == ENOTSOCK ? kind_of::unknown : kind_of::polled, before), tried::not_at_all;
    }
    return result == -1 && errno == EAGAIN ? (errno = before, tried::would_sleep) : tried::made;
}
// On pipes and their like; call: SYS_preadv2 or SYS_pwritev2. Older kernels cannot, and a sandbox may refuse it.
tried try_on_pipe(long call, int fd, const iovec *parts, std::size_t n, ssize_t &result) noexcept {
    constexpr long no_place = -1;
    static std::atomic<bool> refused[2]; // for all descriptors: to read, to write
    std::atomic<bool> &is_refused = refused[call == SYS_pwritev2];
    const int before = errno;
    const bool is_tried = !is_refused.load(std::memory_order_relaxed);
    result = is_tried ? ::syscall(call, fd, parts, n, no_place, no_place, RWF_NOWAIT) : -1;
    const bool cannot = !is_tried || (result == -1 && sys::is_refusal(errno));
    if (is_tried && cannot && errno != EOPNOTSUPP) is_refused.store(true, std::memory_order_relaxed);
    if (cannot) return note_not_tried(fd, call == SYS_pwritev2, before), tried::not_at_all;
    return result == -1 && errno == EAGAIN ? (errno = before, tried::would_sleep) : tried::made;
}

template <class Call> struct sockets_call {
    Call call;
    template <class Result> tried make(int fd, Result &result) const { return try_on_socket(fd, call, result, true); }
};
// clang deduces aggregates' arguments by itself since 17 only.
template <class Call> sockets_call(Call) -> sockets_call<Call>;
struct no_call {
    template <class Result> tried make(int, Result &) const { return tried::not_at_all; }
};

enum class looked { for_nothing, and_may_read, and_made_the_call };

// The thread waits for input on the harts, before its call, if it can; or `result` is the call's already.
template <class Attempt, class Result> looked wait_on_harts(called_file &f, const Attempt &attempt, Result &result) {
    const auto fail = [&result](int error) { return result = -1, errno = error, looked::and_made_the_call; };
    const int fd = f.number();
    called_file *const files[] = {&f};
    input_wait input(files, input_wait::what::a_read);
    while (input) {
        const tried how = attempt.make(fd, result);
        if (how == tried::made) return deliver_here(), looked::and_made_the_call;
        if (how == tried::would_sleep && !tells_whether_nonblocking(fd)) return looked::for_nothing;
        if (how == tried::would_sleep && is_nonblocking(fd)) return fail(EAGAIN);
        if (how == tried::not_at_all && !is_polled(fd)) return looked::for_nothing;
        if (how == tried::not_at_all && !would_sleep(fd, POLLIN)) return looked::and_may_read;
        const input_wait::outcome o = input.wait();
        if (o == input_wait::outcome::interrupted) return fail(EINTR);
        if (o == input_wait::outcome::is_closed) return fail(EBADF);
    }
    return looked::for_nothing;
}

// call(fd) makes the call.
template <class Call, class Attempt = no_call>
auto input(int fd, Call call, int flags = 0, const Attempt &attempt = {}) -> decltype(call(fd)) {
    if (is_stranger()) return call(fd);
    const bool waits = !(flags & (MSG_DONTWAIT | MSG_ERRQUEUE | MSG_OOB)), for_much = waits && has_low_mark(fd),
               waits_for_all = (flags & MSG_WAITALL) || for_much;
    decltype(call(fd)) result{};
    looked found = looked::for_nothing;
    called_file file(fd);
    if (waits && !waits_for_all && current_thread) found = wait_on_harts(file, attempt, result);
    if (found == looked::and_made_the_call) return result;
    called_file *const files[] = {&file};
    const kernel_input asleep(files);
    const auto call_there = [&file, call]() -> decltype(call(fd)) {
        if (!file.keep_if_moved()) return errno = EBADF, -1;
        const called_file::in_call here(file);
        return call(file.number());
    };
    return if_it_sleeps(
        [&] { return for_much || (waits && found != looked::and_may_read && would_sleep(file.number(), POLLIN)); },
        call_that_looks{within_limit_of([&file] { return file.number(); }, POLLIN, call_there),
                        [&] { return !waits_for_all && has_events(file.number(), POLLIN); }},
        {.dozes = waits && !waits_for_all, .moving = file.moving()});
}
template <class Size, class Call> auto output(int fd, Size size, Call call, int flags = 0) {
    if (is_stranger()) return call();
    return if_it_sleeps([=] { return !(flags & MSG_DONTWAIT) && sleeps_for(fd, size()); },
                        within_limit_of([fd] { return fd; }, POLLOUT, call));
}

// Beyond what is looked at, and what cannot be read, counts as large.
std::size_t size_of(const iovec *of, std::size_t n) noexcept {
    constexpr std::size_t most = 16, large = SIZE_MAX;
    if (n == 0) return 0;
    if (n > most || !sys::is_readable(of) || !sys::is_readable(&of[n - 1].iov_len)) return large;
    std::size_t size = 0;
    for (std::size_t i = 0; i < n; ++i) size += std::min<std::size_t>(of[i].iov_len, PIPE_BUF + 1);
    return size;
}
std::size_t size_of(const msghdr *message) noexcept {
    if (!sys::is_readable(message) || !sys::is_readable(&message->msg_iovlen)) return SIZE_MAX;
    return size_of(message->msg_iov, message->msg_iovlen);
}

} // namespace

} // namespace comity::posix

using namespace comity::posix;

// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): glibc's names are reserved ones

#define COMITY_NEXT(name, type)                                                                                        \
    COMITY_NEXT_SYMBOL static next<type> next_##name { #name }

COMITY_NEXT(read, ssize_t (*)(int, void *, std::size_t));
COMITY_NEXT(write, ssize_t (*)(int, const void *, std::size_t));
COMITY_NEXT(send, ssize_t (*)(int, const void *, std::size_t, int));
COMITY_NEXT(sendmsg, ssize_t (*)(int, const msghdr *, int));
COMITY_NEXT(recv, ssize_t (*)(int, void *, std::size_t, int));
COMITY_NEXT(recvfrom, ssize_t (*)(int, void *, std::size_t, int, sockaddr *, socklen_t *));
COMITY_NEXT(recvmsg, ssize_t (*)(int, msghdr *, int));

// Of a read into these parts.
namespace {
struct read_call {
    const iovec *parts;
    std::size_t n;
    bool is_one; // part, the caller's own
    tried make(int fd, ssize_t &result) const {
        if (is_source(fd)) return try_pipe(fd, result);
        if (!is_socket(fd)) return tried::not_at_all;
        msghdr message{};
        message.msg_iov = const_cast<iovec *>(parts);
        message.msg_iovlen = n;
        const auto call = [&](int by) {
            return is_one ? next_recv.get()(by, parts->iov_base, parts->iov_len, MSG_DONTWAIT)
                          : next_recvmsg.get()(by, &message, MSG_DONTWAIT);
        };
        return try_on_socket(fd, call, result);
    }

private:
    tried try_pipe(int fd, ssize_t &result) const {
        const tried how = try_on_pipe(SYS_preadv2, fd, parts, n, result);
        const auto got = static_cast<std::size_t>(result);
        if (how != tried::made || result <= 0 || !is_one || got == parts->iov_len) return how;
        // It may be a file by now, whose pages were not all there: its pipe was closed within the C library.
        const comity::sys::errno_kept kept;
        if (::lseek(fd, 0, SEEK_CUR) == -1) return how;
        note_kind(fd, comity::core::descriptor::kind_of::other, errno);
        result += std::max<ssize_t>(
            0, next_read.get()(fd, static_cast<std::byte *>(parts->iov_base) + got, parts->iov_len - got));
        return how;
    }
};
} // namespace
COMITY_INTERPOSED ssize_t read(int fd, void *to, std::size_t size) {
    const iovec whole{to, size};
    return input(
        fd, [=](int by) { return next_read.get()(by, to, size); }, size == 0 ? MSG_DONTWAIT : 0,
        read_call{&whole, 1, true});
}
COMITY_INTERPOSED ssize_t readv(int fd, const iovec *to, int n) {
    COMITY_NEXT(readv, ssize_t(*)(int, const iovec *, int));
    const auto count = static_cast<std::size_t>(n);
    const bool waits = n > 0 && n <= IOV_MAX && size_of(to, count) != 0; // else the kernel answers at once
    return input(
        fd, [=](int by) { return next_readv.get()(by, to, n); }, waits ? 0 : MSG_DONTWAIT, read_call{to, count, false});
}
// Output is tried at once where that can be done, since mostly there is room: by attempt(sent). send_rest(n) sends what
// comes after n bytes, if that is anything. False: it would sleep, or cannot be tried, and nothing was sent.
template <class Attempt, class SendRest>
static bool send_at_once(int fd, int flags, ssize_t &sent, Attempt attempt, SendRest send_rest) {
    test_cancel();
    deliver_here();
    const int before = errno;
    const tried how = [&] {
        receiver *r = receiver_here();
        if (!r) return attempt(sent);
        const open_call here(*r, nullptr, call_ends::by_nothing); // for SIGPIPE, which is the caller's, and comes here
        return attempt(sent);
    }();
    if (how == tried::not_at_all) return false;
    const bool waits = !(flags & MSG_DONTWAIT);
    if (how == tried::would_sleep) {
        if (waits && !is_nonblocking(fd)) return false;
        errno = EAGAIN;
    }
    if (sent >= 0 && waits) {
        sent += send_rest(static_cast<std::size_t>(sent));
        errno = before;
    }
    deliver_here();
    return true;
}
static bool is_socket_of_ours(int fd) { return current_thread && is_socket(fd); }
static bool is_stream_of_ours(int fd) { return current_thread && is_stream(fd); }
static bool is_pipe_of_ours(int fd) { return current_thread && is_pipe(fd); }

// What comes after n bytes, by a call that waits. Returns how much of it was sent.
static std::size_t send_rest(int fd, const void *from, std::size_t size, int flags, std::size_t n) {
    if (n >= size) return 0;
    const void *rest = static_cast<const std::byte *>(from) + n;
    const ssize_t sent = output(
        fd, [=] { return size - n; }, [=] { return next_send.get()(fd, rest, size - n, flags | MSG_NOSIGNAL); });
    return static_cast<std::size_t>(std::max<ssize_t>(0, sent));
}
static bool send_at_once(int fd, const void *from, std::size_t size, int flags, ssize_t &sent) {
    const auto rest = [=](std::size_t n) { return static_cast<ssize_t>(send_rest(fd, from, size, flags, n)); };
    const auto call = [=](int to) { return next_send.get()(to, from, size, flags | MSG_DONTWAIT); };
    return send_at_once(
        fd, flags, sent, [=](ssize_t &n) { return try_on_socket(fd, call, n); }, rest);
}
static bool send_at_once(int fd, const msghdr *message, int flags, ssize_t &sent) {
    const auto rest = [=](std::size_t n) {
        ssize_t more = 0;
        for (const iovec &part : std::span(message->msg_iov, message->msg_iovlen)) {
            const std::size_t gone = std::min(n, part.iov_len),
                              now = send_rest(fd, part.iov_base, part.iov_len, flags, gone);
            n -= gone;
            more += static_cast<ssize_t>(now);
            if (gone + now != part.iov_len) break;
        }
        return more;
    };
    const auto call = [=](int to) { return next_sendmsg.get()(to, message, flags | MSG_DONTWAIT); };
    return send_at_once(
        fd, flags, sent, [=](ssize_t &n) { return try_on_socket(fd, call, n); }, rest);
}
static bool write_at_once(int fd, const void *from, std::size_t size, ssize_t &written) {
    const iovec whole{const_cast<void *>(from), size};
    const auto rest = [=](std::size_t n) -> ssize_t {
        if (n >= size) return 0;
        const void *rest = static_cast<const std::byte *>(from) + n;
        return std::max<ssize_t>(
            0, output(
                   fd, [=] { return size - n; }, [=] { return next_write.get()(fd, rest, size - n); }));
    };
    return send_at_once(
        fd, 0, written, [=](ssize_t &n) { return try_on_pipe(SYS_pwritev2, fd, &whole, 1, n); }, rest);
}
COMITY_INTERPOSED ssize_t write(int fd, const void *from, std::size_t size) {
    if (ssize_t sent = 0; is_stream_of_ours(fd) && send_at_once(fd, from, size, 0, sent)) return sent;
    if (ssize_t written = 0; is_pipe_of_ours(fd) && write_at_once(fd, from, size, written)) return written;
    return output(
        fd, [=] { return size; }, [=] { return next_write.get()(fd, from, size); });
}
COMITY_INTERPOSED ssize_t writev(int fd, const iovec *from, int n) {
    COMITY_NEXT(writev, ssize_t(*)(int, const iovec *, int));
    if (ssize_t sent = 0; n > 0 && n <= IOV_MAX && is_stream_of_ours(fd)) {
        msghdr message{};
        message.msg_iov = const_cast<iovec *>(from);
        message.msg_iovlen = static_cast<std::size_t>(n);
        if (send_at_once(fd, &message, 0, sent)) return sent;
    }
    return output(
        fd, [=] { return size_of(from, static_cast<unsigned>(n)); }, [=] { return next_writev.get()(fd, from, n); });
}
COMITY_INTERPOSED ssize_t recv(int fd, void *to, std::size_t size, int flags) {
    const auto call = [=](int by, int how = 0) { return next_recv.get()(by, to, size, flags | how); };
    return input(fd, call, flags, sockets_call{[=](int by) { return call(by, MSG_DONTWAIT); }});
}
COMITY_INTERPOSED ssize_t recvfrom(int fd, void *to, std::size_t size, int flags, sockaddr *from, socklen_t *length) {
    const auto call = [=](int by, int how = 0) { return next_recvfrom.get()(by, to, size, flags | how, from, length); };
    return input(fd, call, flags, sockets_call{[=](int by) { return call(by, MSG_DONTWAIT); }});
}
COMITY_INTERPOSED ssize_t recvmsg(int fd, msghdr *message, int flags) {
    const auto call = [=](int by, int how = 0) { return next_recvmsg.get()(by, message, flags | how); };
    return input(fd, call, flags, sockets_call{[=](int by) { return call(by, MSG_DONTWAIT); }});
}
COMITY_INTERPOSED ssize_t send(int fd, const void *from, std::size_t size, int flags) {
    if (ssize_t sent = 0; is_socket_of_ours(fd) && send_at_once(fd, from, size, flags, sent)) return sent;
    return output(
        fd, [=] { return size; }, [=] { return next_send.get()(fd, from, size, flags); }, flags);
}
// Whether a datagram that names its destination sleeps depends on that: it is tried.
COMITY_INTERPOSED ssize_t sendto(int fd, const void *from, std::size_t size, int flags, const sockaddr *to,
                                 socklen_t length) {
    COMITY_NEXT(sendto, ssize_t(*)(int, const void *, std::size_t, int, const sockaddr *, socklen_t));
    const auto call = [=] { return next_sendto.get()(fd, from, size, flags, to, length); };
    if (!to || !current_thread || is_stream(fd))
        return output(
            fd, [=] { return size; }, call, flags);
    const auto attempt = [=] { return next_sendto.get()(fd, from, size, flags | MSG_DONTWAIT, to, length); };
    const ssize_t sent = if_it_sleeps(false, attempt);
    if (sent != -1 || errno != EAGAIN || (flags & MSG_DONTWAIT) || is_nonblocking(fd)) return sent;
    return without_hart(within_limit_of([fd] { return fd; }, POLLOUT, call));
}
COMITY_INTERPOSED ssize_t sendmsg(int fd, const msghdr *message, int flags) {
    const bool connects = flags & MSG_FASTOPEN;
    if (ssize_t sent = 0; !connects && is_socket_of_ours(fd) && send_at_once(fd, message, flags, sent)) return sent;
    return output(
        fd, [=] { return size_of(message); }, [=] { return next_sendmsg.get()(fd, message, flags); }, flags);
}
// Where nothing is accepted, the call fails at once.
static int accept_how(int fd) noexcept {
    const comity::sys::errno_kept kept;
    int accepts = 0;
    socklen_t size = sizeof accepts;
    const bool is = ::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &accepts, &size) == 0 && accepts;
    return is ? 0 : MSG_DONTWAIT;
}
COMITY_INTERPOSED int accept(int fd, sockaddr *address, socklen_t *length) {
    COMITY_NEXT(accept, int (*)(int, sockaddr *, socklen_t *));
    return input(
        fd, [=](int by) { return next_accept.get()(by, address, length); }, accept_how(fd));
}
COMITY_INTERPOSED int accept4(int fd, sockaddr *address, socklen_t *length, int flags) {
    COMITY_NEXT(accept4, int (*)(int, sockaddr *, socklen_t *, int));
    return input(
        fd, [=](int by) { return next_accept4.get()(by, address, length, flags); }, accept_how(fd));
}
COMITY_INTERPOSED int connect(int fd, const sockaddr *address, socklen_t length) {
    COMITY_NEXT(connect, int (*)(int, const sockaddr *, socklen_t));
    return without_hart([=] { return next_connect.get()(fd, address, length); });
}
COMITY_INTERPOSED pid_t waitpid(pid_t pid, int *status, int options) {
    COMITY_NEXT(waitpid, pid_t(*)(pid_t, int *, int));
    return if_it_sleeps(!(options & WNOHANG), [=] { return next_waitpid.get()(pid, status, options); },
                        {.dozes = !(options & WNOHANG)});
}
COMITY_INTERPOSED pid_t wait(int *status) { return waitpid(-1, status, 0); }
COMITY_INTERPOSED pid_t wait3(int *status, int options, rusage *usage) { return wait4(-1, status, options, usage); }
COMITY_INTERPOSED pid_t wait4(pid_t pid, int *status, int options, rusage *usage) {
    COMITY_NEXT(wait4, pid_t(*)(pid_t, int *, int, rusage *));
    return if_it_sleeps(!(options & WNOHANG), [=] { return next_wait4.get()(pid, status, options, usage); },
                        {.dozes = !(options & WNOHANG)});
}
COMITY_INTERPOSED int waitid(idtype_t type, id_t id, siginfo_t *info, int options) {
    COMITY_NEXT(waitid, int (*)(idtype_t, id_t, siginfo_t *, int));
    return if_it_sleeps(!(options & WNOHANG), [=] { return next_waitid.get()(type, id, info, options); },
                        {.dozes = !(options & WNOHANG)});
}

COMITY_INTERPOSED int recvmmsg(int fd, mmsghdr *of, unsigned n, int flags, timespec *timeout) {
    COMITY_NEXT(recvmmsg, int (*)(int, mmsghdr *, unsigned, int, timespec *));
    const bool may_sleep = !(flags & MSG_DONTWAIT) && (n > 1 || would_sleep(fd, POLLIN));
    return if_it_sleeps(may_sleep, [=] { return next_recvmmsg.get()(fd, of, n, flags, timeout); });
}
COMITY_INTERPOSED int sendmmsg(int fd, mmsghdr *of, unsigned n, int flags) {
    COMITY_NEXT(sendmmsg, int (*)(int, mmsghdr *, unsigned, int));
    return if_it_sleeps(!(flags & MSG_DONTWAIT), [=] { return next_sendmmsg.get()(fd, of, n, flags); });
}
COMITY_INTERPOSED ssize_t msgrcv(int queue, void *to, std::size_t size, long type, int flags) {
    COMITY_NEXT(msgrcv, ssize_t(*)(int, void *, std::size_t, long, int));
    const auto call = [=] { return next_msgrcv.get()(queue, to, size, type, flags); };
    return if_it_sleeps(!(flags & IPC_NOWAIT), call, {after_handler::ends, !(flags & IPC_NOWAIT)});
}
COMITY_INTERPOSED int msgsnd(int queue, const void *from, std::size_t size, int flags) {
    COMITY_NEXT(msgsnd, int (*)(int, const void *, std::size_t, int));
    const auto call = [=] { return next_msgsnd.get()(queue, from, size, flags); };
    return if_it_sleeps(!(flags & IPC_NOWAIT), call, {after_handler::ends});
}
COMITY_INTERPOSED int semtimedop(int set, sembuf *of, std::size_t n, const timespec *timeout) {
    COMITY_NEXT(semtimedop, int (*)(int, sembuf *, std::size_t, const timespec *));
    const auto attempt = [=](const timespec *limit) { return next_semtimedop.get()(set, of, n, limit); };
    if (timeout && (!is_time(timeout) || timeout->tv_sec < 0)) return attempt(timeout);
    const bool only_looks = timeout && nanoseconds(*timeout) == 0;
    const auto call = [=] {
        return if_it_sleeps(!only_looks, limited_call<decltype(attempt)>{attempt, end_of(timeout)},
                            {after_handler::ends, !only_looks});
    };
    return make_uncancelled(call, [=] { return attempt(timeout); });
}
COMITY_INTERPOSED int semop(int set, sembuf *of, std::size_t n) { return semtimedop(set, of, n, nullptr); }
// What it is not asked for ends it: a request to cancel its thread, or a handler.
COMITY_INTERPOSED int aio_suspend(const aiocb *const of[], int n, const timespec *timeout) {
    COMITY_NEXT(aio_suspend, int (*)(const aiocb *const[], int, const timespec *));
    return without_hart([=] { return next_aio_suspend.get()(of, n, timeout); }, {after_handler::ends});
}

// ---- Words of the program's own: its own locks, and those of other languages' libraries

long comity_wait_at_word(long number, long word, long command, long expected, const timespec *timeout, long bits) {
    const bool is_absolute = (command & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET;
    const auto wait = [=](const timespec *limit) {
        return __atomic_load_n(&comity_other_calls, __ATOMIC_RELAXED)(number, word, command, expected,
                                                                      reinterpret_cast<long>(limit), 0, bits);
    };
    const bool is_wrong = timeout && (!comity::sys::is_readable(timeout) || !is_time(timeout) || timeout->tv_sec < 0);
    if (is_wrong) return wait(timeout);
    const auto call = [=] {
        if (timeout && !is_absolute)
            return without_hart(limited_call<decltype(wait)>{wait, end_of(timeout)}, {after_handler::ends, true});
        return without_hart([=] { return wait(timeout); },
                            {timeout ? after_handler::ends : after_handler::begins_anew, true});
    };
    return make_uncancelled(call, [=] { return wait(timeout); });
}

// ---- Files

COMITY_INTERPOSED int lockf(int fd, int command, off_t size) {
    COMITY_NEXT(lockf, int (*)(int, int, off_t));
    return if_it_sleeps(command == F_LOCK, [=] { return next_lockf.get()(fd, command, size); });
}
COMITY_INTERPOSED int lockf64(int fd, int command, off64_t size) {
    COMITY_NEXT(lockf64, int (*)(int, int, off64_t));
    return if_it_sleeps(command == F_LOCK, [=] { return next_lockf64.get()(fd, command, size); });
}
COMITY_INTERPOSED int flock(int fd, int how) noexcept {
    COMITY_NEXT(flock, int (*)(int, int));
    const auto lock = [=] { return next_flock.get()(fd, how); };
    return make_uncancelled([=] { return if_it_sleeps(!(how & LOCK_NB), lock, {.dozes = !(how & LOCK_NB)}); }, lock);
}
COMITY_INTERPOSED int fsync(int fd) {
    COMITY_NEXT(fsync, int (*)(int));
    return without_hart([=] { return next_fsync.get()(fd); }, dozing);
}
COMITY_INTERPOSED int fdatasync(int fd) {
    COMITY_NEXT(fdatasync, int (*)(int));
    return without_hart([=] { return next_fdatasync.get()(fd); }, dozing);
}
COMITY_INTERPOSED int msync(void *at, std::size_t size, int flags) {
    COMITY_NEXT(msync, int (*)(void *, std::size_t, int));
    return if_it_sleeps(flags & MS_SYNC, [=] { return next_msync.get()(at, size, flags); });
}
// At a place in a file: cancellation points that do not sleep.
#define COMITY_AT_PLACE(name, data, length, place)                                                                     \
    COMITY_INTERPOSED ssize_t name(int fd, data of, length n, place at) {                                              \
        COMITY_NEXT(name, ssize_t (*)(int, data, length, place));                                                      \
        return if_it_sleeps(false, [=] { return next_##name.get()(fd, of, n, at); });                                  \
    }
COMITY_AT_PLACE(pread, void *, std::size_t, off_t)
COMITY_AT_PLACE(pread64, void *, std::size_t, off64_t)
COMITY_AT_PLACE(preadv, const iovec *, int, off_t)
COMITY_AT_PLACE(preadv64, const iovec *, int, off64_t)
COMITY_AT_PLACE(pwrite, const void *, std::size_t, off_t)
COMITY_AT_PLACE(pwrite64, const void *, std::size_t, off64_t)
COMITY_AT_PLACE(pwritev, const iovec *, int, off_t)
COMITY_AT_PLACE(pwritev64, const iovec *, int, off64_t)
COMITY_INTERPOSED int tcdrain(int fd) {
    COMITY_NEXT(tcdrain, int (*)(int));
    return without_hart([=] { return next_tcdrain.get()(fd); }, dozing);
}

// What the headers make of such calls in a program built with _FORTIFY_SOURCE.

extern "C" [[noreturn]] void __chk_fail(); // the C library's: ends the program

COMITY_INTERPOSED ssize_t __read_chk(int fd, void *to, std::size_t size, std::size_t room) {
    return size > room ? __chk_fail(), 0 : read(fd, to, size);
}
COMITY_INTERPOSED ssize_t __pread_chk(int fd, void *to, std::size_t size, off_t from, std::size_t room) {
    return size > room ? __chk_fail(), 0 : pread(fd, to, size, from);
}
COMITY_INTERPOSED ssize_t __pread64_chk(int fd, void *to, std::size_t size, off64_t from, std::size_t room) {
    return size > room ? __chk_fail(), 0 : pread64(fd, to, size, from);
}
COMITY_INTERPOSED ssize_t __recv_chk(int fd, void *to, std::size_t size, std::size_t room, int flags) {
    return size > room ? __chk_fail(), 0 : recv(fd, to, size, flags);
}
COMITY_INTERPOSED ssize_t __recvfrom_chk(int fd, void *to, std::size_t size, std::size_t room, int flags,
                                         sockaddr *from, socklen_t *length) {
    return size > room ? __chk_fail(), 0 : recvfrom(fd, to, size, flags, from, length);
}
COMITY_ALSO_NAMED(__read, read);
COMITY_ALSO_NAMED(__write, write);
COMITY_ALSO_NAMED(__pread64, pread64);
COMITY_ALSO_NAMED(__pwrite64, pwrite64);
COMITY_ALSO_NAMED(__send, send);
COMITY_ALSO_NAMED(__connect, connect);
COMITY_ALSO_NAMED(__wait, wait);
COMITY_ALSO_NAMED(__waitpid, waitpid);

// NOLINTEND(readability-inconsistent-declaration-parameter-name)
