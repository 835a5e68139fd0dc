// What the kernel keeps for each kernel thread belongs to the thread that has set it, and to those that it creates.
// With one of the ways below, or none for all: starts itself for each kind of state, and says how many went wrong.
#define _GNU_SOURCE
#include <errno.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef _OPENMP
#include <omp.h>
#endif

extern char **environ;

// ---- Kinds of state: `set` returns -1 where it is not allowed here.

static int nice_at_start; // of the test itself
static int set_nice(void) { return nice_at_start >= 18 ? -1 : setpriority(PRIO_PROCESS, 0, nice_at_start + 1); }
static int is_nice(void) { return getpriority(PRIO_PROCESS, 0) == nice_at_start + 1; }
static int set_nicer(void) { return nice_at_start >= 18 || (nice(2) == -1 && errno == EPERM) ? -1 : 0; }
static int is_nicer(void) { return getpriority(PRIO_PROCESS, 0) == nice_at_start + 2; }

static int set_batch(void) {
    struct sched_param p = {0};
    return pthread_setschedparam(pthread_self(), SCHED_BATCH, &p) ? -1 : 0;
}
static int is_batch(void) { return sched_getscheduler(0) == SCHED_BATCH; }

static int set_ioprio(void) { return (int)syscall(SYS_ioprio_set, 1, 0, 3 << 13); }
static int is_ioprio(void) { return syscall(SYS_ioprio_get, 1, 0) == 3 << 13; }

static int set_slack(void) { return prctl(PR_SET_TIMERSLACK, 123456, 0, 0, 0); }
static int is_slack(void) { return prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0) == 123456; }

static int set_nnp(void) { return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); }
static int is_nnp(void) { return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1; }

static int set_filter(void) {
    struct sock_filter f[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                              BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
                              BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
                              BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog p = {4, f};
    if (set_nnp() != 0) return -1;
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &p);
}
static int is_filtered(void) { return syscall(SYS_getppid) == -1; }

static int set_caps(void) {
    struct __user_cap_header_struct h = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct d[2];
    if (syscall(SYS_capget, &h, d) || d[0].effective == 0) return -1;
    d[0].effective &= ~(1U << CAP_CHOWN);
    return (int)syscall(SYS_capset, &h, d);
}
static int has_dropped(void) {
    struct __user_cap_header_struct h = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct d[2];
    return syscall(SYS_capget, &h, d) == 0 && !(d[0].effective & (1U << CAP_CHOWN));
}

static int set_fsuid(void) {
    setfsuid(1234);
    return setfsuid((uid_t)-1) == 1234 ? 0 : -1;
}
static int is_fsuid(void) { return setfsuid((uid_t)-1) == 1234; }

static int set_persona(void) { return personality(ADDR_NO_RANDOMIZE) == -1 ? -1 : 0; }
static int is_persona(void) { return personality(0xffffffff) == ADDR_NO_RANDOMIZE; }

static int set_fs(void) {
    if (unshare(CLONE_FS) != 0) return -1;
    return chdir("/usr");
}
static int is_fs(void) {
    char b[200];
    return getcwd(b, sizeof b) && strcmp(b, "/usr") == 0;
}

static int cpus_there(void) {
    cpu_set_t s;
    return sched_getaffinity(0, sizeof s, &s) == 0 ? CPU_COUNT(&s) : 0;
}
static int set_cpu(void) {
    cpu_set_t s, one;
    if (sched_getaffinity(0, sizeof s, &s) != 0 || CPU_COUNT(&s) < 2) return -1;
    int cpu = 0;
    while (!CPU_ISSET(cpu, &s)) ++cpu;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    return sched_setaffinity(0, sizeof one, &one);
}
static int is_cpu(void) { return cpus_there() == 1; }

static int set_pdeath(void) { return prctl(PR_SET_PDEATHSIG, SIGUSR2, 0, 0, 0); }
static int is_pdeath(void) {
    int s = 0;
    return prctl(PR_GET_PDEATHSIG, &s, 0, 0, 0) == 0 && s == SIGUSR2;
}

static int set_memory(void) { return (int)syscall(SYS_set_mempolicy, 4 /* MPOL_LOCAL */, NULL, 0); }
static int is_memory(void) {
    int mode = 0;
    return syscall(SYS_get_mempolicy, &mode, NULL, 0, NULL, 0) == 0 && mode == 4;
}

static int set_user(void) { return (int)syscall(SYS_setresuid, -1, 4321, -1); }
static int is_user(void) { return geteuid() == 4321; }

