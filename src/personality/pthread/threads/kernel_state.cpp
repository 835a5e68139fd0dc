// The one table of calls that change what the kernel keeps of the calling thread, and the C library's functions that
// make them. Not here: those by which the C library changes all threads (credentials.cpp), and files in /proc.
#include "personality/pthread/threads/kernel_state.hpp"

#include "core/carrier.hpp"
#include "core/runtime.hpp"
#include "personality/pthread/threads/object.hpp"
#include "personality/pthread/threads/vfork.hpp"
#include "sys/cpu_set.hpp"
#include "sys/kernel_thread.hpp"
#include "sys/memory.hpp"
#include "sys/message.hpp"
#include "sys/own_memory.hpp"
#include "sys/process.hpp"

#include <cstring>
#include <new>

#include <linux/capability.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/fsuid.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace comity::posix {

namespace {

namespace kinds = core::kernel_state;

COMITY_NEXT_SYMBOL next<int (*)(int)> next_nice{"nice"};
COMITY_NEXT_SYMBOL next<int (*)(__priority_which_t, id_t, int)> next_setpriority{"setpriority"};
COMITY_NEXT_SYMBOL next<int (*)(pid_t, int, const sched_param *)> next_setscheduler{"sched_setscheduler"};
COMITY_NEXT_SYMBOL next<int (*)(pid_t, const sched_param *)> next_setparam{"sched_setparam"};
COMITY_NEXT_SYMBOL next<int (*)(pid_t, std::size_t, const cpu_set_t *)> next_setaffinity{"sched_setaffinity"};
COMITY_NEXT_SYMBOL next<int (*)(void *, const void *)> next_capset{"capset"};
COMITY_NEXT_SYMBOL next<int (*)(unsigned long)> next_personality{"personality"};
COMITY_NEXT_SYMBOL next<long (*)(int, long, long, long)> next_ptrace{"ptrace"};
COMITY_NEXT_SYMBOL next<int (*)(int)> next_unshare{"unshare"};
COMITY_NEXT_SYMBOL next<int (*)(int, int)> next_setns{"setns"};
COMITY_NEXT_SYMBOL next<int (*)(uid_t)> next_setfsuid{"setfsuid"};
COMITY_NEXT_SYMBOL next<int (*)(gid_t)> next_setfsgid{"setfsgid"};
COMITY_NEXT_SYMBOL next<system_call> next_system_call{"syscall"};

// A thread of ours has a number of its own, also while it is on the first thread's kernel thread.
bool names_first(long id) noexcept { return id == sys::process_id() && is_beside_first(); }
bool is_caller(long id) noexcept {
    return id == 0 || (!names_first(id) && (id == sys::kernel_thread_id() || id == ::gettid()));
}

// To the kernel the tracer is a kernel thread.
bool traces(const call_arguments &a) noexcept { return static_cast<int>(a[0]) != PTRACE_TRACEME; }

// Numbers of a ring's descriptors that are the calling thread's own.
bool registers_own(const call_arguments &a) noexcept {
    constexpr unsigned rings = 20; // IORING_REGISTER_RING_FDS, which older headers lack
    return static_cast<unsigned>(a[1]) == rings;
}

// Where the calling thread ran before it bound itself.
__thread cpu_set_t cpus_before __attribute__((tls_model("initial-exec")));

bool notes_cpus(const call_arguments &) noexcept {
    if (core::own_kernel_state() & kinds::cpus) return true;
    const bool has_hart = core::current_carrier() && core::current_carrier()->carried;
    if (has_hart) // which may be bound
        std::memcpy(&cpus_before, sys::process_cpus().data(), sizeof cpus_before);
    else if (::sched_getaffinity(0, sizeof cpus_before, &cpus_before) != 0)
        CPU_ZERO(&cpus_before);
    return true;
}

bool are_as_before(const call_arguments &a) noexcept {
    const auto size = static_cast<std::size_t>(a[1]);
    const auto *cpus = reinterpret_cast<const cpu_set_t *>(a[2]);
    if (have_all_cpus(size, cpus)) return true;
    bool same = cpus != nullptr;
    for (int i = 0; same && i < CPU_SETSIZE; ++i)
        same = !CPU_ISSET(i, &cpus_before) == !(static_cast<std::size_t>(i) < size * 8 && CPU_ISSET_S(i, size, cpus));
    return same;
}

bool is_other_nice(const call_arguments &a) noexcept {
    const sys::errno_kept kept;
    errno = 0;
    return a[0] == PRIO_PROCESS && (::getpriority(PRIO_PROCESS, 0) != a[2] || errno != 0);
}

bool is_usual() noexcept { return ::sched_getscheduler(0) == SCHED_OTHER; }

// Options of prctl that set what belongs to a thread, by their numbers: older headers do not have them all.
bool sets_own(const call_arguments &a) noexcept {
    constexpr int own[] = {
        PR_SET_PDEATHSIG,
        PR_SET_UNALIGN,
        PR_SET_KEEPCAPS,
        PR_SET_FPEMU,
        PR_SET_FPEXC,
        PR_SET_ENDIAN,
        PR_SET_SECCOMP,
        PR_CAPBSET_DROP,
        PR_SET_TSC,
        PR_SET_SECUREBITS,
        PR_SET_TIMERSLACK,
        PR_MCE_KILL,
        PR_SET_NO_NEW_PRIVS,
        45, // PR_SET_FP_MODE
        50, // PR_SVE_SET_VL
        53, // PR_SET_SPECULATION_CTRL
        54, // PR_PAC_RESET_KEYS
        55, // PR_SET_TAGGED_ADDR_CTRL
        57, // PR_SET_IO_FLUSHER
        59, // PR_SET_SYSCALL_USER_DISPATCH
        60, // PR_PAC_SET_ENABLED_KEYS
        62, // PR_SCHED_CORE
        63, // PR_SME_SET_VL
    };
    constexpr long ambient = 47, ambient_is_set = 1; // PR_CAP_AMBIENT
    if (a[0] == ambient) return a[1] != ambient_is_set;
    for (const int option : own)
        if (a[0] == option) return true;
    return false;
}

// A filter for all threads of the process is no thread's own.
bool filters_own(const call_arguments &a) noexcept {
    constexpr long most_modes = 1, of_all = 1; // SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC
    return a[0] <= most_modes && !(a[1] & of_all);
}

bool names_caller(const call_arguments &a) noexcept {
    const auto *header = reinterpret_cast<const __user_cap_header_struct *>(a[0]);
    return header && is_caller(header->pid);
}

bool is_given(const call_arguments &a) noexcept { return static_cast<int>(a[0]) != -1; } // else it is asked for

bool sets_keyring(const call_arguments &a) noexcept {
    constexpr long own[] = {0, 1, 14, 15, 16, 18}; // those that make or set a ring or an authority of the caller's
    for (const long operation : own)
        if (a[0] == operation) return true;
    return false;
}
constexpr int thread_keyring = -1;

// A ring that the kernel lets only the thread submit to that has set it up.
bool has_one_issuer(const call_arguments &a) noexcept {
    constexpr long flags_at = 8;               // struct io_uring_params
    constexpr std::uint32_t single = 1U << 12; // IORING_SETUP_SINGLE_ISSUER
    const auto *flags = reinterpret_cast<const std::uint32_t *>(a[1] + flags_at);
    return sys::is_readable(flags) && (*flags & single) != 0;
}

struct known_call {
    short number;
    unsigned what;
    bool (*changes)(const call_arguments &) noexcept = nullptr; // null: always
    int names = -1;                                          // the argument that names a thread; -1: it is the caller
    bool (*ends)(const call_arguments &) noexcept = nullptr; // then the thread has none of its own afterwards
};

constexpr known_call known_calls[] = {
    {SYS_setpriority, kinds::other, is_other_nice, 1},
    {SYS_sched_setscheduler, kinds::policy,
     [](const call_arguments &a) noexcept { return a[1] != SCHED_OTHER || !is_usual(); }, 0,
     [](const call_arguments &a) noexcept {
         return a[1] == SCHED_OTHER && (core::own_kernel_state() & kinds::policy) != 0;
     }},
    {SYS_sched_setparam, kinds::policy, [](const call_arguments &) noexcept { return !is_usual(); }, 0},
    {SYS_sched_setattr, kinds::policy | kinds::other, nullptr, 0},
    {SYS_sched_setaffinity, kinds::cpus, notes_cpus, 0, are_as_before},
    {SYS_ioprio_set, kinds::other, [](const call_arguments &a) noexcept { return a[0] == 1; }, 1},
    {SYS_prctl, kinds::other, sets_own},
    {SYS_seccomp, kinds::other, filters_own},
    {SYS_capset, kinds::other, names_caller},
    {SYS_personality, kinds::other, is_given},
    {SYS_unshare, kinds::other},
    {SYS_setns, kinds::other},
    {SYS_set_mempolicy, kinds::other},
    {SYS_keyctl, kinds::other, sets_keyring},
    {SYS_add_key, kinds::other,
     [](const call_arguments &a) noexcept { return static_cast<int>(a[4]) == thread_keyring; }},
    {SYS_request_key, kinds::other,
     [](const call_arguments &a) noexcept { return static_cast<int>(a[3]) == thread_keyring; }},
    {SYS_io_uring_setup, kinds::other, has_one_issuer},
    {SYS_io_uring_register, kinds::other, registers_own},
    {SYS_perf_event_open, kinds::other, nullptr, 1}, // what it counts
    {SYS_ptrace, kinds::other, traces},
    {SYS_setfsuid, kinds::other, is_given},
    {SYS_setfsgid, kinds::other, is_given},
    // The C library's functions of these names are for all threads.
    {SYS_setuid, kinds::other},
    {SYS_setgid, kinds::other},
    {SYS_setreuid, kinds::other},
    {SYS_setregid, kinds::other},
    {SYS_setresuid, kinds::other},
    {SYS_setresgid, kinds::other},
    {SYS_setgroups, kinds::other},
    {436, kinds::other, [](const call_arguments &a) noexcept { return (a[2] & 2) != 0; }}, // close_range: ..._UNSHARE
    {446, kinds::other},                                                                   // landlock_restrict_self
    {460, kinds::other},                                                                   // lsm_set_self_attr
#if defined(__x86_64__)
    {SYS_ioperm, kinds::other},
    {SYS_iopl, kinds::other},
    {SYS_arch_prctl, kinds::other,
     [](const call_arguments &a) noexcept { return a[0] == 0x1001 || a[0] == 0x1012; }}, // GS, CPUID
#endif
};

constexpr comity_kinds_of_calls make_kinds() noexcept {
    comity_kinds_of_calls k{};
    for (const known_call &call : known_calls) k.of[call.number] = comity_may_change_state;
    k.of[SYS_gettid] = k.of[SYS_tkill] = k.of[SYS_tgkill] = comity_is_by_id;
    k.of[SYS_futex] = comity_may_wait_at_word;
    return k;
}

} // namespace

