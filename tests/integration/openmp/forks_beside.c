// A process forks while its other threads begin and end as ranks, which a tool is told of (COMITY_OMP_CHECK): the child
// can open regions, whatever they were at.
#include "check.h"
#include <omp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

enum { forks = 1500, others = 12 };
static atomic_int stop = 0;

static void *open_regions(void *nothing) {
    atomic_int ranks = 0;
#pragma omp parallel num_threads(2)
    ++ranks;
    return ranks > 0 ? nothing : NULL;
}

static void *create_threads(void *nothing) {
    while (!stop) {
        pthread_t t;
        if (pthread_create(&t, NULL, open_regions, NULL) == 0) pthread_join(t, NULL);
    }
    return nothing;
}

int main(void) {
    witness_comity();
    pthread_t all[others];
    for (int i = 0; i < others; i++)
        if (pthread_create(&all[i], NULL, create_threads, NULL) != 0) return 2;
    for (int i = 0; i < forks && !failures; i++) {
        const pid_t child = fork();
        if (child == 0) {
            alarm(60);
            open_regions(NULL);
            _exit(0);
        }
        int status = -1;
        CHECK_EQUAL(waitpid(child, &status, 0), child);
        CHECK_EQUAL(status, 0);
    }
    stop = 1;
    for (int i = 0; i < others; i++) pthread_join(all[i], NULL);
    return report();
}