static const struct kind {
    const char *name;
    int (*set)(void), (*is)(void), is_not_inherited;
} kinds[] = {
    {"nice", set_nice, is_nice, 0},
    {"nicer", set_nicer, is_nicer, 0},
    {"batch", set_batch, is_batch, 0},
    {"ioprio", set_ioprio, is_ioprio, 0},
    {"slack", set_slack, is_slack, 0},
    {"nnp", set_nnp, is_nnp, 0},
    {"filter", set_filter, is_filtered, 0},
    {"caps", set_caps, has_dropped, 0},
    {"fsuid", set_fsuid, is_fsuid, 0},
    {"persona", set_persona, is_persona, 0},
    {"fs", set_fs, is_fs, 0},
    {"cpu", set_cpu, is_cpu, 0},
    {"pdeath", set_pdeath, is_pdeath, 1},
    {"memory", set_memory, is_memory, 0},
    {"user", set_user, is_user, 0},
};
enum { number_of_kinds = sizeof kinds / sizeof *kinds };
static const struct kind *kind;

// ---- What threads do with it

static int wrong;
static void expect(int has, const char *whose) {
    if (kind->is() == has) return;
    if (__atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED) < 3)
        printf("%s: %s %s it\n", kind->name, whose, has ? "has lost" : "has got");
}
static void work(void) {
    for (volatile int i = 0; i < 200000; ++i)
        ;
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int steps;
static void next_step(void) {
    pthread_mutex_lock(&mutex);
    ++steps;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
}
static void await_step(int n) {
    pthread_mutex_lock(&mutex);
    while (steps < n) pthread_cond_wait(&changed, &mutex);
    pthread_mutex_unlock(&mutex);
}

static void run_all(void *(*fn)(void *), int n, void *arg) {
    pthread_t t[16];
    for (int i = 0; i < n; ++i)
        if (pthread_create(&t[i], NULL, fn, arg) != 0) abort();
    for (int i = 0; i < n; ++i) pthread_join(t[i], NULL);
}

static void *without(void *whose) {
    work();
    sched_yield();
    expect(0, whose);
    return NULL;
}
static void *inherits(void *whose) {
    expect(!kind->is_not_inherited, whose);
    work();
    usleep(100);
    expect(!kind->is_not_inherited, whose);
    return NULL;
}
static void *inherits_and_creates(void *arg) {
    inherits(arg);
    run_all(inherits, 2, "a thread created by an heir");
    return inherits(arg);
}
static void live_with_it(int creates) {
    for (int i = 0; i < 5; ++i) {
        expect(1, "the thread that has set it");
        work();
        usleep(200);
        pthread_mutex_lock(&mutex);
        work();
        pthread_mutex_unlock(&mutex);
        sched_yield();
    }
    if (creates) run_all(inherits_and_creates, 3, "a thread created by the one that has set it");
    expect(1, "the thread that has set it");
}

static void *setter(void *skip) {
    expect(0, "a thread before");
    if (kind->set() != 0) return *(int *)skip = 1, NULL;
    live_with_it(1);
    return NULL;
}
static void in_thread(void) {
    int skip = 0;
    pthread_t t[5];
    run_all(without, 4, "a thread before");
    pthread_create(&t[0], NULL, setter, &skip);
    for (int i = 1; i < 5; ++i) pthread_create(&t[i], NULL, without, "another thread");
    for (int i = 0; i < 5; ++i) pthread_join(t[i], NULL);
    run_all(without, 8, "a later thread");
    expect(0, "main");
    if (skip) printf("%s: not allowed\n", kind->name);
}

static void *lives_beside(void *arg) {
    (void)arg;
    next_step();
    await_step(2);
    for (int i = 0; i < 3; ++i) {
        expect(0, "a thread that was there before");
        work();
        usleep(100);
        run_all(without, 3, "a thread created by one that was there before");
    }
    return NULL;
}
static void in_main(void) {
    pthread_t beside;
    run_all(without, 4, "a thread before");
    pthread_create(&beside, NULL, lives_beside, NULL);
    await_step(1);
    const int allowed = kind->set() == 0;
    if (allowed) live_with_it(1);
    if (allowed) next_step();
    if (!allowed) {
        printf("%s: not allowed\n", kind->name);
        next_step();
    }
    pthread_join(beside, NULL);
    if (allowed) live_with_it(0);
}

// By the process' number the first thread is meant, also by a thread on its kernel thread. It may be refused.
static int first_has_it;
static void *sets_for_first(void *unused) {
    const int failed = setpriority(PRIO_PROCESS, (id_t)getpid(), nice_at_start + 1);
    if (failed == 0) first_has_it = 1;
    if (failed != 0 && errno != EPERM) ++wrong, perror("setpriority");
    if (gettid() == getpid()) ++wrong;
    expect(0, "the thread that has set it for main");
    work();
    sched_yield();
    expect(0, "the thread that has set it for main");
    return unused;
}
static void for_main(void) {
    if (strcmp(kind->name, "nice") != 0 || nice_at_start >= 18) return;
    for (int i = 0; i < 4; ++i) run_all(without, 4, "a thread before");
    run_all(sets_for_first, 1, NULL);
    expect(first_has_it, "main");
    run_all(without, first_has_it ? 0 : 4, "a later thread");
}

#ifdef _OPENMP
static void region(int ranks, int setter, int has) { // `has`: which ranks have it, as bits
#pragma omp parallel num_threads(ranks)
    {
        const int me = omp_get_thread_num();
        if (me == setter && kind->set() != 0) __atomic_fetch_add(&wrong, 1000, __ATOMIC_RELAXED);
        for (int i = 0; i < 20; ++i) {
            work();
            char whose[40];
            snprintf(whose, sizeof whose, "rank %d of %d", me, ranks);
            expect(has >> me & 1, whose);
#pragma omp barrier
        }
    }
}
// As on libgomp, whose threads live on: a rank keeps it for later regions, and new ones inherit from the master.
static void in_rank(void) {
    region(4, -1, 0);
    region(4, 2, 4);
    if (wrong >= 1000) return wrong = 0, (void)printf("%s: not allowed\n", kind->name);
    for (int i = 0; i < 5; ++i) region(4, -1, 4);
    expect(0, "main");
}
static void in_master(void) {
    region(3, -1, 0);
    region(3, 0, 1);
    if (wrong >= 1000) return wrong = 0, (void)printf("%s: not allowed\n", kind->name);
    for (int i = 0; i < 5; ++i) region(3, -1, 1);
    expect(1, "main");
    const int heirs = kind->is_not_inherited ? 0 : 8 | 16;
    region(5, -1, 1 | heirs);
    run_all(inherits, 2, "a thread created by main");
    expect(1, "main");
}
// A thread's ranks inherit from it, also where another thread has opened regions before on what is now its storage.
static void *open_without(void *unused) {
    region(3, -1, 0);
    return unused;
}
static void *open_with(void *unused) {
    if (kind->set() != 0)
        wrong = 1000;
    else
        region(3, -1, kind->is_not_inherited ? 1 : 7);
    return unused;
}
static void in_later_thread(void) {
    for (int i = 0; i < 3; ++i) {
        pthread_t t;
        if (pthread_create(&t, NULL, open_without, NULL) != 0) abort();
        pthread_join(t, NULL);
        if (pthread_create(&t, NULL, open_with, NULL) != 0) abort();
        pthread_join(t, NULL);
        if (wrong >= 1000) return wrong = 0, (void)printf("%s: not allowed\n", kind->name);
    }
    expect(0, "main");
}
#endif

static const struct way {
    const char *name;
    void (*go)(void);
} ways[] = {
    {"in_thread", in_thread}, {"in_main", in_main},     {"for_main", for_main},
#ifdef _OPENMP
    {"in_rank", in_rank},     {"in_master", in_master}, {"in_later_thread", in_later_thread},
#endif
};
enum { number_of_ways = sizeof ways / sizeof *ways };

int main(int argc, char **argv) {
    if (argc > 2) {
        if (chdir("/tmp") != 0) return 2;
        nice_at_start = getpriority(PRIO_PROCESS, 0);
        for (int i = 0; i < number_of_kinds; ++i)
            if (strcmp(argv[2], kinds[i].name) == 0) kind = &kinds[i];
        for (int i = 0; i < number_of_ways; ++i)
            if (strcmp(argv[1], ways[i].name) == 0) ways[i].go();
        fflush(stdout);
        return wrong != 0;
    }
    int failed = 0;
    for (int w = 0; w < number_of_ways; ++w) {
        if (argc > 1 && strcmp(argv[1], ways[w].name) != 0) continue;
        for (int i = 0; i < number_of_kinds; ++i) {
            char *arguments[] = {argv[0], (char *)ways[w].name, (char *)kinds[i].name, NULL};
            int status = 1;
            pid_t child;
            if (posix_spawn(&child, argv[0], NULL, NULL, arguments, environ) != 0 || waitpid(child, &status, 0) < 0 ||
                status != 0) {
                printf("%s %s: wrong (status %d)\n", ways[w].name, kinds[i].name, status);
                ++failed;
            }
        }
    }
    printf("%d wrong\n", failed);
    return failed != 0;
}
