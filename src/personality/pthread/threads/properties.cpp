// What a thread is asked and told: its name, its attributes.
#include "core/carrier.hpp"
#include "core/kernel_state.hpp"
#include "personality/pthread/threads/kernel_state.hpp"
#include "personality/pthread/threads/thread.hpp"
#include "personality/pthread/threads/vfork.hpp"
#include "sys/cpu_set.hpp"
#include "sys/errno_kept.hpp"
#include "sys/kernel_thread.hpp"
#include "sys/message.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstring>

#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace comity::posix {

namespace {

COMITY_NEXT_SYMBOL next<int (*)(int, unsigned long, unsigned long, unsigned long, unsigned long)> next_prctl{"prctl"};
COMITY_NEXT_SYMBOL next<int (*)(pthread_t, const char *)> next_setname{"pthread_setname_np"};
COMITY_NEXT_SYMBOL next<int (*)(pthread_t, char *, std::size_t)> next_getname{"pthread_getname_np"};
COMITY_NEXT_SYMBOL next<int (*)(pthread_t, pthread_attr_t *)> next_getattr{"pthread_getattr_np"};
COMITY_NEXT_SYMBOL next<int (*)(pthread_t, int, const sched_param *)> next_setschedparam{"pthread_setschedparam"};
COMITY_NEXT_SYMBOL next<int (*)(pthread_t, int *, sched_param *)> next_getschedparam{"pthread_getschedparam"};
COMITY_NEXT_SYMBOL next<int (*)(pthread_t, int)> next_setschedprio{"pthread_setschedprio"};
COMITY_NEXT_SYMBOL next<int (*)(pthread_t, std::size_t, const cpu_set_t *)> next_setaffinity{"pthread_setaffinity_np"};
COMITY_NEXT_SYMBOL next<int (*)(pthread_t, std::size_t, cpu_set_t *)> next_getaffinity{"pthread_getaffinity_np"};

// What a thread that has no kernel thread of its own cannot do: said once for each function.
int cannot(std::atomic<bool> &said, const char *function, const char *what) noexcept {
    if (!said.exchange(true, std::memory_order_relaxed))
        sys::warn("%s: %s; it runs on Comity's harts (with --no-posix threads are the C library's)", function, what);
    return ENOTSUP;
}

void copy_cut(char *to, const char *from, std::size_t size) noexcept {
    const std::size_t length = ::strnlen(from, size - 1);
    std::memcpy(to, from, length);
    std::memset(to + length, 0, size - length);
}

bool has_ended(const thread *t) noexcept {
    const std::uint32_t s = t->state.load(std::memory_order_relaxed);
    return !(s & thread::in_use) || (s & thread::ended);
}

} // namespace
} // namespace comity::posix

using namespace comity::posix;
using comity::posix::thread;

// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): glibc's names are reserved ones

COMITY_INTERPOSED int pthread_setname_np(pthread_t t, const char *name) noexcept {
    thread *own = thread_of(t);
    if (!own) return next_setname.get()(t, name);
    if (std::strlen(name) >= sizeof own->name) return ERANGE;
    if (has_ended(own)) return ESRCH;
    std::strcpy(own->name, name);
    return comity_thread_set_name(own->handle, name);
}

// Without a name of its own, the program's, as it is inherited elsewhere.
static const char *name_of(const thread &t) noexcept { return *t.name ? t.name : program_invocation_short_name; }

COMITY_INTERPOSED int pthread_getname_np(pthread_t t, char *name, std::size_t size) noexcept {
    thread *own = thread_of(t);
    if (!own) return next_getname.get()(t, name, size);
    if (has_ended(own)) return ESRCH;
    char whole[sizeof own->name];
    copy_cut(whole, name_of(*own), sizeof whole); // as the kernel does
    if (size <= std::strlen(whole)) return ERANGE;
    std::strcpy(name, whole);
    return 0;
}

