// Threads sleep in system calls made without the C library, in a process of which the kernel does not tell who sleeps
// where (/proc/self/task/ID/syscall): it has changed its user, or cannot be dumped. The others go on nevertheless.
//     calls_not_told CALL SLEEPERS       CALL: read (the kernel begins it anew), poll (that ends with EINTR, and may
//     not
//                                        show), number (the same by a number that does not stand before the call)
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { workers = 4, rounds = 200, most = 16 };
static int ends[2], turn, wrong;
static const char *call;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

#if defined(__x86_64__)
static long call_system(long number, long a, long b, long c) {
    long result = number;
    __asm__ volatile("syscall" : "+a"(result) : "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
    return result;
}
static long raw_poll(struct pollfd *p) {
    long result;
    __asm__ volatile("movl $7, %%eax\n\tsyscall" : "=a"(result) : "D"(p), "S"(1L), "d"(-1L) : "rcx", "r11", "memory");
    return result;
}
static long raw_poll_by_number(struct pollfd *p) {
    static volatile long number = SYS_poll;
    return call_system(number, (long)p, 1, -1);
}
#else
static long call_system(long number, long a, long b, long c) {
    const long result = syscall(number, a, b, c);
    return result == -1 ? -errno : result;
}
static long raw_poll(struct pollfd *p) { return poll(p, 1, -1); }
static long raw_poll_by_number(struct pollfd *p) { return raw_poll(p); }
#endif

static void *sleep_in_call(void *argument) {
    char c = 0;
    struct pollfd p = {ends[0], POLLIN, 0};
    long n = 1;
    if (strcmp(call, "poll") == 0)
        n = raw_poll(&p);
    else if (strcmp(call, "number") == 0)
        while ((n = raw_poll_by_number(&p)) == -EINTR) continue;
    if (n == 1) n = call_system(SYS_read, ends[0], (long)&c, 1);
    if (n != 1 || c != 'x') __atomic_add_fetch(&wrong, 1, __ATOMIC_RELAXED);
    return argument;
}

static void *take_turns(void *argument) {
    for (int i = 0; i < rounds; ++i) {
        pthread_mutex_lock(&mutex);
        while (turn % workers != (int)(long)argument) pthread_cond_wait(&condition, &mutex);
        ++turn;
        pthread_cond_broadcast(&condition);
        pthread_mutex_unlock(&mutex);
        if (i % 50 == 0) usleep(1000);
    }
    return 0;
}

// As who is not root cannot do otherwise.
static int hide(void) {
    if (prctl(PR_SET_DUMPABLE, 0) != 0) return 0;
    return geteuid() != 0 || (setgroups(0, 0) == 0 && setgid(65534) == 0 && setuid(65534) == 0);
}

int main(int n, char **words) {
    const int sleepers = n > 2 ? atoi(words[2]) : 2;
    call = n > 1 ? words[1] : "read";
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%ld/syscall", (long)getpid());
    if (sleepers > most || pipe(ends) != 0 || !hide()) return 2;
    const int told = open(path, O_RDONLY);
    if (told >= 0) return puts("the kernel tells nevertheless"), 77;
    pthread_t s[most], t[workers];
    for (int i = 0; i < sleepers; ++i) pthread_create(s + i, 0, sleep_in_call, 0);
    usleep(20000);
    for (long i = 0; i < workers; ++i) pthread_create(t + i, 0, take_turns, (void *)i);
    for (int i = 0; i < workers; ++i) pthread_join(t[i], 0);
    for (int i = 0; i < sleepers; ++i)
        if (write(ends[1], "x", 1) != 1) return 3;
    for (int i = 0; i < sleepers; ++i) pthread_join(s[i], 0);
    printf("turns: %d, wrong: %d\n", turn, wrong);
    return 0;
}
