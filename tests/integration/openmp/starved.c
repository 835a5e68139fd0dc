// Regions that are opened one after the other, without end, keep all harts, and never stop for long enough to be found
// in a loop: those that wait for a hart meanwhile have one, or a kernel thread, all the same. Ends when they have had
// it.
// ./starved main|ranks|outside
// main: POSIX threads open regions; the first thread, which has slept, opens some, too.
// ranks: two of four ranks open regions below; the others have not started.
// outside: all ranks do; a thread of the program's that is in no region opens one.
#include <omp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static atomic_int is_over, started;

static void open_region(void) {
#pragma omp parallel num_threads(2)
    for (int i = 0; i < 20000; ++i) __asm__ volatile("" ::: "memory");
}

static void *open_regions(void *unused) {
    while (!is_over) open_region();
    return unused;
}

static int beside_threads(void) {
    pthread_t openers[2];
    for (int i = 0; i < 2; ++i)
        if (pthread_create(&openers[i], NULL, open_regions, NULL) != 0) return 1;
    for (int i = 0; i < 10; ++i) {
        usleep(10000);
        open_region();
    }
    is_over = 1;
    for (int i = 0; i < 2; ++i) pthread_join(openers[i], NULL);
    return 0;
}

static int beside_ranks(void) {
#pragma omp parallel num_threads(4)
    if (omp_get_thread_num() < 2)
        open_regions(NULL);
    else if (++started == 2)
        is_over = 1;
    return 0;
}

static void *open_one(void *unused) {
    while (!started) usleep(1000);
    open_region();
    is_over = 1;
    return unused;
}

static int from_outside(void) {
    pthread_t t;
    if (pthread_create(&t, NULL, open_one, NULL) != 0) return 1;
#pragma omp parallel num_threads(omp_get_num_procs())
    {
        started = 1;
        open_regions(NULL);
    }
    return pthread_join(t, NULL);
}

int main(int argc, char **argv) {
    const char *how = argc > 1 ? argv[1] : "main";
    omp_set_max_active_levels(3);
    const double begin = omp_get_wtime();
    const int error = strcmp(how, "main") == 0    ? beside_threads()
                      : strcmp(how, "ranks") == 0 ? beside_ranks()
                                                  : from_outside();
    printf("after %.3f s\n", omp_get_wtime() - begin);
    return error;
}
