// signalfd. The kernel's sees what the kernel's threads block, which is nothing. Ours is one end of a pair of sockets;
// into the other one goes what nobody takes but is asked for there.
#include "core/spinlock.hpp"
#include "personality/pthread/threads/object.hpp"
#include "personality/pthread/threads/signals.hpp"
#include "personality/pthread/threads/vfork.hpp"
#include "sys/errno_kept.hpp"
#include "sys/high_descriptor.hpp"
#include "sys/message.hpp"
#include "sys/process.hpp"
#include "sys/refusal.hpp"

#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

namespace comity::posix {

namespace {

COMITY_NEXT_SYMBOL next<int (*)(int, const sigset_t *, int)> next_signalfd{"signalfd"};

struct descriptor {
    int programs = -1, ours = -1;
    ino_t programs_file = 0, our_file = 0; // the numbers may have become others' meanwhile
    signal_set wants = 0;
    bool is_used() const noexcept { return ours >= 0; }
};
constexpr unsigned most = 64;
core::spinlock lock;
descriptor all[most];              // under the lock
std::atomic<signal_set> wanted{0}; // by any of them; written under the lock

// A socket's; 0: it is none.
ino_t file_of(int fd) noexcept {
    struct stat s {};
    return ::fstat(fd, &s) == 0 && S_ISSOCK(s.st_mode) ? s.st_ino : 0;
}

// Under the lock, as the next ones.
void count_wanted() noexcept {
    signal_set sum = 0;
    for (const descriptor &d : all) sum |= d.wants;
    wanted.store(sum, std::memory_order_relaxed);
}

bool is_ours(const descriptor &d) noexcept { return file_of(d.ours) == d.our_file; }

void end(descriptor &d) noexcept {
    if (is_ours(d)) sys::close_raw(d.ours);
    d = {};
    count_wanted();
}

// Has the program closed it, and all its copies?
bool is_closed(const descriptor &d) noexcept {
    if (!is_ours(d)) return true;
    char c = 0;
    return ::syscall(SYS_recvfrom, d.ours, &c, sizeof c, MSG_DONTWAIT, nullptr, nullptr) == 0;
}

signalfd_siginfo record_of(const siginfo_t &info) noexcept {
    signalfd_siginfo s{};
    s.ssi_signo = static_cast<std::uint32_t>(info.si_signo);
    s.ssi_errno = info.si_errno;
    s.ssi_code = info.si_code;
    if (info.si_code == SI_TIMER) {
        s.ssi_tid = static_cast<std::uint32_t>(info.si_timerid);
        s.ssi_overrun = static_cast<std::uint32_t>(info.si_overrun);
    } else if (info.si_signo == SIGPOLL && info.si_code > 0) {
        s.ssi_band = static_cast<std::uint32_t>(info.si_band);
        s.ssi_fd = info.si_fd;
    } else {
        s.ssi_pid = static_cast<std::uint32_t>(info.si_pid);
        s.ssi_uid = info.si_uid;
    }
    if (info.si_signo == SIGCHLD && info.si_code > 0) {
        s.ssi_status = info.si_status;
        s.ssi_utime = static_cast<std::uint64_t>(info.si_utime);
        s.ssi_stime = static_cast<std::uint64_t>(info.si_stime);
    } else if (info.si_code < 0) {
        s.ssi_int = info.si_value.sival_int;
        s.ssi_ptr = reinterpret_cast<std::uintptr_t>(info.si_value.sival_ptr);
    }
    return s;
}

// False: there are no descriptors left.
bool open(descriptor &d) noexcept {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return false;
    ends[1] = sys::moved_up(ends[1]);
    d = {ends[0], ends[1], file_of(ends[0]), file_of(ends[1]), d.wants};
    return true;
}

// By either of two calls, of which a sandbox may refuse one.
long send(int to, const signalfd_siginfo &record) noexcept {
    constexpr int at_once = MSG_DONTWAIT | MSG_NOSIGNAL;
    const long sent = ::syscall(SYS_sendto, to, &record, sizeof record, at_once, nullptr, 0);
    if (sent >= 0 || !sys::is_refusal(errno)) return sent;
    iovec part{const_cast<signalfd_siginfo *>(&record), sizeof record};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    return ::syscall(SYS_sendmsg, to, &message, at_once);
}

int make(signal_set wants, int flags) noexcept {
    descriptor made{.wants = wants};
    if (!open(made)) return -1;
    if (!(flags & SFD_CLOEXEC)) ::syscall(SYS_fcntl, made.programs, F_SETFD, 0);
    if (flags & SFD_NONBLOCK) ::syscall(SYS_fcntl, made.programs, F_SETFL, O_NONBLOCK);
    lock.lock();
    descriptor *place = nullptr;
    for (descriptor &d : all) {
        if (d.is_used() && is_closed(d)) end(d);
        if (!place && !d.is_used()) place = &d;
    }
    if (place) *place = made;
    count_wanted();
    lock.unlock();
    if (place) return made.programs;
    sys::close_raw(made.programs);
    sys::close_raw(made.ours);
    errno = EMFILE;
    return -1;
}

// False: it is none of ours.
bool change(int fd, signal_set wants) noexcept {
    const ino_t file = file_of(fd);
    bool done = false;
    lock.lock();
    for (descriptor &d : all) {
        if (!d.is_used() || file == 0 || d.programs_file != file) continue;
        d.wants = wants;
        done = true;
    }
    count_wanted();
    lock.unlock();
    return done;
}

// The child of a fork has its parent's, in which it must not put what it is sent, nor find what its parent is sent. It
// gets its own by the same number.
void renew_in_child() noexcept {
    lock.unlock();
    for (descriptor &d : all) {
        if (!d.is_used()) continue;
        const int number = d.programs;
        const bool is_there = file_of(number) == d.programs_file;
        descriptor own{.wants = d.wants};
        end(d);
        if (!is_there || !open(own)) continue;
        const long closes = ::syscall(SYS_fcntl, number, F_GETFD), mode = ::syscall(SYS_fcntl, number, F_GETFL);
        ::syscall(SYS_fcntl, own.programs, F_SETFL, mode);
        ::syscall(SYS_dup3, own.programs, number, closes & FD_CLOEXEC ? O_CLOEXEC : 0);
        sys::close_raw(own.programs);
        own.programs = number;
        d = own;
    }
    count_wanted();
}

__attribute__((constructor(handlers_of_signals))) void watch_forks() noexcept {
    if (!sys::at_fork([] { lock.lock(); }, [] { lock.unlock(); }, renew_in_child))
        sys::warn("no memory to prepare for fork: a child process must not use signalfd");
}

} // namespace

signal_set wanted_by_descriptors() noexcept { return wanted.load(std::memory_order_relaxed); }

bool put_into_descriptor(const siginfo_t &info) noexcept {
    const sys::errno_kept kept;
    const signalfd_siginfo record = record_of(info);
    bool done = false;
    lock.lock();
    for (descriptor &d : all) {
        if (!(d.wants & set_of(info.si_signo))) continue;
        const bool is_there = is_ours(d);
        const long sent = is_there ? send(d.ours, record) : -1;
        if ((done = sent > 0)) break;
        if (!is_there || errno != EAGAIN) end(d); // EPIPE: the program has closed it
    }
    lock.unlock();
    return done;
}

} // namespace comity::posix

using namespace comity::posix;

// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): glibc's names are reserved ones

COMITY_INTERPOSED int signalfd(int fd, const sigset_t *set, int flags) noexcept {
    if (in_vforked_child()) return next_signalfd.get()(fd, set, flags);
    begin_signals();
    if (!receiver_here() || (flags & ~(SFD_CLOEXEC | SFD_NONBLOCK))) return next_signalfd.get()(fd, set, flags);
    const signal_set wants = set_of(set) & ~never_blocked;
    claim(wants);
    int result = fd;
    if (fd == -1)
        result = make(wants, flags);
    else if (!change(fd, wants))
        result = next_signalfd.get()(fd, set, flags);
    ring_router(); // something may be pending
    return result;
}

// NOLINTEND(readability-inconsistent-declaration-parameter-name)