// The names of a thread by the kernel's call; all else is the kernel thread's, which may have to be its own.
COMITY_INTERPOSED int prctl(int what, ...) {
    va_list rest;
    va_start(rest, what);
    unsigned long given[4];
    for (unsigned long &word : given) word = va_arg(rest, unsigned long);
    va_end(rest);
    thread *own = in_vforked_child() ? nullptr : current_thread;
    if (own && what == PR_SET_NAME) {
        if (own->stays) (void)next_prctl.get()(what, given[0], 0, 0, 0);
        char name[sizeof own->name];
        copy_cut(name, reinterpret_cast<const char *>(given[0]), sizeof name); // as the kernel does
        return pthread_setname_np(pthread_self(), name) == 0 ? 0 : (errno = EINVAL, -1);
    }
    if (own && what == PR_GET_NAME) {
        copy_cut(reinterpret_cast<char *>(given[0]), name_of(*own), sizeof own->name);
        return 0;
    }
    return change_by_call(SYS_prctl, next_prctl.get(), what, given[0], given[1], given[2], given[3]);
}

// Where it runs. One that is not bound runs on any hart, wherever that is when it is asked for another thread.
static int get_cpus(const thread &t, std::size_t size, cpu_set_t *cpus) noexcept {
    const comity::sys::errno_kept kept;
    const int id = t.kernel_thread.load(std::memory_order_relaxed);
    if (id != 0 || &t == current_thread) return sched_getaffinity(id, size, cpus) == 0 ? 0 : errno;
    CPU_ZERO_S(size, cpus);
    const comity::sys::cpu_set &process = comity::sys::process_cpus();
    for (int i = process.next(); i >= 0; i = process.next(i + 1)) {
        if (static_cast<std::size_t>(i) >= size * 8) return EINVAL; // as the kernel has it
        CPU_SET_S(i, size, cpus);
    }
    return 0;
}

COMITY_INTERPOSED int pthread_getattr_np(pthread_t t, pthread_attr_t *a) noexcept {
    thread *own = thread_of(t);
    if (!own) return next_getattr.get()(t, a);
    if (has_ended(own)) return ESRCH;
    if (const int error = pthread_attr_init(a)) return error;
    if (own->state.load(std::memory_order_relaxed) & thread::detached)
        pthread_attr_setdetachstate(a, PTHREAD_CREATE_DETACHED);
    if (own->guard_asked) pthread_attr_setguardsize(a, own->guard_asked);
    cpu_set_t cpus;
    if (get_cpus(*own, sizeof cpus, &cpus) == 0) (void)pthread_attr_setaffinity_np(a, sizeof cpus, &cpus);
    // Null: it has not started. acquire[posix-stack]
    auto *bottom = static_cast<char *>(own->stack_bottom.load(std::memory_order_acquire));
    if (!bottom) return own->stack_asked ? pthread_attr_setstacksize(a, own->stack_asked) : 0;
    // Whole pages, as the C library says: programs protect the lowest ones (Java). Above the top stands the context.
    const std::size_t page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)),
                      whole = (own->stack_size + page - 1) / page * page;
    const std::size_t size = own->stack_asked ? std::min(own->stack_asked, whole) : whole;
    return pthread_attr_setstack(a, bottom + (whole - size), size);
}

