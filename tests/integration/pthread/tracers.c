// Threads that trace a process, which they have forked or to which they attach, and wait at a condition variable
// between two of its system calls, while others work. Skipped where the kernel refuses.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

enum { workers = 3, rounds = 3, calls = 30, not_here = 77 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int turn = 0; // under lock
static atomic_int over = 0;

static void *works(void *nothing) {
    while (!atomic_load(&over)) {
        pthread_mutex_lock(&lock);
        ++turn;
        pthread_cond_broadcast(&changed);
        pthread_mutex_unlock(&lock);
        usleep(100);
    }
    return nothing;
}

static void await_a_turn(void) {
    pthread_mutex_lock(&lock);
    for (const int before = turn; turn == before;) pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
}

static _Noreturn void make_calls(void) {
    for (;;) getppid();
}

static pid_t fork_traced(void) {
    const pid_t child = fork();
    if (child != 0) return child;
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0) _exit(not_here);
    raise(SIGSTOP);
    make_calls();
}

// 0 or what the thread's result is to be.
static int trace(pid_t child) {
    int status = 0;
    if (waitpid(child, &status, __WALL) != child) return perror("waitpid"), 1;
    if (WIFEXITED(status)) return WEXITSTATUS(status);
    for (int i = 0; i < calls; ++i) {
        await_a_turn();
        if (ptrace(PTRACE_SYSCALL, child, NULL, NULL) != 0) return printf("call %d: %s\n", i, strerror(errno)), 1;
        if (waitpid(child, &status, __WALL) != child || !WIFSTOPPED(status)) return printf("status %#x\n", status), 1;
    }
    return 0;
}

static void end(pid_t child) {
    kill(child, SIGKILL);
    waitpid(child, NULL, __WALL);
}

static void *traces_its_child(void *out) {
    const pid_t child = fork_traced();
    *(int *)out = child < 0 ? 1 : trace(child);
    end(child);
    return NULL;
}

static pid_t stranger;
static void *attaches(void *out) {
    if (ptrace(PTRACE_ATTACH, stranger, NULL, NULL) != 0)
        *(int *)out = errno == EPERM ? not_here : (perror("attach"), 1);
    else
        *(int *)out = trace(stranger);
    kill(stranger, SIGKILL);
    return NULL;
}

static int run(void *(*tracer)(void *)) {
    int result = 1;
    pthread_t t;
    if (pthread_create(&t, NULL, tracer, &result) == 0) pthread_join(t, NULL);
    return result;
}

int main(void) {
    pthread_t t[workers];
    int result = 0;
    for (int i = 0; i < workers; ++i)
        if (pthread_create(&t[i], NULL, works, NULL) != 0) return 2;
    for (int i = 0; i < rounds && result == 0; ++i) {
        result = run(traces_its_child);
        if (result != 0) break;
        stranger = fork();
        if (stranger == 0) make_calls();
        result = run(attaches);
        waitpid(stranger, NULL, 0);
    }
    atomic_store(&over, 1);
    for (int i = 0; i < workers; ++i) pthread_join(t[i], NULL);
    return result;
}
