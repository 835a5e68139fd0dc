// A program that creates a thread, and is started by a shell which `comity run` has started. usage: started_in_turn
// kernels|comitys; exits with 0 if its mutexes are as the C library makes them, or if that does not matter, and if its
// waits end as the C library's
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int are_kernels, wrong;
static sem_t ended;
static pthread_mutex_t made_static = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

// Chromium's sandbox finds the C library's field for a thread's id by this.
static void look(pthread_mutex_t *m) {
    pthread_mutex_lock(m);
    pthread_mutex_lock(m);
    if (are_kernels && m->__data.__owner != gettid()) ++wrong;
    pthread_mutex_unlock(m);
    pthread_mutex_unlock(m);
}

// The C library's, with its own ends: by a handler without SA_RESTART, and by a request to cancel.
static pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static sem_t nothing;
static void on_signal(int signal) { (void)signal; }

static void unlock(void *m) { pthread_mutex_unlock(m); }
static void *wait_at_condition(void *unused) {
    pthread_mutex_lock(&plain);
    pthread_cleanup_push(unlock, &plain);
    for (;;) pthread_cond_wait(&never, &plain);
    pthread_cleanup_pop(1);
    return unused;
}
static void *wait_at_semaphore(void *unused) {
    if (sem_wait(&nothing) != -1 || errno != EINTR) ++wrong;
    sem_post(&ended);
    for (;;) sem_wait(&nothing);
    return unused;
}

static void end_waits(void) {
    struct sigaction a = {.sa_handler = on_signal};
    sigaction(SIGUSR1, &a, NULL);
    sem_init(&nothing, 0, 0);
    pthread_t c, s;
    pthread_create(&c, NULL, wait_at_condition, NULL);
    pthread_create(&s, NULL, wait_at_semaphore, NULL);
    struct timespec soon = {0, 0};
    do {
        pthread_kill(s, SIGUSR1);
        clock_gettime(CLOCK_REALTIME, &soon);
        if ((soon.tv_nsec += 10000000) >= 1000000000) soon.tv_sec++, soon.tv_nsec -= 1000000000;
    } while (sem_timedwait(&ended, &soon) != 0);
    pthread_t all[] = {c, s};
    for (int i = 0; i < 2; i++) {
        void *result = NULL;
        pthread_cancel(all[i]);
        pthread_join(all[i], &result);
        if (result != PTHREAD_CANCELED) ++wrong;
    }
}

static void *work(void *made) {
    look(made);
    look(&made_static);
    sem_post(&ended);
    return NULL;
}

int main(int argc, char **argv) {
    are_kernels = argc > 1 && strcmp(argv[1], "kernels") == 0;
    pthread_mutexattr_t a;
    pthread_mutex_t made;
    pthread_mutexattr_init(&a);
    pthread_mutexattr_settype(&a, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&made, &a);
    sem_init(&ended, 0, 0);
    pthread_t t;
    if (pthread_create(&t, NULL, work, &made) != 0) return 2;
    sem_wait(&ended);
    pthread_join(t, NULL);
    work(&made);
    end_waits();
    if (wrong == 0) printf("all is well\n");
    return wrong != 0;
}