// Asked before Comity has started it would fix which these are.
bool have_all_cpus(std::size_t size, const cpu_set_t *cpus) noexcept {
    if (!cpus || !core::has_started()) return false;
    const sys::cpu_set &process = sys::process_cpus();
    for (int i = process.next(); i >= 0; i = process.next(i + 1))
        if (static_cast<std::size_t>(i) >= size * 8 || !CPU_ISSET_S(i, size, cpus)) return false;
    return true;
}

state_change change_by(long number, call_arguments &arguments) noexcept {
    for (const known_call &call : known_calls) {
        if (call.number != number) continue;
        if (call.names >= 0) {
            long &id = arguments[static_cast<unsigned>(call.names)];
            if (!is_caller(static_cast<int>(id))) {
                return {.refused = names_first(id) && number != SYS_perf_event_open && !in_vforked_child() &&
                                   (!call.changes || call.changes(arguments))};
            }
            id = 0;
        }
        if ((call.changes && !call.changes(arguments)) || in_vforked_child()) return {};
        return {call.what, call.ends && call.ends(arguments) ? call.what : 0};
    }
    return {};
}

namespace {

// What a new thread with state of its own is to do.
struct begin_with_state : sys::in_own_memory {
    unsigned what = 0;
    thread_function fn = nullptr;
    void *arg = nullptr;
};

void *run_with_state(void *argument) {
    auto *given = static_cast<begin_with_state *>(argument);
    const thread_function fn = given->fn;
    void *arg = given->arg;
    core::inherit_kernel_state(given->what);
    delete given;
    return fn(arg);
}

} // namespace

