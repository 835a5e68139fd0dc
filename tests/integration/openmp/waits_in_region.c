// POSIX threads open regions, and their ranks wait for other POSIX threads.
// ./waits_in_region slices|active
#include "python_lock.h"
#include <omp.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

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
