/* A library between a program and libcomity's constructors that has a thread, which it ends before a fork and starts
 * again after it, as OpenBLAS does. */
#include <pthread.h>
#include <stdio.h>

int ended_before_forks(void);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_t helper;
static int stop, ended;

static void *wait_for_the_end(void *unused) {
    pthread_mutex_lock(&lock);
    while (!stop) pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    return unused;
}

static void start_helper(void) {
    stop = 0;
    pthread_create(&helper, NULL, wait_for_the_end, NULL);
}

static void end_helper(void) {
    pthread_mutex_lock(&lock);
    stop = 1;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    pthread_join(helper, NULL);
    ++ended;
}

__attribute__((constructor)) static void watch_forks(void) {
    start_helper();
    pthread_atfork(end_helper, start_helper, start_helper);
}

__attribute__((visibility("default"))) int ended_before_forks(void) { return ended; }
