// New programs. They inherit the mask of the kernel's thread, which is open, or closed where storage is lent; so that
// thread gets the calling thread's own mask for as long as the call takes.
#include "personality/pthread/threads/thread.hpp"
#include "personality/pthread/threads/vfork.hpp"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <spawn.h>
#include <unistd.h>

namespace comity::posix {

namespace {

COMITY_NEXT_SYMBOL next<int (*)(int, const sigset_t *, sigset_t *)> next_sigmask{"pthread_sigmask"};
using exec_function = int (*)(const char *, char *const[], char *const[]);
using spawn_function = int (*)(pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *,
                               char *const[], char *const[]);
COMITY_NEXT_SYMBOL next<exec_function> next_execve{"execve"};
COMITY_NEXT_SYMBOL next<exec_function> next_execvpe{"execvpe"};
COMITY_NEXT_SYMBOL next<int (*)(int, char *const[], char *const[])> next_fexecve{"fexecve"};
COMITY_NEXT_SYMBOL next<spawn_function> next_spawn{"posix_spawn"};
COMITY_NEXT_SYMBOL next<spawn_function> next_spawnp{"posix_spawnp"};
COMITY_NEXT_SYMBOL next<int (*)(const char *)> next_system{"system"};
COMITY_NEXT_SYMBOL next<std::FILE *(*)(const char *, const char *)> next_popen{"popen"};

class own_mask {
public:
    own_mask() noexcept : r_(receiver_here()) {
        if (r_ && in_vforked_child() && this_vforked_child().has_mask) r_ = nullptr; // the kernel's is its own
        if (!r_) return;
        sigset_t own;
        sigemptyset(&own);
        const signal_set blocked = r_->blocked.load(std::memory_order_relaxed);
        std::memcpy(&own, &blocked, sizeof blocked);
        next_sigmask.get()(SIG_SETMASK, &own, &kernels_);
    }
    ~own_mask() {
        if (r_) next_sigmask.get()(SIG_SETMASK, &kernels_, nullptr);
    }
    own_mask(const own_mask &) = delete;
    own_mask &operator=(const own_mask &) = delete;

private:
    receiver *r_;
    sigset_t kernels_{};
};

template <class Call> auto with_own_mask(Call call) {
    const own_mask here;
    return call();
}

// The arguments of execl and its like, as a list.
template <class F> int with_list(const char *first, va_list &more, F f) {
    std::va_list counted;
    va_copy(counted, more);
    std::size_t n = 1;
    while (first && va_arg(counted, char *)) ++n;
    va_end(counted);
    // Not from the heap: this may be the child of a fork or a vfork.
    auto **list = static_cast<char **>(__builtin_alloca((n + 1) * sizeof(char *)));
    list[0] = const_cast<char *>(first);
    for (std::size_t i = 1; first && i <= n; ++i) list[i] = va_arg(more, char *); // the last is null
    return f(list);
}

} // namespace
} // namespace comity::posix

using namespace comity::posix;

// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): glibc's names are reserved ones

COMITY_INTERPOSED int execve(const char *path, char *const list[], char *const environment[]) noexcept {
    return with_own_mask([=] { return next_execve.get()(path, list, environment); });
}
COMITY_INTERPOSED int execv(const char *path, char *const list[]) noexcept { return execve(path, list, environ); }
COMITY_INTERPOSED int execvpe(const char *file, char *const list[], char *const environment[]) noexcept {
    return with_own_mask([=] { return next_execvpe.get()(file, list, environment); });
}
COMITY_INTERPOSED int execvp(const char *file, char *const list[]) noexcept { return execvpe(file, list, environ); }
COMITY_INTERPOSED int fexecve(int fd, char *const list[], char *const environment[]) noexcept {
    return with_own_mask([=] { return next_fexecve.get()(fd, list, environment); });
}
COMITY_INTERPOSED int execl(const char *path, const char *first, ...) noexcept {
    std::va_list more;
    va_start(more, first);
    const int result = with_list(first, more, [=](char **list) { return execve(path, list, environ); });
    va_end(more);
    return result;
}
COMITY_INTERPOSED int execlp(const char *file, const char *first, ...) noexcept {
    std::va_list more;
    va_start(more, first);
    const int result = with_list(first, more, [=](char **list) { return execvpe(file, list, environ); });
    va_end(more);
    return result;
}
COMITY_INTERPOSED int execle(const char *path, const char *first, ...) noexcept {
    std::va_list more;
    va_start(more, first);
    const int result =
        with_list(first, more, [&](char **list) { return execve(path, list, va_arg(more, char *const *)); });
    va_end(more);
    return result;
}

COMITY_INTERPOSED int posix_spawn(pid_t *child, const char *path, const posix_spawn_file_actions_t *actions,
                                  const posix_spawnattr_t *a, char *const list[], char *const environment[]) noexcept {
    return with_own_mask([=] { return next_spawn.get()(child, path, actions, a, list, environment); });
}
COMITY_INTERPOSED int posix_spawnp(pid_t *child, const char *file, const posix_spawn_file_actions_t *actions,
                                   const posix_spawnattr_t *a, char *const list[], char *const environment[]) noexcept {
    return with_own_mask([=] { return next_spawnp.get()(child, file, actions, a, list, environment); });
}
// The caller sleeps until the command has ended: without its hart.
COMITY_INTERPOSED int system(const char *command) {
    test_cancel();
    if (current_thread) (void)leave_hart();
    const int result = with_own_mask([=] { return next_system.get()(command); });
    const int error = errno;
    come_home();
    errno = error;
    return result;
}
COMITY_INTERPOSED std::FILE *popen(const char *command, const char *type) {
    return with_own_mask([=] { return next_popen.get()(command, type); });
}

// NOLINTEND(readability-inconsistent-declaration-parameter-name)
