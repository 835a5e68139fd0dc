#include "sys/kernel_thread.hpp"
#include "sys/cancellation.hpp"

#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sys/c_library.hpp"
#include "sys/clock.hpp"
#include "sys/cpu_set.hpp"
#include "sys/errno_kept.hpp"
#include "sys/message.hpp"
#include "sys/signals.hpp"
#include "sys/text_file.hpp"
#include "sys/thread_maker.hpp"

// Since glibc 2.35; <sys/rseq.h> is missing before.
extern "C" {
[[gnu::weak]] extern const std::ptrdiff_t __rseq_offset;
[[gnu::weak]] extern const unsigned int __rseq_size;
}

namespace comity::sys {
namespace {

#if defined(__x86_64__)
constexpr unsigned rseq_signature = 0x53053053; // what glibc registers with
#elif defined(__aarch64__)
constexpr unsigned rseq_signature = 0xd428bc00;
#endif

constinit watched_function<int (*)(pthread_t *, const pthread_attr_t *, thread_function, void *)> own_create{
    "pthread_create"};
constinit watched_function<int (*)(pthread_t, void **)> own_join{"pthread_join"};
constinit own_function<int (*)(pthread_t, std::size_t, const ::cpu_set_t *)> own_setaffinity{"pthread_setaffinity_np"};
constinit own_function<long (*)(long, ...)> own_syscall{"syscall"};
constinit own_function<std::size_t (*)(const pthread_attr_t *)> own_minstack{"__pthread_get_minstack"};

// Past every preloaded one.
auto real_create() noexcept {
    const auto f = own_create.find();
    return f ? f : ::pthread_create;
}

auto real_join() noexcept {
    const auto f = own_join.find();
    return f ? f : ::pthread_join;
}

auto real_setaffinity() noexcept {
    const auto f = own_setaffinity.find();
    return f ? f : ::pthread_setaffinity_np;
}

__attribute__((constructor)) void find_early() noexcept {
    real_create();
    real_join();
    real_setaffinity();
    own_minstack.find();
    own_syscall.find();
}

std::size_t usable_stack_size(std::size_t wanted) noexcept {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    const auto least = static_cast<std::size_t>(::sysconf(_SC_THREAD_STACK_MIN));
    const std::size_t size = wanted > least ? wanted : least;
    return (size + page - 1) / page * page;
}

// set(&attributes): 0 or an error number.
template <class Set> int start(pthread_t &thread, thread_function function, void *argument, Set set) noexcept {
    pthread_attr_t attributes;
    if (const int error = ::pthread_attr_init(&attributes)) return error;
    int error = set(&attributes);
    if (error == 0) error = real_create()(&thread, &attributes, function, argument);
    ::pthread_attr_destroy(&attributes);
    return error;
}

// It has no kernel state of its maker's. `thread` is written for one that is joined.
template <class Set>
int start_without_state(pthread_t &thread, thread_function function, void *argument, Set set) noexcept {
    const signals_blocked blocked;
    struct {
        pthread_t &thread;
        thread_function function;
        void *argument;
        Set set;
    } what{thread, function, argument, set};
    const auto make = [](void *argument) {
        const auto &w = *static_cast<decltype(what) *>(argument);
        return start(w.thread, w.function, w.argument, w.set);
    };
    return make_without_state(make, &what);
}

// Sets the stack between the two addresses.
auto within(void *bottom, void *top) noexcept {
    const auto size = static_cast<std::size_t>(static_cast<char *>(top) - static_cast<char *>(bottom));
    return [bottom, size](pthread_attr_t *attributes) { return ::pthread_attr_setstack(attributes, bottom, size); };
}

} // namespace

int start_kernel_thread(thread_function function, void *argument, std::size_t stack_size) noexcept {
    pthread_t detached{};
    return start_without_state(detached, function, argument, [stack_size](pthread_attr_t *attributes) {
        ::pthread_attr_setdetachstate(attributes, PTHREAD_CREATE_DETACHED);
        return stack_size ? ::pthread_attr_setstacksize(attributes, usable_stack_size(stack_size)) : 0;
    });
}

int start_kernel_thread_within(void *bottom, void *top, thread_function function, void *argument,
                               joinable_thread &thread) noexcept {
    pthread_t made{};
    const int error = start_without_state(made, function, argument, within(bottom, top));
    thread = error == 0 ? static_cast<joinable_thread>(made) : 0;
    return error;
}

int start_kernel_thread_on(void *bottom, void *top, thread_function function, void *argument,
                           joinable_thread &thread) noexcept {
    const signals_blocked blocked;
    pthread_t made{};
    const int error = start(made, function, argument, within(bottom, top));
    thread = error == 0 ? static_cast<joinable_thread>(made) : 0;
    return error;
}

int send_kernel_thread(joinable_thread thread, int cpu) noexcept {
    ::cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one); // nothing, for a number beyond
    return real_setaffinity()(static_cast<pthread_t>(thread), sizeof one, &one);
}

