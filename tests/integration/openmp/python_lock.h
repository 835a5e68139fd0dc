/* A lock that is taken and dropped as Python does it with its global one: who waits for it looks again every 5 ms. */
#ifndef COMITY_TEST_PYTHON_LOCK_H
#define COMITY_TEST_PYTHON_LOCK_H

#include <pthread.h>
#include <time.h>

static pthread_mutex_t python_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t python_released = PTHREAD_COND_INITIALIZER;
static int held;

static void take(void) {
    pthread_mutex_lock(&python_mutex);
    while (held) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += 5000000;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&python_released, &python_mutex, &until);
    }
    held = 1;
    pthread_mutex_unlock(&python_mutex);
}

static void drop(void) {
    pthread_mutex_lock(&python_mutex);
    held = 0;
    pthread_cond_signal(&python_released);
    pthread_mutex_unlock(&python_mutex);
}

static void compute_us(long us) {
    struct timespec from, now;
    clock_gettime(CLOCK_MONOTONIC, &from);
    do clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - from.tv_sec) * 1000000 + (now.tv_nsec - from.tv_nsec) / 1000 < us);
}

#endif
