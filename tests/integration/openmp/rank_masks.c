// What a rank blocks of signals is its own: it goes along with the rank, from wait to wait and from region to region,
// and no other rank has it, whichever kernel thread carries them. ./rank_masks: 0 if so.
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>

enum { ranks = 5, rounds = 200 };
static atomic_int wrong;

static int blocks(int signal) {
    sigset_t now;
    pthread_sigmask(SIG_BLOCK, NULL, &now);
    return sigismember(&now, signal);
}

static void block(int how, int signal) {
    sigset_t set, before;
    sigemptyset(&set);
    sigaddset(&set, signal);
    if (pthread_sigmask(how, &set, &before) != 0 || sigismember(&before, signal) != (how == SIG_UNBLOCK)) ++wrong;
}

// Rank 1 blocks one, rank 3 another one by turns.
static void look(int rank, int has_second) {
    if (blocks(SIGUSR1) != (rank == 1)) ++wrong;
    if (blocks(SIGUSR2) != (rank == 3 && has_second)) ++wrong;
}

static void *look_as_new(void *of) {
    if (blocks(SIGUSR1) != (*(int *)of == 1)) ++wrong;
    return NULL;
}

int main(void) {
#pragma omp parallel num_threads(ranks)
    if (omp_get_thread_num() == 1) block(SIG_BLOCK, SIGUSR1);
    for (int round = 0; round < rounds; ++round) {
#pragma omp parallel num_threads(ranks)
        {
            int rank = omp_get_thread_num();
            look(rank, 0);
            if (rank == 3) block(SIG_BLOCK, SIGUSR2);
#pragma omp barrier
            look(rank, 1);
            sched_yield();
            look(rank, 1);
#pragma omp task
            sched_yield();
#pragma omp taskwait
            look(rank, 1);
            if (round % 50 == 0) {
                pthread_t t;
                if (pthread_create(&t, NULL, look_as_new, &rank) != 0 || pthread_join(t, NULL) != 0) ++wrong;
                look(rank, 1);
            }
            if (rank == 3) block(SIG_UNBLOCK, SIGUSR2);
#pragma omp critical
            look(rank, 0);
        }
        if (blocks(SIGUSR1) || blocks(SIGUSR2)) ++wrong;
    }
    if (wrong != 0) printf("%d wrong masks\n", wrong);
    return wrong != 0;
}
