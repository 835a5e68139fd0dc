// Ranks of several threads' regions look again and again for a lock whose holder sleeps meanwhile, and then stands in
// the queue of the threads: the hart goes back there, with nobody who would take it off the ranks.
// ./lock_polled_beside simple|nested|mutex
// Ranks that have the lock again and again meanwhile wait for none without a hart: they keep theirs, and go on on no
// kernel thread of their own.
// ./lock_polled_beside getting_on
#include "check.h"
#include <omp.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
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

static int seen, seen_away;

// A lock that nobody gives back, and in between one that the rank has to itself.
static void *take_in_region(void *argument) {
    (void)argument;
#pragma omp parallel num_threads(2 * ranks) reduction(+ : seen, seen_away)
    {
        char name[17] = "";
        omp_lock_t own;
        omp_init_lock(&own);
        for (int i = 1; i < 400000; ++i)
            if (omp_test_lock(i % 200 ? &lock : &own)) omp_unset_lock(&own);
        omp_destroy_lock(&own);
        prctl(PR_GET_NAME, name, 0, 0, 0);
        ++seen;
        seen_away += strcmp(name, "comity-donor") == 0;
    }
    return NULL;
}

// On a busy machine a rank may lose its core between two looks, and be taken for one that stands still.
static int get_on(void) {
    pthread_t made[threads];
    omp_set_lock(&lock);
    for (int t = 0; t < threads; ++t)
        if (pthread_create(&made[t], NULL, take_in_region, NULL) != 0) abort();
    for (int t = 0; t < threads; ++t) pthread_join(made[t], NULL);
    CHECK_EQUAL(seen, 2 * threads * ranks);
    CHECK(seen_away <= seen / 2);
    return report();
}

int main(int count, char **words) {
    witness_comity();
    omp_init_lock(&lock);
    omp_init_nest_lock(&nested);
    if (count == 2 && strcmp(words[1], "getting_on") == 0) return get_on();
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
