// New programs. They inherit the mask of the kernel's thread, which is open; so that thread gets the calling thread's
// own mask for as long as the call takes.
#include "core/spinlock.hpp"
#include "personality/pthread/threads/own_mask.hpp"
#include "personality/pthread/threads/preloaded.hpp"
#include "personality/pthread/threads/thread.hpp"

#include <climits>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace comity::posix {

namespace {

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

sigset_t mask_of(signal_set blocked) noexcept {
    sigset_t s;
    sigemptyset(&s);
    std::memcpy(&s, &blocked, sizeof blocked);
    return s;
}

template <class Call> auto with_own_mask(Call call) {
    const own_mask here;
    return call();
}

// While it lives, the process may become another program at any instant: what was sent before has been acted upon, and
// what comes now the kernel acts upon.
class becomes_another {
public:
    becomes_another() noexcept : is_ours_(is_any_claimed() && !in_vforked_child()) {
        if (!is_ours_) return;
        leave_defaults_to_kernel();
        take_arrivals();
        deliver_here();
    }
    ~becomes_another() {
        if (is_ours_) take_defaults_again();
    }
    becomes_another(const becomes_another &) = delete;
    becomes_another &operator=(const becomes_another &) = delete;

private:
    bool is_ours_;
};

// call(environment), without what the program there could not load. The copy is not from the heap: this may be the
// child of a fork or a vfork.
template <class Call> int with_loadable(const char *path, int file, char *const environment[], Call call) {
    const preloads_for preloads(path, file, environment);
    if (!preloads.are_changed()) return call(environment);
    auto **copy = static_cast<char **>(__builtin_alloca(preloads.pointers() * sizeof(char *)));
    preloads.write(copy, static_cast<char *>(__builtin_alloca(preloads.bytes())));
    return call(copy);
}
template <class Call> int with_loadable_in_path(const char *name, char *const environment[], Call call) {
    char room[PATH_MAX];
    return with_loadable(in_path(name, room, sizeof room), -1, environment, call);
}
// The same for a shell that the C library starts with the process' own environment, which has no use for them any more.
void drop_what_shells_cannot_load() {
    const preloads_for preloads("/bin/sh", -1, environ);
    if (!preloads.are_changed()) return;
    const char *left = preloads.value(static_cast<char *>(__builtin_alloca(preloads.bytes())));
    left ? ::setenv("LD_PRELOAD", left, 1) : ::unsetenv("LD_PRELOAD");
}

template <class Call> auto replace_program(Call call) {
    const becomes_another here;
    return with_own_mask(call);
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

// While somebody waits for a shell, what the terminal sends is the shell's alone.
class interrupts_ignored {
public:
    interrupts_ignored() noexcept {
        struct sigaction ignored {};
        ignored.sa_handler = SIG_IGN;
        lock.lock();
        if (users++ == 0)
            for (const int i : {0, 1}) ::sigaction(signals[i], &ignored, &before[i]);
        lock.unlock();
    }
    ~interrupts_ignored() {
        lock.lock();
        if (--users == 0)
            for (const int i : {0, 1}) ::sigaction(signals[i], &before[i], nullptr);
        lock.unlock();
    }
    interrupts_ignored(const interrupts_ignored &) = delete;
    interrupts_ignored &operator=(const interrupts_ignored &) = delete;
    // Those that the shell does not ignore.
    sigset_t of_shell() const noexcept {
        sigset_t s;
        sigemptyset(&s);
        for (const int i : {0, 1})
            if (before[i].sa_handler != SIG_IGN) sigaddset(&s, signals[i]);
        return s;
    }

private:
    static constexpr int signals[] = {SIGINT, SIGQUIT};
    static core::spinlock lock;
    static unsigned users;             // under the lock
    static struct sigaction before[2]; // the program's; written under the lock by the first user
};
core::spinlock interrupts_ignored::lock;
unsigned interrupts_ignored::users = 0;
struct sigaction interrupts_ignored::before[2];

// A child that is waited for to the end; it is killed first if the thread that waits is cancelled.
class shell {
public:
    explicit shell(pid_t id) noexcept : id_(id) {}
    ~shell() {
        if (id_ == 0) return;
        ::kill(id_, SIGKILL);
        (void)wait();
    }
    shell(const shell &) = delete;
    shell &operator=(const shell &) = delete;
    int wait() {
        int status = -1;
        while (::waitpid(id_, &status, 0) < 0)
            if (errno != EINTR) break;
        id_ = 0;
        return status;
    }

private:
    pid_t id_;
};

// As the C library's system(), whose wait is no cancellation point for threads of ours.
int run_in_shell(receiver &r, const char *command) {
    test_cancel();
    const interrupts_ignored here;
    sigset_t own = mask_of(r.blocked.load(std::memory_order_relaxed)), meanwhile = own;
    sigaddset(&meanwhile, SIGCHLD);
    const mask_for_now masked(r, &meanwhile);
    const sigset_t interrupts = here.of_shell();
    posix_spawnattr_t a;
    posix_spawnattr_init(&a);
    posix_spawnattr_setsigmask(&a, &own);
    posix_spawnattr_setsigdefault(&a, &interrupts);
    posix_spawnattr_setflags(&a, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    const char *const list[] = {"sh", "-c", command, nullptr};
    pid_t id = 0;
    const int error = next_spawn.get()(&id, "/bin/sh", nullptr, &a, const_cast<char *const *>(list), environ);
    posix_spawnattr_destroy(&a);
    constexpr int cannot_run = 127 << 8;
    if (error != 0) return errno = error, cannot_run;
    return shell(id).wait();
}

} // namespace
} // namespace comity::posix

using namespace comity::posix;

// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): glibc's names are reserved ones

COMITY_INTERPOSED int execve(const char *path, char *const list[], char *const environment[]) noexcept {
    return with_loadable(path, -1, environment, [=](char *const *loadable) {
        return replace_program([=] { return next_execve.get()(path, list, loadable); });
    });
}
COMITY_INTERPOSED int execv(const char *path, char *const list[]) noexcept { return execve(path, list, environ); }
COMITY_INTERPOSED int execvpe(const char *file, char *const list[], char *const environment[]) noexcept {
    return with_loadable_in_path(file, environment, [=](char *const *loadable) {
        return replace_program([=] { return next_execvpe.get()(file, list, loadable); });
    });
}
COMITY_INTERPOSED int execvp(const char *file, char *const list[]) noexcept { return execvpe(file, list, environ); }
COMITY_INTERPOSED int fexecve(int fd, char *const list[], char *const environment[]) noexcept {
    return with_loadable(nullptr, fd, environment, [=](char *const *loadable) {
        return replace_program([=] { return next_fexecve.get()(fd, list, loadable); });
    });
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
                                  const posix_spawnattr_t *a, char *const list[], char *const environment[]) {
    return with_loadable(path, -1, environment, [=](char *const *loadable) {
        return with_own_mask([=] { return next_spawn.get()(child, path, actions, a, list, loadable); });
    });
}
COMITY_INTERPOSED int posix_spawnp(pid_t *child, const char *file, const posix_spawn_file_actions_t *actions,
                                   const posix_spawnattr_t *a, char *const list[], char *const environment[]) {
    return with_loadable_in_path(file, environment, [=](char *const *loadable) {
        return with_own_mask([=] { return next_spawnp.get()(child, file, actions, a, list, loadable); });
    });
}
COMITY_INTERPOSED int system(const char *command) {
    drop_what_shells_cannot_load();
    receiver *r = receiver_here();
    if (!r) return next_system.get()(command);
    return command ? run_in_shell(*r, command) : run_in_shell(*r, "exit 0") == 0;
}
COMITY_INTERPOSED std::FILE *popen(const char *command, const char *type) {
    drop_what_shells_cannot_load();
    return with_own_mask([=] { return next_popen.get()(command, type); });
}

// NOLINTEND(readability-inconsistent-declaration-parameter-name)
