// Ranks of several threads' regions look again and again for a lock whose holder sleeps meanwhile, and then stands in
// the queue of the threads: the hart goes back there, with nobody who would take it off the ranks.
// ./lock_polled_beside simple|nested|mutex
#include "check.h"
#include <omp.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static omp_lock_t lock;
static omp_nest_lock_t nested;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static int test_simple(void) { return omp_test_lock(&lock); }
static void unset_simple(void) { omp_unset_lock(&lock); }
static int test_nested(void) { return omp_test_nest_lock(&nested); }
static void unset_nested(void) { omp_unset_nest_lock(&nested); }
static int test_mutex(void) { return pthread_mutex_trylock(&mutex) == 0; }
static void unset_mutex(void) { pthread_mutex_unlock(&mutex); }

static const struct kind {
    const char *name;
    int (*test)(void);
    void (*unset)(void);
} kinds[] = {
    {"simple", test_simple, unset_simple}, {"nested", test_nested, unset_nested}, {"mutex", test_mutex, unset_mutex}};

enum { threads = 2, ranks = 2, rounds = 50 };
static int had;

static void *poll_in_region(void *argument) {
    const struct kind *k = argument;
#pragma omp parallel num_threads(ranks)
    for (int i = 0; i < rounds; ++i) {
        while (!k->test()) {
        }
        ++had;
        usleep(20);
        k->unset();
#pragma omp barrier
    }
    return NULL;
}

int main(int count, char **words) {
    witness_comity();
    omp_init_lock(&lock);
    omp_init_nest_lock(&nested);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; ++i) {
        if (count != 2 || strcmp(words[1], kinds[i].name) != 0) continue;
        pthread_t made[threads];
        for (int t = 0; t < threads; ++t)
            if (pthread_create(&made[t], NULL, poll_in_region, (void *)&kinds[i]) != 0) abort();
        for (int t = 0; t < threads; ++t) pthread_join(made[t], NULL);
        CHECK_EQUAL(had, threads * ranks * rounds);
        return report();
    }
    return 2;
}