int send_kernel_thread(joinable_thread thread, const cpu_set &set) noexcept {
    return real_setaffinity()(static_cast<pthread_t>(thread), sizeof set,
                              reinterpret_cast<const ::cpu_set_t *>(set.data()));
}

void join_kernel_thread(joinable_thread thread) noexcept {
    const uncancelled here;
    real_join()(static_cast<pthread_t>(thread), nullptr);
}

int start_bare_kernel_thread(void *stack_top, std::uintptr_t base, int (*function)(void *), void *argument) noexcept {
    struct {
        void *stack_top;
        std::uintptr_t base;
        int (*function)(void *);
        void *argument;
    } what{stack_top, base, function, argument};
    const auto make = [](void *argument) {
        constexpr int as_threads = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;
        const auto &w = *static_cast<decltype(what) *>(argument);
        const int id =
            ::clone(w.function, w.stack_top, as_threads | CLONE_SETTLS, w.argument, nullptr, w.base, nullptr);
        return id >= 0 ? id : -errno;
    };
    const errno_kept kept;
    const signals_blocked blocked;
    return make_without_state(make, &what);
}

void *robust_list() noexcept {
    const errno_kept kept;
    void *head = nullptr;
    std::size_t size = 0;
    return ::syscall(SYS_get_robust_list, 0, &head, &size) == 0 ? head : nullptr;
}

void set_robust_list(void *head) noexcept {
    const errno_kept kept;
    ::syscall(SYS_set_robust_list, head, sizeof(robust_list_head));
}

void tell_end_at(int *word) noexcept { ::syscall(SYS_set_tid_address, word); }

std::size_t kernel_thread_limit() noexcept {
    const errno_kept kept;
    rlimit of_user{};
    std::size_t least = ::getrlimit(RLIMIT_NPROC, &of_user) == 0 ? of_user.rlim_cur : RLIM_INFINITY;
    for (const char *path : {"/proc/sys/kernel/threads-max", "/sys/fs/cgroup/pids.max"}) {
        line_reader file(path);
        const char *line = file.next();
        const std::size_t found = line ? std::strtoull(line, nullptr, 10) : 0; // "max": none
        if (found != 0 && found < least) least = found;
    }
    return least;
}

std::size_t kernel_thread_overhead() noexcept {
    // The C library's own number: thread-local storage of all that is loaded, and PTHREAD_STACK_MIN.
    const auto minstack = own_minstack.find();
    constexpr std::size_t when_unknown = std::size_t{64} << 10;
    if (!minstack) return when_unknown;
    pthread_attr_t attributes;
    if (::pthread_attr_init(&attributes) != 0) return when_unknown;
    const std::size_t size = minstack(&attributes);
    ::pthread_attr_destroy(&attributes);
    return size;
}

