#include "sys/interruption.hpp"

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <type_traits>

#include <linux/futex.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

#include "sys/c_library.hpp"
#include "sys/call_frames.hpp"
#include "sys/errno_kept.hpp"
#include "sys/kernel_thread.hpp"
#include "sys/loaded_objects.hpp"
#include "sys/memory.hpp"
#include "sys/message.hpp"
#include "sys/refusal.hpp"
#include "sys/sanitized.hpp"
#include "sys/signals.hpp"
#include "sys/text_file.hpp"

namespace comity::sys {

__thread bool comity_writes_in_parts = false;
__thread moving_call *comity_moving_call = nullptr;
__thread std::uint32_t comity_interruptions = 0;

namespace {

// Set before the kernel is told of the handler that reads it.
std::atomic<bool (*)(const interruption &) noexcept> handle{nullptr};
std::atomic<bool (*)(const interruption &)> other_handler{nullptr};
struct sigaction programs_own {};

std::atomic<void (*)(int, siginfo_t *, void *)> others_go_to{nullptr};

constexpr char mark = 0;

// A sandbox refuses to send signals that say something: those that the process sends its threads otherwise count as
// ours.
std::atomic<bool> marks_are_refused{false};

bool has_mark(const siginfo_t &info) noexcept {
    return (info.si_code == SI_QUEUE && info.si_ptr == &mark) ||
           (info.si_code == SI_TKILL && marks_are_refused.load(std::memory_order_relaxed) && info.si_pid == ::getpid());
}
// Where the kernel has no room for what a signal says, it says nothing.
bool says_nothing(const siginfo_t &info) noexcept { return info.si_code == SI_USER && info.si_pid == 0; }

void run_programs_own(int signal, siginfo_t *info, void *frame) {
    if (programs_own.sa_flags & SA_SIGINFO)
        programs_own.sa_sigaction(signal, info, frame);
    else if (programs_own.sa_handler != SIG_DFL && programs_own.sa_handler != SIG_IGN)
        programs_own.sa_handler(signal);
}

constinit own_function<int (*)(int, int *)> own_setcanceltype{"pthread_setcanceltype"};
[[gnu::constructor]] void find_early() noexcept { own_setcanceltype.find(); }

// A sanitizer that has a library of its own. Who is interrupted in it may hold its locks, so nothing instrumented can
// be done there; who has interrupted him does so again.
address_range sanitizers_code{};
void find_sanitizer() noexcept {
    const void *at = sanitized ? find_watched("pthread_create") : nullptr;
    if (library_around(at)) sanitizers_code = object_around(at);
}

[[gnu::noinline]] void take(int signal, siginfo_t *info, void *frame) {
    const errno_kept kept;
    const interruption i = interruption_at(frame);
    const bool is_ours = has_mark(*info);
    if (is_ours || says_nothing(*info)) {
        ++comity_interruptions;
        if (sanitized && is_ours && sanitizers_code.contains(i.pc)) return;
        const auto other = other_handler.load(std::memory_order_relaxed);
        // The first may have moved the thread, and set its call to begin anew: what came for it meanwhile ends that.
        const bool is_handled = handle.load(std::memory_order_relaxed)(i);
        if ((other && other(interruption_at(frame))) || is_handled || is_ours) return;
    }
    if (const auto to = others_go_to.load(std::memory_order_relaxed)) return to(signal, info, frame);
    open_signals(i);
    run_programs_own(signal, info, frame);
    close_signals(i);
}

// errno is the interrupted code's also when the handler comes back on another kernel thread: it runs on the same TLS.
// The C library cancels a thread in one of its calls wherever it finds that, but not while it takes the signal and may
// be handing its hart over: then in the end. No object with a destructor here: it would make each instruction one from
// which nothing unwinds.
void on_signal(int signal, siginfo_t *info, void *frame) {
    const auto set_cancel_type = own_setcanceltype.find();
    int before = PTHREAD_CANCEL_DEFERRED;
    if (set_cancel_type) set_cancel_type(PTHREAD_CANCEL_DEFERRED, &before);
    take(signal, info, frame);
    if (before != PTHREAD_CANCEL_DEFERRED) set_cancel_type(before, nullptr);
}

bool install(struct sigaction &before) noexcept {
    struct sigaction ours {};
    ours.sa_sigaction = on_signal;
    // Not on the alternate stack, for the handler may leave its stack.
    ours.sa_flags = SA_SIGINFO | SA_RESTART;
    ::sigemptyset(&ours.sa_mask);
    *reinterpret_cast<std::uint64_t *>(&ours.sa_mask) = mask_of_lent_threads;
    return set_signal_action(SIGURG, &ours, &before);
}

constexpr std::size_t most_arguments = 6;

constexpr long sys_epoll_pwait2 = 441; // on every architecture; headers before Linux 5.11 have no name for it

// Does a futex call merely wait? One for a lock that inherits priority names the kernel thread to the kernel.
bool is_plain_wait(std::uint64_t operation) noexcept {
    switch (operation & static_cast<std::uint64_t>(FUTEX_CMD_MASK)) {
    case FUTEX_WAIT:
    case FUTEX_WAIT_BITSET:
        return true;
    default:
        return false;
    }
}

// Calls that have done nothing when a signal ends them with EINTR, so that they may begin anew. A time limit counts
// from the beginning again, so the thread sleeps for longer, as any thread may. One that was ended in its middle says
// how much it has done: what writes goes on, and so does what waits for what it has submitted (go_on_with); whoever
// wants several messages, moves data between descriptors or waits for several things must expect less than he has asked
// for. Not: what fills a buffer wholly; what
// waits for a signal, which may have come just before (but a bare pause, since nobody else would end that); locks of
// the kernel that belong to a kernel thread.
bool may_begin_anew(long number, const std::uint64_t (&argument)[most_arguments]) noexcept {
    switch (number) {
    case SYS_futex:
        return is_plain_wait(argument[1]);
    case SYS_recvfrom:
        return (argument[3] & MSG_WAITALL) == 0;
    case SYS_recvmsg:
        return (argument[2] & MSG_WAITALL) == 0;
    case SYS_read:
    case SYS_readv:
    case SYS_accept:
    case SYS_accept4:
    case SYS_connect:
    case SYS_wait4:
    case SYS_waitid:
    case SYS_flock:
    case SYS_fcntl:
    case SYS_openat:
    case SYS_semop:
    case SYS_semtimedop:
    case SYS_msgrcv:
    case SYS_msgsnd:
    case SYS_mq_timedreceive:
    case SYS_nanosleep:
    case SYS_clock_nanosleep:
    case SYS_ppoll:
    case SYS_pselect6:
    case SYS_epoll_pwait:
    case sys_epoll_pwait2:
    case SYS_io_getevents:
    case SYS_write:
    case SYS_writev:
    case SYS_sendto:
    case SYS_sendmsg:
    case SYS_recvmmsg:
    case SYS_sendmmsg:
    case SYS_sendfile:
    case SYS_splice:
    case SYS_io_uring_enter:
#if defined(__x86_64__)
    case SYS_open:
    case SYS_pause:
    case SYS_poll:
    case SYS_select:
    case SYS_epoll_wait:
#endif
        return true;
    default:
        return false;
    }
}

} // namespace

// Do handlers go back into the kernel by this code (the C library's, or the kernel's vdso)? The signal's frame is then
// where the stack pointer is. What stands before the code can be read.
static bool returns_from_handler(std::uintptr_t code) noexcept {
#if defined(__x86_64__)
    constexpr unsigned char call[] = {0x48, 0xc7, 0xc0, SYS_rt_sigreturn, 0, 0, 0, 0x0f, 0x05}; // mov $15,%rax; syscall
#elif defined(__aarch64__)
    constexpr std::uint32_t call[] = {0xd2801168, 0xd4000001}; // mov x8, #139; svc #0
#endif
    const std::uintptr_t last = code + sizeof call - 1;
    constexpr std::uintptr_t page = 4096;
    const bool is_on_next_page = (code - 1) / page != last / page;
    if (is_on_next_page && !is_readable(reinterpret_cast<const void *>(last))) return false;
    return __builtin_memcmp(reinterpret_cast<const void *>(code), call, sizeof call) == 0;
}

// The context in the signal's frame, which begins here.
static void *context_in(std::uintptr_t frame) noexcept {
#if defined(__aarch64__)
    frame += sizeof(siginfo_t);
#endif
    return reinterpret_cast<void *>(frame);
}

interruption interruption_at(void *frame) noexcept {
    const auto &m = static_cast<ucontext_t *>(frame)->uc_mcontext;
#if defined(__x86_64__)
    return {static_cast<std::uintptr_t>(m.gregs[REG_RIP]), static_cast<std::uintptr_t>(m.gregs[REG_RSP]), frame};
#elif defined(__aarch64__)
    return {m.pc, m.sp, frame};
#endif
}

bool find_handler(const interruption &from, interruption &interrupted, unsigned most) noexcept {
    const errno_kept kept;
    struct search {
        unsigned left;            // of the frames that the calls return to
        std::uintptr_t frame = 0; // the signal's
    } by{most + 1};
    frame_place rest;
    const frames_end end = visit_call_frames(
        from,
        [](const call_frame &f, void *argument) { // f.code is within the call before
            auto &to = *static_cast<search *>(argument);
            if (returns_from_handler(f.code + 1)) to.frame = f.begin;
            return to.frame == 0 && --to.left != 0;
        },
        &by, rest);
    if (end == frames_end::not_known && is_readable(reinterpret_cast<const void *>(rest.code)) &&
        returns_from_handler(rest.code + 1)) // which has no table
        by.frame = rest.sp;
    if (by.frame == 0) return false;
    interrupted = interruption_at(context_in(by.frame));
    return true;
}

bool find_handler(interruption &interrupted, unsigned most) noexcept {
    ucontext_t here;
    (void)getcontext(&here);
    return find_handler(interruption_at(&here), interrupted, most);
}

bool take_interruptions(bool (*handler)(const interruption &) noexcept) noexcept {
    handle.store(handler, std::memory_order_relaxed);
    find_sanitizer();
    return install(programs_own);
}

bool programs_action_on_interruptions(struct sigaction &action) noexcept {
    if (!set_signal_action(SIGURG, nullptr, &action)) return false;
    if ((action.sa_flags & SA_SIGINFO) && action.sa_sigaction == on_signal) action = programs_own;
    return true;
}

bool pass_other_signals(void (*to)(int, siginfo_t *, void *)) noexcept {
    if (!handle.load(std::memory_order_relaxed)) return false;
    others_go_to.store(to, std::memory_order_relaxed);
    struct sigaction before {};
    return install(before);
}

void take_other_interruptions(bool (*other)(const interruption &)) noexcept {
    other_handler.store(other, std::memory_order_relaxed);
}

// Where the program's signals are Comity's, also by what the kernel sends to who writes where nobody reads, or too
// much; else those are blocked or not as the program has it.
static std::uint64_t interrupting() noexcept {
    constexpr auto bit = [](int signal) { return std::uint64_t{1} << (signal - 1); };
    const bool takes_others = other_handler.load(std::memory_order_relaxed);
    return bit(SIGURG) | (takes_others ? bit(SIGPIPE) | bit(SIGXFSZ) : 0);
}

static std::atomic<std::uint64_t> programs_mask{
    0}; // written by who begins with Comity, and by the program's first thread
void set_programs_mask(std::uint64_t blocked) noexcept { programs_mask.store(blocked, std::memory_order_relaxed); }
// Threads and children that the program makes there inherit it.
std::uint64_t mask_of_carriers() noexcept { return programs_mask.load(std::memory_order_relaxed) & ~interrupting(); }

void interrupt_kernel_thread(int id) noexcept {
    const errno_kept kept;
    siginfo_t info{};
    info.si_signo = SIGURG;
    info.si_code = SI_QUEUE;
    info.si_pid = ::getpid();
    info.si_ptr = const_cast<char *>(&mark);
    const bool is_sent = ::syscall(SYS_rt_tgsigqueueinfo, info.si_pid, id, SIGURG, &info) == 0;
    if (is_sent || !is_refusal(errno)) return;
    marks_are_refused.store(true, std::memory_order_relaxed);
    signal_kernel_thread(id, SIGURG);
}

// "NUMBER ARGUMENT... SP PC", of which only the first number is decimal, or "running".
bool call_of_sleeper(int id, sleeping_call &call) noexcept {
    call = {};
    char path[64];
    format_text(path, sizeof path, "/proc/self/task/%d/syscall", id);
    line_reader file(path);
    const char *at = file.next();
    if (!at) return false;
    if (*at < '0' || *at > '9') return true;
    char *end = nullptr;
    const long number = std::strtol(at, &end, 10);
    std::uint64_t argument[most_arguments] = {};
    for (std::uint64_t &a : argument) a = std::strtoull(end, &end, 16);
    const std::uint64_t sp = std::strtoull(end, &end, 16), pc = std::strtoull(end, &end, 16);
    if (may_begin_anew(number, argument) && pc != 0) call = {number, argument[0], pc, sp};
    return true;
}

// The kernel may have seen to it (SA_RESTART): then the thread stands before the call.
bool begin_anew(const interruption &i, const sleeping_call &call) noexcept {
    if (call.number < 0 || i.sp != call.sp) return false;
    if (call.number == sleeping_call::not_known) return i.pc == call.pc && interrupted_call(i) == call;
    auto &m = static_cast<ucontext_t *>(i.frame)->uc_mcontext;
#if defined(__x86_64__)
    constexpr unsigned char instruction[] = {0x0f, 0x05}; // syscall
    const std::uintptr_t before = call.pc - sizeof instruction;
    if (i.pc == before && m.gregs[REG_RAX] == call.number) return true;
    if (i.pc != call.pc) return false;
    if (m.gregs[REG_RAX] != -EINTR ||
        std::memcmp(reinterpret_cast<const void *>(before), instruction, sizeof instruction) != 0)
        return true;
    m.gregs[REG_RAX] = call.number; // the other registers are as they were
    m.gregs[REG_RIP] = static_cast<greg_t>(before);
#elif defined(__aarch64__)
    const std::uintptr_t before = call.pc - 4;
    if (i.pc == before && m.regs[0] == call.first_argument) return true;
    if (i.pc != call.pc) return false;
    if (static_cast<std::int64_t>(m.regs[0]) != -EINTR) return true;
    m.regs[0] = call.first_argument; // the number is still in its register
    m.pc = before;
#endif
    return true;
}

namespace {

// Of a call that was ended in its middle: its result, and what it was called with, but for the first.
#if defined(__x86_64__)
struct call_registers {
    ucontext_t &of;
    auto &result() const noexcept { return of.uc_mcontext.gregs[REG_RAX]; }
    std::uint64_t argument(int n) const noexcept {
        constexpr int registers[] = {REG_RDI, REG_RSI, REG_RDX, REG_R10, REG_R8, REG_R9};
        return static_cast<std::uint64_t>(of.uc_mcontext.gregs[registers[n]]);
    }
};
#elif defined(__aarch64__)
struct call_registers {
    ucontext_t &of;
    auto &result() const noexcept { return of.uc_mcontext.regs[0]; }
    std::uint64_t argument(int n) const noexcept { return of.uc_mcontext.regs[n]; }
};
#endif

// All has been submitted, and the result says so whether what was to be waited for is there or not. If it is, the
// kernel returns at once.
void go_on_waiting(int ring, const call_registers &r) noexcept {
    constexpr std::uint64_t waits = 1; // IORING_ENTER_GETEVENTS
    if (r.argument(3) & waits)
        ::syscall(SYS_io_uring_enter, ring, 0, r.argument(2), r.argument(3), r.argument(4), r.argument(5));
}

} // namespace

bool has_rest(const interruption &i, const sleeping_call &call) noexcept {
    const call_registers r{*static_cast<ucontext_t *>(i.frame)};
    return !comity_writes_in_parts && i.pc == call.pc && static_cast<std::int64_t>(r.result()) > 0;
}

void go_on_with(const interruption &i, const sleeping_call &call) noexcept {
    const call_registers r{*static_cast<ucontext_t *>(i.frame)};
    auto written = static_cast<std::int64_t>(r.result());
    const auto fd = static_cast<int>(call.first_argument);
    const iovec whole{reinterpret_cast<void *>(r.argument(1)), r.argument(2)};
    const iovec *parts = &whole;
    std::size_t number = 1;
    bool to_socket = false;
    int flags = 0;
    switch (call.number) {
    case SYS_write:
        break;
    case SYS_writev:
        parts = reinterpret_cast<const iovec *>(r.argument(1));
        number = r.argument(2);
        break;
    case SYS_sendto:
        to_socket = true;
        flags = static_cast<int>(r.argument(3));
        break;
    case SYS_sendmsg:
        parts = reinterpret_cast<const msghdr *>(r.argument(1))->msg_iov;
        number = reinterpret_cast<const msghdr *>(r.argument(1))->msg_iovlen;
        to_socket = true;
        flags = static_cast<int>(r.argument(2));
        break;
    case SYS_io_uring_enter:
        return go_on_waiting(fd, r);
    default:
        return;
    }
    for (auto skipped = static_cast<std::size_t>(written); number != 0; ++parts, --number) {
        for (const std::size_t size = parts->iov_len; skipped < size;) {
            const char *from = static_cast<const char *>(parts->iov_base) + skipped;
            const long more = to_socket ? ::syscall(SYS_sendto, fd, from, size - skipped, flags, nullptr, 0)
                                        : ::syscall(SYS_write, fd, from, size - skipped);
            if (more <= 0) return;
            skipped += static_cast<std::size_t>(more);
            written += more;
            r.result() = static_cast<std::remove_reference_t<decltype(r.result())>>(written);
        }
        skipped -= parts->iov_len;
    }
}

namespace {

// The system call before which the thread stands, which has not begun or which the kernel has set to begin anew
// (SA_RESTART); -1: none.
long call_to_come(const interruption &i) noexcept {
    const auto &m = static_cast<ucontext_t *>(i.frame)->uc_mcontext;
#if defined(__x86_64__)
    constexpr unsigned char instruction[] = {0x0f, 0x05}; // syscall
    const long number = static_cast<long>(m.gregs[REG_RAX]);
#elif defined(__aarch64__)
    constexpr std::uint32_t instruction = 0xd4000001; // svc #0
    const long number = static_cast<long>(m.regs[8]);
#endif
    return std::memcmp(reinterpret_cast<const void *>(i.pc), &instruction, sizeof instruction) == 0 ? number : -1;
}

} // namespace

namespace {

#if defined(__x86_64__)
// The number that `mov $NUMBER, %eax` has set just before the call's instruction; -1: something else stands there. Its
// five bytes may also be the end of another instruction: one with a prefix (%r8d), or one that stores or compares a
// number at such an offset from a register, with or without a byte for an index.
long number_set_before(std::uintptr_t instruction) noexcept {
    constexpr std::uintptr_t page = 4096, looked_at = 9;
    constexpr unsigned char move = 0xb8;
    constexpr auto has_offset = [](unsigned char other, unsigned char operands, bool has_index) {
        const bool is_one = other == 0xc7 || other == 0x81 || other == 0x69 || other == 0xf7;
        return is_one && (operands & 0xc0) == 0x40 && ((operands & 7) == 4) == has_index;
    };
    if (instruction % page < looked_at) return -1; // what is before may not be there
    unsigned char bytes[looked_at];
    std::memcpy(bytes, reinterpret_cast<const void *>(instruction - looked_at), looked_at);
    if (bytes[4] != move || (bytes[3] & 0xf0) == 0x40) return -1;
    if (has_offset(bytes[2], bytes[3], false) || has_offset(bytes[1], bytes[2], true)) return -1;
    std::int32_t number = 0;
    std::memcpy(&number, bytes + 5, sizeof number);
    return number >= 0 && number < sleeping_call::not_known ? number : -1;
}
#endif

} // namespace

// How it began is in the registers still, but for the number on x86-64 and the first argument on aarch64, where the
// result is: after EINTR the former is read in the code, if it stands there.
sleeping_call interrupted_call(const interruption &i) noexcept {
    const auto &m = static_cast<ucontext_t *>(i.frame)->uc_mcontext;
    long number = call_to_come(i);
#if defined(__x86_64__)
    constexpr std::uintptr_t size = 2;
    constexpr unsigned char instruction[] = {0x0f, 0x05}; // syscall
    constexpr int registers[] = {REG_RDI, REG_RSI, REG_RDX, REG_R10, REG_R8, REG_R9};
    const auto register_of = [&](std::size_t n) { return static_cast<std::uint64_t>(m.gregs[registers[n]]); };
    const bool has_ended = number < 0 && m.gregs[REG_RAX] == -EINTR;
#elif defined(__aarch64__)
    constexpr std::uintptr_t size = 4;
    constexpr std::uint32_t instruction = 0xd4000001; // svc #0
    const auto register_of = [&](std::size_t n) { return m.regs[n]; };
    const bool has_ended = number < 0 && static_cast<std::int64_t>(m.regs[0]) == -EINTR;
#endif
    if (has_ended && std::memcmp(reinterpret_cast<const void *>(i.pc - size), &instruction, size) != 0) return {};
    if (!has_ended && number < 0) return {};
#if defined(__x86_64__)
    if (has_ended) number = number_set_before(i.pc - size);
#endif
    if (number < 0) return {sleeping_call::not_known, 0, i.pc, i.sp};
    std::uint64_t argument[most_arguments];
    for (std::size_t n = 0; n < most_arguments; ++n) argument[n] = register_of(n);
    if (!may_begin_anew(number, argument)) return {};
    return {number, argument[0], has_ended ? i.pc : i.pc + size, i.sp};
}

// One that has ended with EINTR already stays as it is.
void end_call(const interruption &i) noexcept {
    if (call_to_come(i) < 0) return;
    auto &m = static_cast<ucontext_t *>(i.frame)->uc_mcontext;
#if defined(__x86_64__)
    m.gregs[REG_RAX] = -EINTR;
    m.gregs[REG_RIP] = static_cast<greg_t>(i.pc + 2);
#elif defined(__aarch64__)
    m.regs[0] = static_cast<std::uint64_t>(-EINTR);
    m.pc = i.pc + 4;
#endif
}

void end_wait_at_word(const interruption &i) noexcept {
    const auto &m = static_cast<ucontext_t *>(i.frame)->uc_mcontext;
#if defined(__x86_64__)
    const auto operation = static_cast<std::uint64_t>(m.gregs[REG_RSI]);
#elif defined(__aarch64__)
    const std::uint64_t operation = m.regs[1];
#endif
    if (call_to_come(i) == SYS_futex && is_plain_wait(operation)) end_call(i);
}

void begin_move() noexcept {
    moving_call *c = comity_moving_call;
    if (!c || c->has_moved) return;
    c->has_moved = true;
    c->count->fetch_add(1, std::memory_order_seq_cst); // seq_cst[input-closing]
}

void end_move(const interruption &i) noexcept {
    if (const moving_call *c = comity_moving_call; c && c->has_moved) end_call(i);
}

bool end_file_call(const interruption &i) noexcept {
    switch (call_to_come(i)) {
    case SYS_fcntl:
    case SYS_openat:
    case SYS_read:
    case SYS_readv:
    case SYS_write:
    case SYS_writev:
        end_call(i);
        return true;
    default:
        return false;
    }
}

namespace {

// The kernel's mask is 64 bits, the first of the C library's.
std::uint64_t &mask_after(const interruption &i) noexcept {
    return *reinterpret_cast<std::uint64_t *>(&static_cast<ucontext_t *>(i.frame)->uc_sigmask);
}

} // namespace

void open_signals(const interruption &i) noexcept { (void)exchange_mask(mask_after(i)); }
void close_signals(const interruption &i) noexcept {
    const errno_kept kept;
    mask_after(i) = exchange_mask(mask_of_lent_threads);
    ::syscall(SYS_sigaltstack, nullptr, &static_cast<ucontext_t *>(i.frame)->uc_stack);
}

} // namespace comity::sys