int create_with_state(create_function create, unsigned what, pthread_t *out, const pthread_attr_t *a,
                      thread_function fn, void *arg) noexcept {
    if (what == 0) return create(out, a, fn, arg);
    auto *given = new (std::nothrow) begin_with_state;
    if (!given) return EAGAIN;
    given->what = what;
    given->fn = fn;
    given->arg = arg;
    core::prepare_kernel_state();
    const int error = create(out, a, run_with_state, given);
    if (error != 0) delete given;
    return error;
}

namespace {

// The kinds of the namespaces that setns is to enter: those named, or that of the descriptor.
long kinds_to_enter(const call_arguments &a) noexcept {
    constexpr unsigned long get_kind = 0xb703; // NS_GET_NSTYPE
    if (a[1] != 0) return a[1];
    const sys::errno_kept kept;
    return next_system_call.get()(SYS_ioctl, a[0], get_kind, 0, 0, 0, 0);
}

} // namespace

// All that may be: a user's and a mount's namespace and the time's are for a process of one thread, but for a thread
// that has a working directory of its own, which may enter a mount's.
bool wants_one_thread(long number, const call_arguments &a) noexcept {
    constexpr long newtime = 0x80, to_leave = CLONE_NEWUSER | CLONE_VM | CLONE_SIGHAND | CLONE_THREAD,
                   to_enter = CLONE_NEWUSER | CLONE_NEWNS | newtime;
    if (number == SYS_unshare) return (a[0] & to_leave) != 0;
    if (number != SYS_setns) return false;
    const long kinds = kinds_to_enter(a);
    return kinds > 0 && (kinds & to_enter) != 0;
}

