// New programs, in both preload objects: none of Comity's objects in LD_PRELOAD that cannot be loaded there.
#include "personality/pthread/threads/exec.hpp"
#include "core/spinlock.hpp"
#include "personality/pthread/threads/object.hpp"
#include "personality/pthread/threads/preloaded.hpp"
#include "sys/signals.hpp"

#include <climits>
#include <cstdarg>
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
// Makes the call by one of the object's two ways (exec.hpp).
template <class Call> int made(int (*way)(int (*)(void *), void *), Call call) {
    return way([](void *c) { return (*static_cast<Call *>(c))(); }, &call);
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

} // namespace

int run_in_shell(const char *command, char *const environment[], const sigset_t &own) {
    const interrupts_ignored here;
    const sigset_t interrupts = here.of_shell();
    posix_spawnattr_t a;
    posix_spawnattr_init(&a);
    posix_spawnattr_setsigmask(&a, &own);
    posix_spawnattr_setsigdefault(&a, &interrupts);
    posix_spawnattr_setflags(&a, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    const char *const list[] = {"sh", "-c", command, nullptr};
    pid_t id = 0;
    const int error = next_spawn.get()(&id, "/bin/sh", nullptr, &a, const_cast<char *const *>(list), environment);
    posix_spawnattr_destroy(&a);
    constexpr int cannot_run = 127 << 8;
    if (error != 0) return errno = error, cannot_run;
    return shell(id).wait();
}

int run_in_shell_of_kernel(const char *command, char *const environment[]) {
    if (environment == environ) return next_system.get()(command);
    class without_ends_of_children {
    public:
        without_ends_of_children() noexcept : before_(sys::block_signals(std::uint64_t{1} << (SIGCHLD - 1))) {}
        ~without_ends_of_children() { (void)sys::exchange_mask(before_); }
        without_ends_of_children(const without_ends_of_children &) = delete;
        without_ends_of_children &operator=(const without_ends_of_children &) = delete;
        sigset_t own() const noexcept {
            sigset_t s;
            sigemptyset(&s);
            std::memcpy(&s, &before_, sizeof before_);
            return s;
        }

    private:
        std::uint64_t before_;
    };
    const without_ends_of_children here;
    return run_in_shell(command, environment, here.own());
}

// The C library keeps the stream and its child together, and starts that with the process' environment: which has no
// use for what cannot be loaded any more. So it changes, once; another thread that reads it then may find either.
std::FILE *open_shell_of_kernel(const char *command, const char *type) {
    const preloads_for preloads("/bin/sh", -1, environ);
    if (preloads.are_changed()) {
        const char *left = preloads.value(static_cast<char *>(__builtin_alloca(preloads.bytes())));
        left ? ::setenv("LD_PRELOAD", left, 1) : ::unsetenv("LD_PRELOAD");
    }
    return next_popen.get()(command, type);
}

} // namespace comity::posix

using namespace comity::posix;

// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): glibc's names are reserved ones

COMITY_INTERPOSED int execve(const char *path, char *const list[], char *const environment[]) noexcept {
    return with_loadable(path, -1, environment, [=](char *const *loadable) {
        return made(replace_program, [=] { return next_execve.get()(path, list, loadable); });
    });
}
COMITY_INTERPOSED int execv(const char *path, char *const list[]) noexcept { return execve(path, list, environ); }
COMITY_INTERPOSED int execvpe(const char *file, char *const list[], char *const environment[]) noexcept {
    return with_loadable_in_path(file, environment, [=](char *const *loadable) {
        return made(replace_program, [=] { return next_execvpe.get()(file, list, loadable); });
    });
}
COMITY_INTERPOSED int execvp(const char *file, char *const list[]) noexcept { return execvpe(file, list, environ); }
COMITY_INTERPOSED int fexecve(int fd, char *const list[], char *const environment[]) noexcept {
    return with_loadable(nullptr, fd, environment, [=](char *const *loadable) {
        return made(replace_program, [=] { return next_fexecve.get()(fd, list, loadable); });
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
        return made(start_program, [=] { return next_spawn.get()(child, path, actions, a, list, loadable); });
    });
}
COMITY_INTERPOSED int posix_spawnp(pid_t *child, const char *file, const posix_spawn_file_actions_t *actions,
                                   const posix_spawnattr_t *a, char *const list[], char *const environment[]) {
    return with_loadable_in_path(file, environment, [=](char *const *loadable) {
        return made(start_program, [=] { return next_spawnp.get()(child, file, actions, a, list, loadable); });
    });
}
COMITY_INTERPOSED int system(const char *command) {
    return with_loadable("/bin/sh", -1, environ, [=](char *const *loadable) {
        return command ? run_in_shell(command, loadable) : run_in_shell("exit 0", loadable) == 0;
    });
}
COMITY_INTERPOSED std::FILE *popen(const char *command, const char *type) { return open_shell(command, type); }

// NOLINTEND(readability-inconsistent-declaration-parameter-name)
