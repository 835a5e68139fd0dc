// Regions of more threads than harts, whose threads stand by on their harts while they wait.
// `stands_by met THREADS`: all have met in a loop of the program's, so that some have kernel threads of their own, and
// meet at barriers and in an ordered loop then. `stands_by tasks THREADS`: one makes tasks while another one stands by
// on its hart, and the rest waits for a lock: somebody helps. `stands_by alone THREADS`: all come to the barrier on one
// hart, one after the other, and compute behind it: another hart comes.
#include <omp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static void compute(double seconds) {
    const double until = omp_get_wtime() + seconds;
    while (omp_get_wtime() < until) {
    }
}

static int meet(int threads) {
    enum { rounds = 500 };
    atomic_int here = 0, wrong = 0;
    int next = 0;
#pragma omp parallel num_threads(threads)
    {
        atomic_fetch_add(&here, 1);
        while (atomic_load(&here) < threads) {
        }
        for (int i = 1; i <= rounds; ++i) {
#pragma omp barrier
            atomic_fetch_add(&here, 1);
#pragma omp barrier
            if (atomic_load(&here) != (i + 1) * threads) atomic_fetch_add(&wrong, 1);
        }
#pragma omp for ordered schedule(static, 1)
        for (int i = 0; i < rounds; ++i) {
#pragma omp ordered
            if (next++ != i) atomic_fetch_add(&wrong, 1);
        }
    }
    return atomic_load(&wrong) != 0 || next != rounds;
}

static int make_tasks(int threads) {
    enum { tasks = 40 };
    int elsewhere = 0;
    omp_lock_t lock;
    omp_init_lock(&lock);
    for (int again = 0; again < 5; ++again) {
        atomic_int done = 0, others = 0;
        omp_set_lock(&lock);
        compute(1e-2); // the other harts go to sleep
#pragma omp parallel num_threads(threads)
        {
            if (omp_get_thread_num() == 2) {
                compute(1e-3);
                for (int i = 0; i < tasks; ++i) {
#pragma omp task
                    {
                        compute(1e-3);
                        atomic_fetch_add(&done, 1);
                        if (omp_get_thread_num() != 2) atomic_fetch_add(&others, 1);
                    }
                }
#pragma omp taskwait
                omp_unset_lock(&lock);
            } else if (omp_get_thread_num() != 1) {
                omp_set_lock(&lock);
                omp_unset_lock(&lock);
            }
#pragma omp barrier
        }
        if (atomic_load(&done) != tasks) return 1;
        elsewhere += atomic_load(&others);
    }
    omp_destroy_lock(&lock);
    return elsewhere == 0;
}

static int come_alone(int threads, double late) {
    long id[64] = {0};
    int shared = 0;
    for (int again = 0; again < 5; ++again) {
        compute(1e-2); // the other harts go to sleep
#pragma omp parallel num_threads(threads)
        {
            const int me = omp_get_thread_num();
            if (me == threads - 1) compute(late); // the harts that found nothing have gone
#pragma omp barrier
            id[me] = syscall(SYS_gettid);
            compute(1e-2);
        }
        int others = 0;
        for (int i = 1; i < threads; ++i) others += id[i] != id[0];
        shared += others != 0;
    }
    return shared == 0;
}

int main(int argc, char **argv) {
    const int threads = argc == 3 ? atoi(argv[2]) : 0;
    if (threads >= 4 && threads <= 64) {
        if (strcmp(argv[1], "met") == 0) return meet(threads);
        if (strcmp(argv[1], "tasks") == 0) return make_tasks(threads);
        if (strcmp(argv[1], "alone") == 0) return come_alone(threads, 1e-4) || come_alone(threads, 2e-3);
    }
    fprintf(stderr, "usage: stands_by met|tasks|alone THREADS (4 to 64)\n");
    return 2;
}