void refuse_change() noexcept {
    static std::atomic<bool> said{false};
    if (!said.exchange(true, std::memory_order_relaxed))
        sys::warn("a thread asks for something of the kernel's for itself alone (a priority, CPUs, credentials or a "
                  "filter): refused, since there is no kernel thread on which it could go on by itself");
    errno = EAGAIN;
}

void refuse_for_first() noexcept {
    static std::atomic<bool> said{false};
    if (!said.exchange(true, std::memory_order_relaxed))
        sys::warn(
            "a thread asks for something of the kernel's (a priority, CPUs) for the program's first thread, by its "
            "number: refused, since others run on that one's kernel thread; it may ask itself");
    errno = EPERM;
}

} // namespace comity::posix

using namespace comity::posix;

extern "C" {

constexpr comity_kinds_of_calls comity_call_kinds = make_kinds();

long comity_state_call(long number, long a, long b, long c, long d, long e) {
    call_arguments arguments{a, b, c, d, e, 0};
    const auto call = [&] {
        return next_system_call.get()(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4], 0);
    };
    return change_by_number<long>(number, arguments, call);
}
}

// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): glibc's names are reserved ones

COMITY_INTERPOSED int nice(int by) noexcept {
    const auto call = [by] { return next_nice.get()(by); };
    if (by == 0 || in_vforked_child()) return call();
    return change_state(changes_other, -1, call, [](int result) { return result == -1 && errno == EPERM; });
}
COMITY_INTERPOSED int setpriority(__priority_which_t which, id_t id, int priority) noexcept {
    return change_by_call(SYS_setpriority, next_setpriority.get(), which, id, priority);
}
COMITY_INTERPOSED int sched_setscheduler(pid_t id, int policy, const sched_param *p) noexcept {
    return change_by_call(SYS_sched_setscheduler, next_setscheduler.get(), id, policy, p);
}
COMITY_INTERPOSED int sched_setparam(pid_t id, const sched_param *p) noexcept {
    return change_by_call(SYS_sched_setparam, next_setparam.get(), id, p);
}
COMITY_INTERPOSED int sched_setaffinity(pid_t id, std::size_t size, const cpu_set_t *cpus) noexcept {
    return change_by_call(SYS_sched_setaffinity, next_setaffinity.get(), id, size, cpus);
}
COMITY_INTERPOSED int capset(void *header, const void *data) noexcept {
    return change_by_call(SYS_capset, next_capset.get(), header, data);
}
COMITY_INTERPOSED int personality(unsigned long persona) noexcept {
    return change_by_call(SYS_personality, next_personality.get(), persona);
}
// The C library hands as many words on as a request has, and reads what it asks for itself.
COMITY_INTERPOSED long comity_ptrace(int request, long id, long address, long data) noexcept asm("ptrace");
long comity_ptrace(int request, long id, long address, long data) noexcept {
    call_arguments words{request, id, address, data};
    return change_by_number<long>(SYS_ptrace, words, [&] { return next_ptrace.get()(request, id, address, data); });
}
COMITY_INTERPOSED int unshare(int flags) noexcept { return change_by_call(SYS_unshare, next_unshare.get(), flags); }
COMITY_INTERPOSED int setns(int fd, int kind) noexcept { return change_by_call(SYS_setns, next_setns.get(), fd, kind); }
COMITY_INTERPOSED int setfsuid(uid_t user) noexcept { return change_by_call(SYS_setfsuid, next_setfsuid.get(), user); }
COMITY_INTERPOSED int setfsgid(gid_t group) noexcept {
    return change_by_call(SYS_setfsgid, next_setfsgid.get(), group);
}

// NOLINTEND(readability-inconsistent-declaration-parameter-name)
