// `sleeps THREADS`: the threads of a region sleep all at once, although there are fewer harts.
#include <omp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv) {
    const int threads = argc == 2 ? atoi(argv[1]) : 0;
    if (threads < 2) {
        fprintf(stderr, "usage: sleeps THREADS\n");
        return 2;
    }
    for (int how = 0; how < 2; ++how) {
        atomic_int inside = 0, most = 0, all = 0;
#pragma omp parallel num_threads(threads)
        {
            if (omp_get_thread_num() != 0) { // the program's own thread sleeps in the kernel, where handlers end it
                int now = atomic_fetch_add(&inside, 1) + 1, before = atomic_load(&most);
                while (now > before && !atomic_compare_exchange_weak(&most, &before, now)) {
                }
                const struct timespec time = {0, 300000000};
                how == 0 ? usleep(300000) : nanosleep(&time, NULL);
                atomic_fetch_sub(&inside, 1);
            }
#pragma omp barrier
            atomic_fetch_add(&all, 1);
        }
        if (atomic_load(&all) != threads) return 3;
        if (atomic_load(&most) != threads - 1) {
            fprintf(stderr, "sleeps: %d of %d at once\n", atomic_load(&most), threads - 1);
            return 1;
        }
    }
    return 0;
}
