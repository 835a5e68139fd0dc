// A thread of the program's beside a long parallel region, which has all harts: it goes on again and again, as it would
// on a core that the kernel shares. ./beside_region loop|calls|tasks|late|openers
// openers: three threads open one short region after the other; the first thread waits for the time to pass, too.
#include <math.h>
#include <omp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static atomic_int region_is_over, looks;
static double longest_gap;

static void *look(void *unused) {
    (void)unused;
    double last = omp_get_wtime();
    while (!region_is_over) {
        usleep(20000);
        const double now = omp_get_wtime();
        if (now - last > longest_gap) longest_gap = now - last;
        last = now;
        ++looks;
    }
    return NULL;
}

static void *open_regions(void *unused) {
    (void)unused;
    atomic_int bodies = 0;
    int regions = 0;
    for (; !region_is_over; ++regions) {
#pragma omp parallel num_threads(4)
        {
            for (int i = 0; i < 5000; ++i) __asm__ volatile("" ::: "memory");
            ++bodies;
        }
    }
    if (bodies != 4 * regions) exit(1);
    return NULL;
}

// The first thread, which only its own kernel thread can carry on, comes to its turn between the regions, too.
static int beside_openers(double length) {
    pthread_t openers[3], t;
    if (pthread_create(&t, NULL, look, NULL) != 0) return 1;
    for (int i = 0; i < 3; ++i)
        if (pthread_create(&openers[i], NULL, open_regions, NULL) != 0) return 1;
    const double begin = omp_get_wtime(), end = begin + length;
    int mine = 0;
    for (; omp_get_wtime() < end; ++mine) usleep(20000);
    const double late = omp_get_wtime() - end;
    region_is_over = 1;
    for (int i = 0; i < 3; ++i) pthread_join(openers[i], NULL);
    pthread_join(t, NULL);
    printf("%d looks, the longest gap %.3f s; the first thread %d, %.3f s late\n", looks, longest_gap, mine, late);
    return looks >= 5 && longest_gap < length / 2 && mine >= 5 && late < length / 2 ? 0 : 1;
}

static double compute(int calls) {
    double sum = 0;
    for (int i = 1; i < 20000; ++i) sum += calls ? fmod(sum + i, 7) : sum / i + i;
    return sum;
}

int main(int argc, char **argv) {
    const char *how = argc > 1 ? argv[1] : "loop";
    const int calls = strcmp(how, "calls") == 0, tasks = strcmp(how, "tasks") == 0, late = strcmp(how, "late") == 0;
    const double length = 2;
    if (strcmp(how, "openers") == 0) return beside_openers(length);
    double sum = 0;
    pthread_t t;
    if (!late && pthread_create(&t, NULL, look, NULL) != 0) return 1;
    usleep(50000);
    const double end = omp_get_wtime() + length;
#pragma omp parallel reduction(+ : sum)
    {
        if (late && omp_get_thread_num() == 0 && pthread_create(&t, NULL, look, NULL) != 0) exit(1);
        if (tasks) {
#pragma omp single
            for (int i = 0; i < 64; ++i) {
#pragma omp task
                {
                    volatile double kept = 0;
                    while (omp_get_wtime() < end) kept += compute(0);
                }
            }
        } else {
            while (omp_get_wtime() < end) sum += compute(calls);
        }
    }
    region_is_over = 1;
    pthread_join(t, NULL);
    printf("%d looks, the longest gap %.3f s (%g)\n", looks, longest_gap, sum);
    return looks >= 5 && longest_gap < length / 2 ? 0 : 1;
}
