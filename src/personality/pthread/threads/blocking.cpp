// System calls that may sleep: the thread leaves its hart to others first. All are cancellation points. Those that need
// not sleep, as far as a look tells, are made at once.
#include "personality/pthread/threads/thread.hpp"

#include <climits>
#include <cstdarg>

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

namespace comity::posix {

namespace {

// Does a call that a handler has interrupted begin anew, if the handler was set up so (SA_RESTART)?
enum class after_handler : bool { ends, begins_anew };

// While it lives, a signal, or a request to cancel the thread, ends the call that it makes.
class open_call {
public:
    explicit open_call(receiver &r) noexcept : r_(r) { set(true); }
    ~open_call() { set(false); }
    open_call(const open_call &) = delete;
    open_call &operator=(const open_call &) = delete;

private:
    void set(bool open) noexcept {
        r_.in_call = open;
        if (current_thread) note_cancellation(current_thread);
    }
    receiver &r_;
};

// Makes the call, and handlers run meanwhile. The thread may be interrupted for nothing: then it begins anew. errno is
// the call's. True: the thread is to be cancelled, and the call has done nothing.
template <class Call, class Result> bool make(Call call, Result &result, after_handler after) {
    receiver *r = receiver_here();
    if (!r) return result = call(), false;
    deliver_here();
    const std::uint32_t &handlers = after == after_handler::ends ? r->handled : r->handled_without_restart;
    for (const std::uint32_t seen = handlers;;) {
        bool cancelled = false;
        {
            const open_call here(*r);
            cancelled = is_to_be_cancelled(*r);
            if (!cancelled) result = call();
            const int error = errno; // the thread's own, wherever it runs
            if (!cancelled && (result != -1 || error != EINTR)) return false;
            cancelled = cancelled || is_to_be_cancelled(*r);
        }
        if (cancelled) return true;
        deliver_here();
        errno = EINTR;
        if (handlers != seen) return false;
    }
}

// Makes the call without a hart, if there is one to leave; then comes back.
template <class Call> auto without_hart(Call call, after_handler after = after_handler::begins_anew) {
    test_cancel();
    if (current_thread) (void)leave_hart();
    decltype(call()) result{};
    const bool cancelled = make(call, result, after);
    const int error = errno;
    come_home();
    errno = error;
    deliver_here();
    if (cancelled) test_cancel();
    return result;
}

// Would a call for `events` on the descriptor sleep?
bool sleeps(int fd, short events) noexcept {
    if (!current_thread) return false;
    const int kept = errno;
    pollfd p{fd, events, 0};
    const timespec at_once{};
    COMITY_NEXT_SYMBOL static next<int (*)(pollfd *, nfds_t, const timespec *, const sigset_t *)> next_ppoll{"ppoll"};
    const bool waits = next_ppoll.get()(&p, 1, &at_once, nullptr) == 0 && !(::fcntl(fd, F_GETFL) & O_NONBLOCK);
    errno = kept;
    return waits;
}

// The same for output of this size: a pipe or a socket that can take some of it sleeps for the rest.
bool sleeps_for(int fd, std::size_t size) noexcept {
    if (!current_thread) return false;
    if (size <= PIPE_BUF) return sleeps(fd, POLLOUT);
    const int kept = errno;
    struct stat about {};
    const bool waits = ::fstat(fd, &about) == 0 && !S_ISREG(about.st_mode) && !(::fcntl(fd, F_GETFL) & O_NONBLOCK);
    errno = kept;
    return waits;
}

std::size_t size_of(const iovec *of, int n) noexcept {
    std::size_t size = 0;
    for (int i = 0; i < n; ++i) size += of[i].iov_len;
    return size;
}

template <class Call> auto if_it_sleeps(bool sleeps, Call call, after_handler after) {
    if (!current_thread || sleeps) return without_hart(call, after);
    test_cancel();
    return call();
}
template <class Call> auto on(int fd, short events, Call call, after_handler after = after_handler::begins_anew) {
    return if_it_sleeps(sleeps(fd, events), call, after);
}
template <class Call> auto output(int fd, std::size_t size, Call call) {
    return if_it_sleeps(sleeps_for(fd, size), call, after_handler::begins_anew);
}

} // namespace
} // namespace comity::posix

