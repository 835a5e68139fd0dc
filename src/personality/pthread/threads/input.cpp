#include "personality/pthread/threads/input.hpp"

#include "comity/scheduler.h"
#include "core/displacement.hpp"
#include "core/input.hpp"
#include "core/runtime.hpp"
#include "personality/pthread/threads/habit.hpp"
#include "personality/pthread/threads/library_call.hpp"
#include "personality/pthread/threads/thread.hpp"
#include "personality/pthread/threads/vfork.hpp"
#include "sys/clock.hpp"
#include "sys/errno_kept.hpp"
#include "sys/high_descriptor.hpp"
#include "sys/kernel_thread.hpp"

#include <algorithm>
#include <climits>
#include <utility>

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

namespace comity::posix {

namespace {

// A call that takes this long has slept, and so has one after which the thread is on no hart.
constexpr std::uint64_t asleep_us = 10;
// How long threads that read do so without harts, once those have been missing.
constexpr std::uint64_t without_harts_us = 500'000;
std::atomic<std::uint64_t> without_harts_until{0}; // ticks

// Threads of ours that are in calls for input. If they are more, others do not join them.
std::atomic<std::uint32_t> in_kernel{0};
constexpr std::uint32_t most_in_kernel = 4;

std::uint64_t us_of(std::uint64_t ticks) noexcept { return ticks / core::ticks_per_us(); }

bool is_on_hart() noexcept {
    const core::context *c = core::current_context();
    return c && c->on->carried && comity_scheduler_self() == the_scheduler();
}

using kind_of = core::descriptor::kind_of;
kind_of find_kind(int fd, core::descriptor &d) noexcept {
    kind_of kind = d.kind.load(std::memory_order_relaxed);
    if (kind != kind_of::unknown) return kind;
    const sys::errno_kept kept;
    int type = 0, domain = 0;
    socklen_t size = sizeof type, domain_size = sizeof domain;
    struct stat about {};
    if (::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0) {
        // Of others MSG_DONTWAIT may mean more (the rings of AF_PACKET).
        const bool is_usual = ::getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &domain_size) == 0 &&
                              (domain == AF_UNIX || domain == AF_INET || domain == AF_INET6);
        kind = !is_usual ? kind_of::polled : type == SOCK_STREAM ? kind_of::stream : kind_of::socket;
    } else {
        // Of all others it is tried: what the kernel has for its own purposes has no type.
        const bool is = ::fstat(fd, &about) == 0 && ((about.st_mode & S_IFMT) == 0 || S_ISFIFO(about.st_mode));
        kind = is ? kind_of::pipe : kind_of::other;
    }
    d.kind.store(kind, std::memory_order_relaxed);
    return kind;
}

kind_of kind_at(int fd) noexcept {
    core::descriptor *d = core::descriptor_of(fd);
    return d ? find_kind(fd, *d) : kind_of::other;
}

// At which of the shared reports the thread waits.
unsigned share_of(const thread *t) noexcept {
    return static_cast<unsigned>((reinterpret_cast<std::uintptr_t>(t) / sizeof *t) % core::shared_reports_most);
}

bool sleeps(const called_file *f) noexcept { return f->descriptor()->sleeps.load(std::memory_order_relaxed); }

} // namespace

called_file::called_file(int fd) noexcept
    : left_by_jump(receiver_here()),
      fd_(fd),
      d_(core::descriptor_of(fd)),
      closed_(d_ ? d_->closed.load(std::memory_order_relaxed) : 0),
      moving_{d_ ? &d_->waiters : nullptr} {}

called_file::~called_file() {
    let_go();
    const sys::errno_kept kept;
    if (own_ >= 0) sys::close_raw(own_);
}

// Who was moved goes on with the same file, or has let it go.
bool called_file::hold() noexcept {
    is_held_ = true;
    d_->waiters.fetch_add(1, std::memory_order_seq_cst); // seq_cst[input-closing]
    closed_ = d_->closed.load(std::memory_order_relaxed);
    if (d_->closers.load(std::memory_order_seq_cst) == 0) return true; // seq_cst[input-closing]
    return let_go(), false;
}

void called_file::let_go() noexcept {
    const auto n = static_cast<std::uint32_t>(std::exchange(is_held_, false)) +
                   static_cast<std::uint32_t>(std::exchange(moving_.has_moved, false));
    // In the child of a fork by a handler nobody is counted.
    std::uint32_t all = n != 0 ? d_->waiters.load(std::memory_order_relaxed) : 0;
    while (all != 0 && !d_->waiters.compare_exchange_weak(all, all - std::min(n, all), std::memory_order_relaxed)) {
    }
}

void called_file::undo() noexcept {
    if (sys::comity_moving_call == &moving_) sys::comity_moving_call = nullptr;
    core::current_context()->self.comes_in_turn = false;
    let_go();
    if (own_ >= 0) sys::close_raw(std::exchange(own_, -1));
}