bool unregister_restartable_sequences(void *thread_pointer) noexcept {
    if (&__rseq_size == nullptr || __rseq_size == 0) return true; // nothing was registered
    const errno_kept kept;
    constexpr std::size_t line = 32; // what the kernel's structure had at first; larger ones are multiples
    constexpr unsigned long at_rseq_feature_size = 27;
    const std::size_t feature = auxiliary_value(at_rseq_feature_size);
    char *area = static_cast<char *>(thread_pointer) + __rseq_offset;
    // The kernel wants the length back that was registered, which glibc does not tell in every version.
    bool done = false;
    for (const std::size_t wanted : {line, std::size_t{__rseq_size}, feature}) {
        const std::size_t length = (wanted + line - 1) / line * line;
        constexpr int unregister = 1;
        done = done || ::syscall(SYS_rseq, area, length, unregister, rseq_signature) == 0;
    }
    return done;
}

bool kernel_thread_stack(void *&bottom, std::size_t &size) noexcept {
    pthread_attr_t attributes;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) return false;
    const bool known = pthread_attr_getstack(&attributes, &bottom, &size) == 0;
    pthread_attr_destroy(&attributes);
    return known;
}

void name_kernel_thread(const char *name) noexcept {
    const errno_kept kept;
    ::syscall(SYS_prctl, PR_SET_NAME, name, 0, 0, 0); // the kernel cuts it; past ours, which names a program's thread
}

namespace {

// Where a sandbox refuses the call: "PROCESS/task/ID".
[[gnu::noinline, gnu::cold]] int id_in_proc() noexcept {
    const errno_kept kept;
    char path[64];
    const long n = ::syscall(SYS_readlinkat, AT_FDCWD, "/proc/thread-self", path, sizeof path - 1);
    if (n <= 0) return -1;
    path[n] = '\0';
    const char *last = std::strrchr(path, '/');
    return last ? std::atoi(last + 1) : -1; // NOLINT(cert-err34-c): the kernel's own number
}

} // namespace

// By hand: a drop-in answers the C library's call by the id that the program knows.
int kernel_thread_id() noexcept {
#if defined(__x86_64__)
    long result = SYS_gettid;
    asm volatile("syscall" : "+a"(result) : : "rcx", "r11");
#elif defined(__aarch64__)
    register long result asm("x0");
    register long number asm("x8") = SYS_gettid;
    asm volatile("svc #0" : "=r"(result) : "r"(number));
#endif
    return result > 0 ? static_cast<int>(result) : id_in_proc();
}

std::uintptr_t thread_identity() noexcept { return static_cast<std::uintptr_t>(::pthread_self()); }

int process_id() noexcept { return ::getpid(); }

std::int64_t thread_cpu_ns(int id) noexcept {
    // The kernel's numbering of CPU clocks: the id's complement, shifted by 3; 4 marks a thread's, 2 its scheduled
    // time.
    const auto clock = static_cast<clockid_t>((~static_cast<unsigned>(id) << 3) | 6U);
    return cpu_clock_ns(clock);
}

unsigned number_of_kernel_threads() noexcept {
    const errno_kept kept;
    struct stat task {};
    // A folder for each, which the kernel counts as links, beside the two of every folder.
    return ::stat("/proc/self/task", &task) == 0 && task.st_nlink > 2 ? static_cast<unsigned>(task.st_nlink - 2) : 0;
}

// The state's letter follows the name, which is in parentheses and may contain some.
bool is_runnable(int id) noexcept {
    char path[64];
    format_text(path, sizeof path, "/proc/self/task/%d/stat", id);
    line_reader file(path);
    const char *line = file.next();
    const char *name_end = line ? std::strrchr(line, ')') : nullptr;
    return name_end && name_end[1] == ' ' && name_end[2] == 'R';
}

// Past a drop-in's `syscall`, to which the id is one that the program knows.
void signal_kernel_thread(int id, int signal) noexcept {
    const errno_kept kept;
    const auto f = own_syscall.find();
    (f ? f : ::syscall)(SYS_tgkill, ::getpid(), id, signal);
}

void yield_kernel_thread() noexcept { ::syscall(SYS_sched_yield); }

} // namespace comity::sys
