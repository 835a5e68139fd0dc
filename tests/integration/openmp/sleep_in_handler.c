// A handler of the program's that sleeps, where it interrupts a region: often amid the runtime's own code, at barriers.
// The sleep must not let another rank go on there. Ends when it has run so many times, and each region was right.
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

enum { ranks = 4, barriers = 20, enough = 60 };
static volatile sig_atomic_t ran = 0;

static void sleeps(int number) {
    (void)number;
    const int error = errno;
    nanosleep(&(struct timespec){0, 100000}, NULL);
    ++ran;
    errno = error;
}

int main(void) {
    struct sigaction a;
    memset(&a, 0, sizeof a);
    a.sa_handler = sleeps;
    a.sa_flags = SA_RESTART;
    sigaction(SIGALRM, &a, NULL);
    const struct itimerval often = {{0, 5000}, {0, 5000}}, never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &often, NULL);
    while (ran < enough) {
        long sum = 0;
#pragma omp parallel num_threads(ranks) reduction(+ : sum)
        for (int k = 0; k < barriers; ++k) {
            sum += k;
#pragma omp barrier
        }
        if (sum != (long)ranks * barriers * (barriers - 1) / 2) return printf("a region's sum is %ld\n", sum), 1;
    }
    setitimer(ITIMER_REAL, &never, NULL);
    return 0;
}