// Whoever has closed it has raised `closed` before.
bool called_file::is_being_closed() const noexcept {
    return d_->closers.load(std::memory_order_seq_cst) != 0 || // seq_cst[input-closing], seq_cst[input-closed]
           d_->closed.load(std::memory_order_relaxed) != closed_;
}

bool called_file::keep() noexcept {
    if (own_ >= 0) return true;
    const sys::errno_kept kept;
    own_ = sys::high_copy(fd_);
    if (own_ < 0) own_ = ::fcntl(fd_, F_DUPFD_CLOEXEC, 0);
    if (own_ >= 0 && d_->closed.load(std::memory_order_relaxed) != closed_) sys::close_raw(std::exchange(own_, -1));
    return own_ >= 0;
}

input_wait::input_wait(std::span<called_file *const> files, what w) : files_(files), what_(w) {
    if (std::ranges::any_of(files, [](const called_file *f) { return !f->descriptor(); })) return;
    const bool waits_here = files.empty() || std::ranges::any_of(files, sleeps) || core::is_hart_wanted() ||
                            in_kernel.load(std::memory_order_relaxed) > most_in_kernel;
    if (!waits_here || !current_thread || habit::makes_call_away(*current_thread)) return;
    if (sys::ticks() < without_harts_until.load(std::memory_order_relaxed)) return;
    r_ = receiver_here();
    if (!r_) return;
    test_cancel();
    if (!is_on_hart()) {
        if (in_vforked_child()) return;
        come_home();
        if (!is_on_hart()) return;
    }
    handlers_ = handlers();
    deliver_here();
    is_here_ = std::ranges::all_of(files, &called_file::hold);
    if (!is_here_) let_go();
}

void input_wait::let_go() noexcept {
    for (called_file *f : files_) f->let_go();
}

// False: not all can be watched.
bool input_wait::begin(std::uint64_t also) noexcept {
    for (called_file *f : files_)
        if (!core::watch(f->number(), *f->descriptor(), sync::wake_all_at, also)) {
            f->descriptor()->sleeps.store(false, std::memory_order_relaxed); // to the next call
            return false;
        }
    // The kernel's calls until here are no code of Comity's: the thread may have been displaced there.
    come_home();
    return is_on_hart();
}

// False: it is too late for one.
bool input_wait::keep_what_is_closed() noexcept {
    return std::ranges::all_of(files_, [](called_file *f) { return !f->is_being_closed() || f->keep(); });
}

input_wait::outcome input_wait::wait(std::int64_t deadline) {
    if (handlers() != handlers_) return outcome::interrupted;
    const bool is_one = files_.size() == 1;
    const unsigned share = share_of(current_thread);
    const std::atomic<std::uint32_t> &reports =
        is_one ? files_.front()->descriptor()->reports : core::shared_reports(share);
    const auto is_closing = [&] { return std::ranges::any_of(files_, &called_file::is_being_closed); };
    const std::uint32_t seen = reports.load(std::memory_order_acquire); // acquire[input-report]
    timeval limit{}; // the kernel counts from the begin of its own call
    bool waits =
        !in_vforked_child() && (what_ == what::events || !has_time_limit(files_.front()->number(), SO_RCVTIMEO, limit));
    waits = waits && begin(is_one ? 0 : std::uint64_t{1} << share);
    // Who closes one has said so before it reports that.
    if (waits && !is_closing()) {
        const auto reported = [&]() noexcept {
            return reports.load(std::memory_order_acquire) != seen; // acquire[input-report]
        };
        core::current_context()->self.comes_in_turn = !files_.empty();
        // The hart, not the thread, spins: it looks for reports meanwhile.
        const habit::wait_for_input begun = habit::begins_wait(*current_thread);
        const signalled_wait e = wait_or_signal<true>(&reports, reported, deadline, false);
        habit::ends_wait(*current_thread, begun);
        core::current_context()->self.comes_in_turn = false;
        act_upon(e);
        if (handlers() != handlers_) return outcome::interrupted; // also if one has closed it
        if (e == signalled_wait::late && !is_closing()) return outcome::late;
    }
    if (waits && !is_closing()) return outcome::may_read;
    is_here_ = false;
    const bool is_there = keep_what_is_closed();
    let_go(); // who closes it need not wait for the call
    return is_there ? outcome::is_to_call : outcome::is_closed;
}

void read_without_harts() noexcept {
    without_harts_until.store(sys::ticks() + without_harts_us * core::ticks_per_us(), std::memory_order_relaxed);
}

kernel_input::kernel_input(std::span<called_file *const> files) noexcept
    : left_by_jump(receiver_here()), files_(files) {
    if (!current_thread) return;
    from_ = sys::ticks();
    in_kernel.fetch_add(1, std::memory_order_relaxed);
}

void kernel_input::undo() noexcept {
    std::uint32_t n = from_ != 0 ? in_kernel.load(std::memory_order_relaxed) : 0;
    while (n != 0 && !in_kernel.compare_exchange_weak(n, n - 1, std::memory_order_relaxed)) {
    }
}

void forget_kernel_input() noexcept { in_kernel.store(0, std::memory_order_relaxed); }