using comity::posix::after_handler;
using comity::posix::next;
using comity::posix::on;
using comity::posix::output;
using comity::posix::size_of;
using comity::posix::without_hart;

// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): glibc's names are reserved ones

#define COMITY_NEXT(name, type)                                                                                        \
    COMITY_NEXT_SYMBOL static next<type> next_##name { #name }

COMITY_INTERPOSED ssize_t read(int fd, void *to, std::size_t size) {
    COMITY_NEXT(read, ssize_t(*)(int, void *, std::size_t));
    return on(fd, POLLIN, [=] { return next_read.get()(fd, to, size); });
}
COMITY_INTERPOSED ssize_t readv(int fd, const iovec *to, int n) {
    COMITY_NEXT(readv, ssize_t(*)(int, const iovec *, int));
    return on(fd, POLLIN, [=] { return next_readv.get()(fd, to, n); });
}
COMITY_INTERPOSED ssize_t write(int fd, const void *from, std::size_t size) {
    COMITY_NEXT(write, ssize_t(*)(int, const void *, std::size_t));
    return output(fd, size, [=] { return next_write.get()(fd, from, size); });
}
COMITY_INTERPOSED ssize_t writev(int fd, const iovec *from, int n) {
    COMITY_NEXT(writev, ssize_t(*)(int, const iovec *, int));
    return output(fd, size_of(from, n), [=] { return next_writev.get()(fd, from, n); });
}
COMITY_INTERPOSED ssize_t recv(int fd, void *to, std::size_t size, int flags) {
    COMITY_NEXT(recv, ssize_t(*)(int, void *, std::size_t, int));
    return on(fd, POLLIN, [=] { return next_recv.get()(fd, to, size, flags); });
}
COMITY_INTERPOSED ssize_t recvfrom(int fd, void *to, std::size_t size, int flags, sockaddr *from, socklen_t *length) {
    COMITY_NEXT(recvfrom, ssize_t(*)(int, void *, std::size_t, int, sockaddr *, socklen_t *));
    return on(fd, POLLIN, [=] { return next_recvfrom.get()(fd, to, size, flags, from, length); });
}
COMITY_INTERPOSED ssize_t recvmsg(int fd, msghdr *message, int flags) {
    COMITY_NEXT(recvmsg, ssize_t(*)(int, msghdr *, int));
    return on(fd, POLLIN, [=] { return next_recvmsg.get()(fd, message, flags); });
}
COMITY_INTERPOSED ssize_t send(int fd, const void *from, std::size_t size, int flags) {
    COMITY_NEXT(send, ssize_t(*)(int, const void *, std::size_t, int));
    return output(fd, size, [=] { return next_send.get()(fd, from, size, flags); });
}
COMITY_INTERPOSED ssize_t sendto(int fd, const void *from, std::size_t size, int flags, const sockaddr *to,
                                 socklen_t length) {
    COMITY_NEXT(sendto, ssize_t(*)(int, const void *, std::size_t, int, const sockaddr *, socklen_t));
    return output(fd, size, [=] { return next_sendto.get()(fd, from, size, flags, to, length); });
}
COMITY_INTERPOSED ssize_t sendmsg(int fd, const msghdr *message, int flags) {
    COMITY_NEXT(sendmsg, ssize_t(*)(int, const msghdr *, int));
    return output(fd, size_of(message->msg_iov, static_cast<int>(message->msg_iovlen)),
                  [=] { return next_sendmsg.get()(fd, message, flags); });
}
COMITY_INTERPOSED int accept(int fd, sockaddr *address, socklen_t *length) {
    COMITY_NEXT(accept, int (*)(int, sockaddr *, socklen_t *));
    return on(fd, POLLIN, [=] { return next_accept.get()(fd, address, length); });
}
COMITY_INTERPOSED int accept4(int fd, sockaddr *address, socklen_t *length, int flags) {
    COMITY_NEXT(accept4, int (*)(int, sockaddr *, socklen_t *, int));
    return on(fd, POLLIN, [=] { return next_accept4.get()(fd, address, length, flags); });
}
COMITY_INTERPOSED int connect(int fd, const sockaddr *address, socklen_t length) {
    COMITY_NEXT(connect, int (*)(int, const sockaddr *, socklen_t));
    return without_hart([=] { return next_connect.get()(fd, address, length); });
}
COMITY_INTERPOSED int poll(pollfd *of, nfds_t n, int timeout) {
    COMITY_NEXT(poll, int (*)(pollfd *, nfds_t, int));
    if (timeout != 0 && comity::posix::current_thread)
        if (const int ready = next_poll.get()(of, n, 0)) return ready;
    if (timeout == 0) return next_poll.get()(of, n, 0);
    return without_hart([=] { return next_poll.get()(of, n, timeout); }, after_handler::ends);
}
COMITY_INTERPOSED int ppoll(pollfd *of, nfds_t n, const timespec *timeout, const sigset_t *mask) {
    COMITY_NEXT(ppoll, int (*)(pollfd *, nfds_t, const timespec *, const sigset_t *));
    return without_hart([=] { return next_ppoll.get()(of, n, timeout, mask); }, after_handler::ends);
}
COMITY_INTERPOSED int select(int n, fd_set *in, fd_set *out, fd_set *other, timeval *timeout) {
    COMITY_NEXT(select, int (*)(int, fd_set *, fd_set *, fd_set *, timeval *));
    return without_hart([=] { return next_select.get()(n, in, out, other, timeout); }, after_handler::ends);
}
COMITY_INTERPOSED int pselect(int n, fd_set *in, fd_set *out, fd_set *other, const timespec *timeout,
                              const sigset_t *mask) {
    COMITY_NEXT(pselect, int (*)(int, fd_set *, fd_set *, fd_set *, const timespec *, const sigset_t *));
    return without_hart([=] { return next_pselect.get()(n, in, out, other, timeout, mask); }, after_handler::ends);
}
COMITY_INTERPOSED int epoll_wait(int fd, epoll_event *events, int n, int timeout) {
    COMITY_NEXT(epoll_wait, int (*)(int, epoll_event *, int, int));
    if (timeout == 0) return next_epoll_wait.get()(fd, events, n, 0);
    return on(
        fd, POLLIN, [=] { return next_epoll_wait.get()(fd, events, n, timeout); }, after_handler::ends);
}
COMITY_INTERPOSED int epoll_pwait(int fd, epoll_event *events, int n, int timeout, const sigset_t *mask) {
    COMITY_NEXT(epoll_pwait, int (*)(int, epoll_event *, int, int, const sigset_t *));
    return on(
        fd, POLLIN, [=] { return next_epoll_pwait.get()(fd, events, n, timeout, mask); }, after_handler::ends);
}
COMITY_INTERPOSED pid_t waitpid(pid_t pid, int *status, int options) {
    COMITY_NEXT(waitpid, pid_t(*)(pid_t, int *, int));
    if (options & WNOHANG) return next_waitpid.get()(pid, status, options);
    return without_hart([=] { return next_waitpid.get()(pid, status, options); });
}
COMITY_INTERPOSED pid_t wait(int *status) { return waitpid(-1, status, 0); }
COMITY_INTERPOSED pid_t wait4(pid_t pid, int *status, int options, rusage *usage) {
    COMITY_NEXT(wait4, pid_t(*)(pid_t, int *, int, rusage *));
    return without_hart([=] { return next_wait4.get()(pid, status, options, usage); });
}
COMITY_INTERPOSED int waitid(idtype_t type, id_t id, siginfo_t *info, int options) {
    COMITY_NEXT(waitid, int (*)(idtype_t, id_t, siginfo_t *, int));
    return without_hart([=] { return next_waitid.get()(type, id, info, options); });
}

// NOLINTEND(readability-inconsistent-declaration-parameter-name)
