// What the kernel does only for a process of one thread, in one that has had threads and has none now: as if they had
// never been. Each case is a process of its own, forked before there is any thread; an argument names one. With OpenMP
// there are regions, too, whose threads have ended then, as libgomp's own have not.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { all_is_well, wrong, not_allowed };
enum { many = 50 };

static volatile sig_atomic_t handled;
static void on_signal(int s) {
    (void)s;
    ++handled;
}

static void name_of_namespace(const char *kind, char *name, size_t size) {
    char path[64];
    snprintf(path, sizeof path, "/proc/thread-self/ns/%s", kind);
    const ssize_t n = readlink(path, name, size - 1);
    name[n > 0 ? n : 0] = '\0';
}
static char before[64], now[64];
static int strays; // threads that are in another namespace than main
static void look_where(void) {
    char here[64];
    name_of_namespace("user", here, sizeof here);
    if (strcmp(here, now) != 0) __atomic_fetch_add(&strays, 1, __ATOMIC_RELAXED);
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static int may_end;
static __thread int own = 5;

static void *nothing(void *arg) { return arg; }
static void *sleeps(void *arg) {
    usleep(2000);
    return arg;
}
static void *waits(void *arg) {
    pthread_mutex_lock(&mutex);
    while (!may_end) pthread_cond_wait(&condition, &mutex);
    pthread_mutex_unlock(&mutex);
    return arg;
}
static void *works(void *arg) {
    struct timespec soon;
    if (own++ != 5) __atomic_fetch_add(&strays, 1, __ATOMIC_RELAXED);
    look_where();
    usleep(500);
    clock_gettime(CLOCK_REALTIME, &soon);
    soon.tv_nsec += 1000000;
    if (soon.tv_nsec >= 1000000000) soon.tv_nsec -= 1000000000, ++soon.tv_sec;
    pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t c = PTHREAD_COND_INITIALIZER;
    pthread_mutex_lock(&m);
    if (pthread_cond_timedwait(&c, &m, &soon) != ETIMEDOUT) __atomic_fetch_add(&strays, 1, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&m);
    look_where();
    return arg;
}
static void *sends(void *to) {
    usleep(1000);
    pthread_kill(*(pthread_t *)to, SIGUSR1);
    return NULL;
}
static void run(int n, void *(*fn)(void *), void *arg) {
    pthread_t t[many];
    for (int i = 0; i < n; ++i)
        if (pthread_create(&t[i], NULL, fn, arg) != 0) abort();
    for (int i = 0; i < n; ++i) pthread_join(t[i], NULL);
}

#ifdef _OPENMP
static void region(int n) {
    int there = 0;
#pragma omp parallel num_threads(n) reduction(+ : there)
    {
        look_where();
        ++there;
#pragma omp barrier
#pragma omp for schedule(dynamic)
        for (int i = 0; i < 20; ++i) i % 8 == 0 ? usleep(2000) : sched_yield(); // some leave their harts in it
    }
    if (there != n) abort();
}
#else
static void region(int n) { (void)n; }
#endif

// What ended is there again when it is needed, and in the namespace.
static int goes_on(void) {
    pthread_t self = pthread_self();
    handled = 0;
    strays = 0;
    kill(getpid(), SIGUSR1);
    for (int i = 0; i < 3; ++i) run(10, works, NULL);
    run(1, sends, &self);
    region(3);
    region(4);
    for (int i = 0; i < 6000 && handled < 2; ++i) usleep(10000);
    if (handled < 2) return printf("%d of 2 signals\n", (int)handled), wrong;
    if (strays) return printf("%d threads are elsewhere\n", strays), wrong;
    int status = 0;
    const pid_t child = fork();
    if (child == 0) {
        run(5, works, NULL);
        region(2);
        _exit(strays != 0);
    }
    if (waitpid(child, &status, 0) != child || status != 0) return puts("the child of a fork does not go on"), wrong;
    return all_is_well;
}

static int is_written(const char *path, const char *format, unsigned id) {
    char text[64];
    const int file = open(path, O_WRONLY), n = snprintf(text, sizeof text, format, id);
    const int done = file >= 0 && write(file, text, (size_t)n) == n;
    close(file);
    return done;
}
static int leaves(int flags) {
    const unsigned user = getuid(), group = getgid();
    name_of_namespace("user", before, sizeof before);
    if (unshare(CLONE_NEWUSER | flags) != 0) {
        if (errno != EINVAL) return not_allowed;
        return puts("unshare: the process has other threads"), wrong;
    }
    name_of_namespace("user", now, sizeof now);
    if (strcmp(before, now) == 0) return puts("it is the namespace from before"), wrong;
    if (!is_written("/proc/self/setgroups", "deny", 0) || !is_written("/proc/self/uid_map", "0 %u 1", user) ||
        !is_written("/proc/self/gid_map", "0 %u 1", group))
        return not_allowed;
    return all_is_well;
}
static int leaves_and_goes_on(void) {
    const int result = leaves(0);
    return result ? result : goes_on();
}

static int without_threads(void) { return leaves_and_goes_on(); }
static int after_a_thread(void) {
    run(1, nothing, NULL);
    return leaves_and_goes_on();
}
static int after_many(void) {
    run(many, sleeps, NULL);
    run(many, nothing, NULL);
    return leaves_and_goes_on();
}
static int after_regions(void) {
    region(3);
    region(2);
    return leaves_and_goes_on();
}
static int after_both(void) {
    region(4);
    run(many, works, NULL);
    region(4);
    return leaves_and_goes_on();
}
static int again_and_again(void) {
    for (int i = 0; i < 5; ++i) {
        run(4, sleeps, NULL);
        region(2 + i % 3);
        const int result = leaves_and_goes_on();
        if (result) return i == 0 ? result : (printf("time %d\n", i), wrong);
    }
    return all_is_well;
}
// What main has of its own is the process' then.
static int with_state(void) {
    run(3, sleeps, NULL);
    if (setpriority(PRIO_PROCESS, 0, 3) != 0) return wrong;
    run(3, sleeps, NULL);
    const int result = leaves_and_goes_on();
    if (result == all_is_well && getpriority(PRIO_PROCESS, 0) != 3) return puts("main's nice value is gone"), wrong;
    return result;
}
// It is the kernel's to refuse, and all goes on.
static int beside_a_thread(void) {
    pthread_t t;
    run(4, nothing, NULL);
    pthread_create(&t, NULL, waits, NULL);
    usleep(1000);
    const int result = unshare(CLONE_NEWUSER), error = errno;
    pthread_mutex_lock(&mutex);
    may_end = 1;
    pthread_cond_broadcast(&condition);
    pthread_mutex_unlock(&mutex);
    pthread_join(t, NULL);
    if (result == 0 || (error != EINVAL && error != EPERM))
        return printf("beside another thread: %d, %s\n", result, strerror(error)), wrong;
    return leaves_and_goes_on();
}
static void *leaves_here(void *result) {
    *(int *)result = unshare(CLONE_NEWUSER) == 0 ? 0 : errno;
    return NULL;
}
static int in_a_thread(void) {
    int error = 0;
    run(1, leaves_here, &error);
    if (error != EINVAL && error != EPERM) return printf("in a thread: %s\n", strerror(error)), wrong;
    return leaves_and_goes_on();
}

// Another process' namespaces.
static int enters(void) {
    int ready[2], hold[2];
    char c = 0, path[64];
    run(many, sleeps, NULL);
    region(3);
    if (pipe(ready) != 0 || pipe(hold) != 0) return wrong;
    const pid_t other = fork();
    if (other == 0) {
        close(hold[1]);
        c = (char)leaves(CLONE_NEWNS);
        if (write(ready[1], &c, 1) != 1 || read(hold[0], &c, 1) != 0) _exit(wrong);
        _exit(0);
    }
    if (read(ready[0], &c, 1) != 1) return wrong;
    if (c) return c;
    snprintf(path, sizeof path, "/proc/%d/ns/user", (int)other);
    const int user = open(path, O_RDONLY);
    snprintf(path, sizeof path, "/proc/%d/ns/mnt", (int)other);
    const int mounts = open(path, O_RDONLY);
    if (user < 0 || mounts < 0) return not_allowed;
    name_of_namespace("user", before, sizeof before);
    if (setns(user, 0) != 0) return printf("setns, user: %s\n", strerror(errno)), errno == EPERM ? not_allowed : wrong;
    name_of_namespace("user", now, sizeof now);
    if (strcmp(before, now) == 0) return puts("setns: it is the namespace from before"), wrong;
    run(4, sleeps, NULL);
    region(4);
    if (syscall(SYS_setns, mounts, CLONE_NEWNS) != 0)
        return printf("setns, mnt: %s\n", strerror(errno)), errno == EPERM ? not_allowed : wrong;
    const int result = goes_on();
    close(hold[1]);
    waitpid(other, NULL, 0);
    return result;
}
// For a process of one thread these change nothing.
static int with_nothing_to_unshare(void) {
    run(many, nothing, NULL);
    region(3);
    if (unshare(CLONE_THREAD | CLONE_SIGHAND | CLONE_VM) != 0) return perror("unshare: memory"), wrong;
    name_of_namespace("user", now, sizeof now);
    return goes_on();
}
// Its children are in another one, and so it cannot make kernel threads any more.
static int with_namespace_of_processes(void) {
    int status = 0;
    run(4, sleeps, NULL);
    const int result = leaves(CLONE_NEWPID);
    if (result) return result;
    handled = 0;
    kill(getpid(), SIGUSR1);
    for (int i = 0; i < 6000 && handled < 1; ++i) usleep(10000);
    if (handled < 1) return puts("no signal"), wrong;
    const pid_t child = fork();
    if (child == 0) _exit(getpid() == 1 ? goes_on() : wrong);
    if (waitpid(child, &status, 0) != child || status != 0) return puts("its child"), wrong;
    return all_is_well;
}

static const struct {
    const char *name;
    int (*run)(void);
} cases[] = {{"without_threads", without_threads},
             {"after_a_thread", after_a_thread},
             {"after_many", after_many},
             {"after_regions", after_regions},
             {"after_both", after_both},
             {"again_and_again", again_and_again},
             {"with_state", with_state},
             {"beside_a_thread", beside_a_thread},
             {"in_a_thread", in_a_thread},
             {"enters", enters},
             {"with_nothing_to_unshare", with_nothing_to_unshare},
             {"with_namespace_of_processes", with_namespace_of_processes}};

int main(int argc, char **argv) {
    int failed = 0;
    signal(SIGUSR1, on_signal);
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; ++i) {
        int status = 0;
        if (argc > 1 && strcmp(argv[1], cases[i].name) != 0) continue;
        fflush(stdout);
        const pid_t child = fork();
        if (child == 0) {
            const int result = cases[i].run();
            fflush(stdout);
            _exit(result);
        }
        waitpid(child, &status, 0);
        if (WIFEXITED(status) && WEXITSTATUS(status) == not_allowed) {
            printf("%s: not allowed here\n", cases[i].name);
        } else if (status != 0) {
            printf("%s: status %x\n", cases[i].name, (unsigned)status);
            failed = 1;
        }
    }
    return failed;
}