kernel_input::~kernel_input() {
    undo();
    if (from_ == 0) return;
    if (us_of(sys::ticks() - from_) < asleep_us && is_on_hart()) return;
    for (const called_file *f : files_) {
        core::descriptor *d = f->descriptor();
        if (!d || f->is_closed()) continue;
        find_kind(f->number(), *d);
        d->sleeps.store(true, std::memory_order_relaxed);
    }
}

bool has_time_limit(int fd, int option, timeval &limit) noexcept {
    const sys::errno_kept kept;
    socklen_t size = sizeof limit;
    return ::getsockopt(fd, SOL_SOCKET, option, &limit, &size) == 0 && (limit.tv_sec != 0 || limit.tv_usec != 0);
}

bool is_socket(int fd) noexcept {
    const kind_of kind = kind_at(fd);
    return kind == kind_of::stream || kind == kind_of::socket;
}
bool is_stream(int fd) noexcept { return kind_at(fd) == kind_of::stream; }
bool is_pipe(int fd) noexcept { return kind_at(fd) == kind_of::pipe; }
bool is_source(int fd) noexcept {
    const kind_of kind = kind_at(fd);
    return kind == kind_of::pipe || kind == kind_of::source;
}
bool is_polled(int fd) noexcept {
    const kind_of kind = kind_at(fd);
    return kind != kind_of::pipe && kind != kind_of::source && kind != kind_of::other;
}

// Older kernels cannot tell a pipe not to wait, and no kernel a FIFO, of which `poll` says nothing before there was a
// writer, though a read would not wait for one.
void note_not_tried(int fd, bool to_write, int error) noexcept {
    struct statfs about {};
    const bool is_pipe = ::fstatfs(fd, &about) == 0 && about.f_type == PIPEFS_MAGIC;
    note_kind(fd, is_pipe ? kind_of::polled : to_write ? kind_of::source : kind_of::other, error);
}

void note_kind(int fd, kind_of kind, int error) noexcept {
    if (core::descriptor *d = core::known_descriptor(fd)) d->kind.store(kind, std::memory_order_relaxed);
    errno = error;
}

namespace {
void note_closing() noexcept {
    if (receiver *r = receiver_here()) ++r->numbers_closed;
}
} // namespace

closing::closing(int fd) noexcept {
    note_closing();
    is_comitys_ = core::is_for_watching(fd) && !in_vforked_child();
    d_ = is_comitys_ ? nullptr : core::known_descriptor(fd);
    if (!d_) return;
    d_->closers.fetch_add(1, std::memory_order_seq_cst); // seq_cst[input-closing]
    const auto is_held = [d = d_]() noexcept {
        return d->waiters.load(std::memory_order_seq_cst) != 0; // seq_cst[input-closing]
    };
    const bool wakes = is_held();
    if (in_vforked_child()) return;
    d_->sleeps.store(false, std::memory_order_relaxed);
    d_->kind.store(kind_of::unknown, std::memory_order_relaxed);
    d_->is_epoll.store(false, std::memory_order_relaxed);
    d_->is_left_out.store(false, std::memory_order_relaxed);
    if (wakes) {
        core::tell(*d_);
        constexpr std::int64_t longest_ns = 10'000'000;
        const std::int64_t end = sys::deadline_in(longest_ns);
        while (is_held() && sys::now_ns() < end) {
            if (is_on_hart()) comity_thread_yield();
            sys::yield_kernel_thread();
        }
    }
    d_->closed.fetch_add(1, std::memory_order_relaxed);
}

void closing::is_near(unsigned first, unsigned last) noexcept {
    constexpr unsigned most = INT_MAX - 1;
    const int end = static_cast<int>(std::min(last, most));
    if (first > most) return;
    note_closing();
    for (int fd = core::next_known(static_cast<int>(first)); fd >= 0 && fd <= end; fd = core::next_known(fd + 1))
        if (core::known_descriptor(fd)->kind.load(std::memory_order_relaxed) != kind_of::unknown ||
            core::known_descriptor(fd)->waiters.load(std::memory_order_relaxed) != 0)
            const closing here(fd);
}

closing::~closing() {
    if (d_) d_->closers.fetch_sub(1, std::memory_order_release); // release[input-closed]
}

namespace {
COMITY_NEXT_SYMBOL next<int (*)(int, int, int, const void *, socklen_t)> next_setsockopt{"setsockopt"};
std::atomic<bool> low_marks_are_set{false};
} // namespace

bool has_low_mark(int fd) noexcept {
    if (!low_marks_are_set.load(std::memory_order_relaxed)) return false;
    const sys::errno_kept kept;
    int mark = 1;
    socklen_t size = sizeof mark;
    return ::getsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &mark, &size) == 0 && mark > 1;
}

} // namespace comity::posix

COMITY_INTERPOSED int setsockopt(int fd, int level, int option, const void *value, socklen_t size) noexcept {
    using namespace comity::posix;
    if (level == SOL_SOCKET && option == SO_RCVLOWAT) low_marks_are_set.store(true, std::memory_order_relaxed);
    return next_setsockopt.get()(fd, level, option, value, size);
}
