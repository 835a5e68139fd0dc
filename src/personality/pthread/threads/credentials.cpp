// Users and groups, which belong to each kernel thread and to the process only by the C library: it signals all threads
// that it knows but the caller, whom it knows by its storage. So nobody calls it on storage that is lent.
#include "core/tls/credentials.hpp"
#include "personality/pthread/threads/thread.hpp"
#include "personality/pthread/threads/vfork.hpp"
#include "sys/futex.hpp"
#include "sys/kernel_thread.hpp"
#include "sys/message.hpp"
#include "sys/signals.hpp"

#include <grp.h>
#include <unistd.h>

namespace comity::posix {

namespace {

COMITY_NEXT_SYMBOL next<int (*)(uid_t)> next_setuid{"setuid"};
COMITY_NEXT_SYMBOL next<int (*)(gid_t)> next_setgid{"setgid"};
COMITY_NEXT_SYMBOL next<int (*)(uid_t)> next_seteuid{"seteuid"};
COMITY_NEXT_SYMBOL next<int (*)(gid_t)> next_setegid{"setegid"};
COMITY_NEXT_SYMBOL next<int (*)(uid_t, uid_t)> next_setreuid{"setreuid"};
COMITY_NEXT_SYMBOL next<int (*)(gid_t, gid_t)> next_setregid{"setregid"};
COMITY_NEXT_SYMBOL next<int (*)(uid_t, uid_t, uid_t)> next_setresuid{"setresuid"};
COMITY_NEXT_SYMBOL next<int (*)(gid_t, gid_t, gid_t)> next_setresgid{"setresgid"};
COMITY_NEXT_SYMBOL next<int (*)(std::size_t, const gid_t *)> next_setgroups{"setgroups"};
COMITY_NEXT_SYMBOL next<int (*)(const char *, gid_t)> next_initgroups{"initgroups"};

int refuse() noexcept {
    static std::atomic<bool> said{false};
    if (!said.exchange(true, std::memory_order_relaxed))
        sys::warn(
            "setuid and its like: refused, since the kernel does not tell which thread is which (get_robust_list)");
    errno = EAGAIN;
    return -1;
}

// By a kernel thread that is made for it, while the caller waits.
template <class Call> int by_another(Call call) noexcept {
    struct order {
        Call call;
        int result, error;
        std::atomic<std::uint32_t> done;
    } o{call, 0, 0, 0};
    const auto serve = [](void *argument) -> void * {
        order &of = *static_cast<order *>(argument);
        of.result = of.call();
        of.error = errno;
        of.done.store(1, std::memory_order_release); // release[posix-credentials]
        sys::futex_wake(of.done);
        return nullptr;
    };
    {
        constexpr std::size_t stack = 1 << 20; // initgroups asks the services that know of groups
        const sys::signals_blocked blocked;    // in the new one
        if (const int error = sys::start_kernel_thread(serve, &o, stack)) return errno = error, -1;
    }
    while (o.done.load(std::memory_order_acquire) == 0) (void)sys::futex_wait(o.done, 0); // acquire[posix-credentials]
    if (o.result != 0) errno = o.error;
    return o.result;
}

template <class Call> int change(Call call) noexcept {
    if (!the_scheduler() || in_vforked_child()) return call();
    switch (core::storage_here()) {
    case core::running_on::own:
        return call();
    case core::running_on::lent:
        return by_another(call);
    default:
        return refuse();
    }
}

} // namespace
} // namespace comity::posix

using namespace comity::posix;

// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): glibc's names are reserved ones

COMITY_INTERPOSED int setuid(uid_t u) noexcept {
    return change([=] { return next_setuid.get()(u); });
}
COMITY_INTERPOSED int setgid(gid_t g) noexcept {
    return change([=] { return next_setgid.get()(g); });
}
COMITY_INTERPOSED int seteuid(uid_t u) noexcept {
    return change([=] { return next_seteuid.get()(u); });
}
COMITY_INTERPOSED int setegid(gid_t g) noexcept {
    return change([=] { return next_setegid.get()(g); });
}
COMITY_INTERPOSED int setreuid(uid_t real, uid_t effective) noexcept {
    return change([=] { return next_setreuid.get()(real, effective); });
}
COMITY_INTERPOSED int setregid(gid_t real, gid_t effective) noexcept {
    return change([=] { return next_setregid.get()(real, effective); });
}
COMITY_INTERPOSED int setresuid(uid_t real, uid_t effective, uid_t saved) noexcept {
    return change([=] { return next_setresuid.get()(real, effective, saved); });
}
COMITY_INTERPOSED int setresgid(gid_t real, gid_t effective, gid_t saved) noexcept {
    return change([=] { return next_setresgid.get()(real, effective, saved); });
}
COMITY_INTERPOSED int setgroups(std::size_t number, const gid_t *groups) noexcept {
    return change([=] { return next_setgroups.get()(number, groups); });
}
COMITY_INTERPOSED int initgroups(const char *user, gid_t group) {
    return change([=] { return next_initgroups.get()(user, group); });
}

// NOLINTEND(readability-inconsistent-declaration-parameter-name)