namespace comity::posix {

void note_kernel_state() noexcept {
    thread *t = current_thread;
    if (!t) return;
    const bool has_some = core::own_kernel_state() != 0;
    t->kernel_thread.store(has_some ? sys::kernel_thread_id() : 0, std::memory_order_relaxed);
    if (!has_some && !t->ending) come_home();
}

void leave_kernel_state(thread &t) noexcept {
    const sys::errno_kept kept;
    const sched_param none{};
    // Its kernel thread is waited for.
    if (core::own_kernel_state() & core::kernel_state::policy) (void)sched_setscheduler(0, SCHED_OTHER, &none);
    t.kernel_thread.store(0, std::memory_order_relaxed);
    come_home(); // with the state: what has to be made for that is not to inherit
    core::end_kernel_state(core::own_kernel_state());
}

namespace {

// By another thread: only where it has a kernel thread to itself.
int set_policy_of(const thread &t, int policy, const sched_param *p) noexcept {
    const comity::sys::errno_kept kept;
    const int id = t.kernel_thread.load(std::memory_order_relaxed);
    if (id != 0) return sched_setscheduler(id, policy, p) == 0 ? 0 : errno;
    if (policy == SCHED_OTHER) return 0;
    static std::atomic<bool> said{false};
    cannot(said, "pthread_setschedparam",
           "only the thread itself can go on on a kernel thread of its own, which a policy needs, or come back (or ask "
           "for it in the attributes)");
    return EPERM;
}

// What pthread_set... say of the calling thread, which may be one of the C library's: by(0 for it), a system call.
template <class By> int set_of_caller(By by) noexcept {
    const comity::sys::errno_kept kept;
    return by() == 0 ? 0 : errno;
}

} // namespace

} // namespace comity::posix

COMITY_INTERPOSED int pthread_setschedparam(pthread_t t, int policy, const sched_param *p) noexcept {
    thread *own = thread_of(t);
    if (own && has_ended(own)) return ESRCH;
    if (own &&
        (p->sched_priority < sched_get_priority_min(policy) || p->sched_priority > sched_get_priority_max(policy)))
        return EINVAL;
    if (t == pthread_self()) return set_of_caller([=] { return sched_setscheduler(0, policy, p); });
    return own ? set_policy_of(*own, policy, p) : next_setschedparam.get()(t, policy, p);
}

COMITY_INTERPOSED int pthread_getschedparam(pthread_t t, int *policy, sched_param *p) noexcept {
    const thread *own = thread_of(t);
    if (!own) return next_getschedparam.get()(t, policy, p);
    if (has_ended(own)) return ESRCH;
    *policy = SCHED_OTHER;
    p->sched_priority = 0;
    if (const int id = own->kernel_thread.load(std::memory_order_relaxed)) {
        const comity::sys::errno_kept kept;
        *policy = sched_getscheduler(id);
        if (*policy < 0 || sched_getparam(id, p) != 0) return errno;
    }
    return 0;
}

COMITY_INTERPOSED int pthread_setschedprio(pthread_t t, int priority) noexcept {
    const thread *own = thread_of(t);
    sched_param p{};
    p.sched_priority = priority;
    if (t == pthread_self()) return set_of_caller([&] { return sched_setparam(0, &p); });
    if (!own) return next_setschedprio.get()(t, priority);
    if (has_ended(own)) return ESRCH;
    if (const int id = own->kernel_thread.load(std::memory_order_relaxed))
        return set_of_caller([&] { return sched_setparam(id, &p); });
    return priority == 0 ? 0 : EINVAL; // the range of SCHED_OTHER
}

COMITY_INTERPOSED int pthread_setaffinity_np(pthread_t t, std::size_t size, const cpu_set_t *cpus) noexcept {
    const thread *own = thread_of(t);
    if (t == pthread_self()) return set_of_caller([=] { return sched_setaffinity(0, size, cpus); });
    if (!own) return next_setaffinity.get()(t, size, cpus);
    if (has_ended(own)) return ESRCH;
    if (const int id = own->kernel_thread.load(std::memory_order_relaxed))
        return set_of_caller([=] { return sched_setaffinity(id, size, cpus); });
    if (have_all_cpus(size, cpus)) return 0;
    static std::atomic<bool> said{false};
    return cannot(
        said, "pthread_setaffinity_np",
        "another thread that runs already cannot be bound (ask for it in the attributes, or it binds itself)");
}

COMITY_INTERPOSED int pthread_getaffinity_np(pthread_t t, std::size_t size, cpu_set_t *cpus) noexcept {
    const thread *own = thread_of(t);
    if (!own) return next_getaffinity.get()(t, size, cpus);
    return has_ended(own) ? ESRCH : get_cpus(*own, size, cpus);
}

// NOLINTEND(readability-inconsistent-declaration-parameter-name)
