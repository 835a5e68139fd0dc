// POSIX threads open regions, and their ranks wait for other POSIX threads.
// ./waits_in_region slices|active
#include <omp.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t released = PTHREAD_COND_INITIALIZER;
static int held;

static struct timespec after_ms(long ms) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_nsec += ms * 1000000;
    t.tv_sec += t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    return t;
}

// As Python takes and drops its global lock.
static void take(void) {
    pthread_mutex_lock(&lock);
    while (held) {
        const struct timespec until = after_ms(5);
        pthread_cond_timedwait(&released, &lock, &until);
    }
    held = 1;
    pthread_mutex_unlock(&lock);
}
static void drop(void) {
    pthread_mutex_lock(&lock);
    held = 0;
    pthread_cond_signal(&released);
    pthread_mutex_unlock(&lock);
}

static void compute_us(long us) {
    struct timespec from, now;
    clock_gettime(CLOCK_MONOTONIC, &from);
    do clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - from.tv_sec) * 1000000 + (now.tv_nsec - from.tv_nsec) / 1000 < us);
}

// ---- Threads that have computed for longer than a slice, so that they open the next regions without a hart.

static atomic_int ranks_done;

static void *compute_and_open(void *unused) {
    (void)unused;
    for (int i = 0; i < 4; ++i) {
        take();
        compute_us(40000);
        drop();
        for (int r = 0; r < 10; ++r) {
#pragma omp parallel num_threads(2)
            {
                compute_us(300);
                take();
                compute_us(100);
                drop();
#pragma omp barrier
                ++ranks_done;
            }
        }
    }
    return NULL;
}

static int slices(void) {
    enum { threads = 4 };
    pthread_t all[threads];
    for (int i = 0; i < threads; ++i)
        if (pthread_create(&all[i], NULL, compute_and_open, NULL)) abort();
    for (int i = 0; i < threads; ++i) pthread_join(all[i], NULL);
    return ranks_done == threads * 4 * 10 * 2;
}

// ---- A thread that gets its hart only from the ranks that wait for it.

static sem_t go;
static atomic_int arrived;

static void *release(void *unused) {
    (void)unused;
    sem_wait(&go);
    drop();
    return NULL;
}

static void *wait_with_all_harts(void *unused) {
    (void)unused;
#pragma omp parallel num_threads(2)
    {
        ++arrived;
        while (arrived != 2) __asm__ volatile("" ::: "memory");
        if (omp_get_thread_num() == 0) sem_post(&go);
        take();
        drop();
    }
    return NULL;
}

static int active(void) {
    pthread_t opener, releaser;
    sem_init(&go, 0, 0);
    held = 1;
    if (pthread_create(&releaser, NULL, release, NULL) || pthread_create(&opener, NULL, wait_with_all_harts, NULL))
        abort();
    return pthread_join(opener, NULL) == 0 && pthread_join(releaser, NULL) == 0;
}

int main(int argc, char **argv) {
    const char *how = argc > 1 ? argv[1] : "";
    const int good = strcmp(how, "active") == 0 ? active() : slices();
    return good ? 0 : 1;
}
