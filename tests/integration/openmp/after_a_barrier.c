// Two ranks with two harts run at the same time after a barrier, whoever had come to it first: each waits for the other
// in a loop of its own, and nobody helps them (COMITY_STALL_MS=0), so where one has no hart the test never ends. The
// region's second hart sleeps before each, so rank 0 mostly takes up the other rank while it waits at the barrier.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <omp.h>

static void *nothing(void *argument) { return argument; }

static void pause_ms(int ms) { nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000L}, NULL); }

// Between barriers rank 1 waits for rank 0, and never rank 0 for rank 1: nothing but a barrier parts them.
static void follow(int rounds) {
    atomic_int reached = 0;
#pragma omp parallel num_threads(2)
    for (int i = 1; i <= rounds; ++i) {
        if (omp_get_thread_num() == 0) {
            atomic_store(&reached, i);
        } else {
            while (atomic_load(&reached) < i) {
            }
        }
#pragma omp barrier
    }
}

int main(int count, char **words) {
    // "threads": the program's own threads have been on the harts, too, and so is this one.
    if (count > 1 && strcmp(words[1], "threads") == 0) {
        pthread_t t;
        if (pthread_create(&t, NULL, nothing, NULL) != 0 || pthread_join(t, NULL) != 0) return 2;
    }
    enum { regions = 40 };
    static atomic_int met[regions];
    for (int i = 0; i < regions; ++i) {
        pause_ms(i % 8);
        atomic_int ranks = 0;
#pragma omp parallel num_threads(2)
        {
            atomic_store(&ranks, omp_get_num_threads());
#pragma omp barrier
            atomic_fetch_add(&met[i], 1);
            while (atomic_load(&met[i]) < ranks) {
            }
        }
        if (ranks != 2) {
            fprintf(stderr, "region %d had %d ranks\n", i, ranks);
            return 1;
        }
        pause_ms(i % 4);
        follow(1 + i % 6);
    }
    puts("all met");
    return 0;
}
