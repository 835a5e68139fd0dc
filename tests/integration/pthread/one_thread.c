// What the kernel does only for a process of one thread, in the child of a fork of a process that has had threads; and
// the end of the thread that has forked, which its child may ask to be told of.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t handled;
static void on_signal(int s) {
    (void)s;
    ++handled;
}
static void *nothing(void *arg) { return arg; }
static void *sends(void *to) {
    usleep(1000);
    pthread_kill(*(pthread_t *)to, SIGUSR1);
    return NULL;
}
static void *sleeps(void *arg) {
    usleep(2000);
    return arg;
}
static void run(void *(*fn)(void *), void *arg) {
    pthread_t t;
    if (pthread_create(&t, NULL, fn, arg) != 0) abort();
    pthread_join(t, NULL);
}

// 0: as it should be; 1: not; 2: not allowed here.
static int has_a_namespace_of_its_own(void) {
    if (unshare(CLONE_NEWUSER) != 0) {
        if (errno != EINVAL) return 2;
        return puts("unshare: the process has other threads"), 1;
    }
    // What ended for it is there again.
    pthread_t self = pthread_self();
    kill(getpid(), SIGUSR1);
    run(sleeps, NULL);
    run(sends, &self);
    for (int i = 0; i < 1000 && handled < 2; ++i) usleep(10000);
    if (handled < 2) return printf("%d of 2 signals\n", (int)handled), 1;
    return 0;
}
static int child_says(int (*what)(void)) {
    int status = 0;
    const pid_t child = fork();
    if (child == 0) _exit(what());
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
static void *forks(void *result) {
    *(int *)result = child_says(has_a_namespace_of_its_own);
    return NULL;
}
static void *sleeps_and_forks(void *result) {
    usleep(2000);
    return forks(result);
}

static pid_t child;
static void *forks_and_goes_on(void *hold) {
    int ready[2];
    char c = 0;
    if (pipe(ready) != 0) abort();
    child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        if (write(ready[1], &c, 1) != 1) _exit(1);
        for (;;) pause();
    }
    if (read(ready[0], &c, 1) != 1) abort();
    usleep(1000);
    pthread_mutex_lock(hold); // until main has looked
    pthread_mutex_unlock(hold);
    return NULL;
}
static int ends_with_its_thread(void) {
    pthread_mutex_t hold = PTHREAD_MUTEX_INITIALIZER;
    pthread_t t;
    int status = 0, wrong = 0;
    pthread_mutex_lock(&hold);
    pthread_create(&t, NULL, forks_and_goes_on, &hold);
    for (int i = 0; i < 50; ++i) {
        run(sleeps, NULL);
        run(nothing, NULL);
    }
    if (waitpid(child, &status, WNOHANG) != 0) wrong = puts("the child has ended before its thread");
    pthread_mutex_unlock(&hold);
    pthread_join(t, NULL);
    for (int i = 0; i < 2000 && !wrong; ++i) {
        if (waitpid(child, &status, WNOHANG) != 0) return 0;
        usleep(10000);
    }
    if (!wrong) puts("the child goes on after its thread's end");
    kill(child, SIGKILL);
    return 1;
}

int main(void) {
    int in_thread = 0, in_sleeper = 0;
    signal(SIGUSR1, on_signal);
    run(nothing, NULL);
    run(sleeps, NULL);
    const int in_main = child_says(has_a_namespace_of_its_own);
    run(forks, &in_thread);
    run(sleeps_and_forks, &in_sleeper);
    if (in_main == 2) puts("no namespaces of users here");
    const int wrong = in_main == 1 || in_thread == 1 || in_sleeper == 1 || ends_with_its_thread();
    if (wrong) printf("wrong: %d %d %d\n", in_main, in_thread, in_sleeper);
    return wrong;
}
