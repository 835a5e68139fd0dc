// A handler of the program's that sleeps, where it interrupts a region: often amid the runtime's own code, at barriers.
// The sleep must not let another rank go on there. Ends when it has run so many times, and each region was right.
//   sleep_in_handler forks: it forks a child that has a region and ends, and waits for it
//   sleep_in_handler first: the same within the first regions of many processes, before anything else has interrupted
//   a thread of theirs
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ranks = 4, barriers = 20 };
static volatile sig_atomic_t ran = 0;

static void sleeps(int number) {
    (void)number;
    const int error = errno;
    if (ran % 2)
        poll(NULL, 0, 1);
    else
        nanosleep(&(struct timespec){0, 100000}, NULL);
    ++ran;
    errno = error;
}

static void forks(int number) {
    (void)number;
    const int error = errno;
    const pid_t child = fork();
    if (child == 0) {
        int sum = 0;
#pragma omp parallel for num_threads(ranks) reduction(+ : sum)
        for (int k = 0; k < barriers; ++k) sum += k;
        nanosleep(&(struct timespec){0, 100000}, NULL);
        if (sum == barriers * (barriers - 1) / 2) exit(5);
        _exit(1);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 5) abort();
    ++ran;
    errno = error;
}

static int interrupt_regions(int every_us, int enough, void (*handler)(int)) {
    struct sigaction a;
    memset(&a, 0, sizeof a);
    a.sa_handler = handler;
    a.sa_flags = SA_RESTART;
    sigaction(SIGALRM, &a, NULL);
    const struct itimerval often = {{0, every_us}, {0, every_us}}, never = {{0, 0}, {0, 0}};
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

static int run_afresh(const char *program) {
    const pid_t child = fork();
    if (child == 0) {
        execl(program, program, "once", (char *)NULL);
        _exit(127);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child) return perror("fork"), 1;
    if (status != 0) printf("a process ended with status %#x\n", status);
    return status != 0;
}

int main(int argc, char **argv) {
    enum { processes = 20 };
    const char *what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "once") == 0) return interrupt_regions(300, 4, sleeps);
    if (strcmp(what, "forks") == 0) return interrupt_regions(5000, 40, forks);
    if (strcmp(what, "first") != 0) return interrupt_regions(5000, 60, sleeps);
    for (int i = 0; i < processes; ++i)
        if (run_afresh("/proc/self/exe") != 0) return 1;
    return 0;
}
