// A parallel region that computes for a long time, in a program of which some thread has blocked SIGTERM once: that
// ends it at once all the same. ./ended_in_region [self]: by another process, or by a thread of its own.
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int ends_itself;

static void *helper(void *unused) {
    (void)unused;
    usleep(300000);
    if (ends_itself) kill(getpid(), SIGTERM);
    pause();
    return NULL;
}

static void program(void) {
    sigset_t one;
    pthread_t t;
    sigemptyset(&one);
    sigaddset(&one, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &one, NULL);
    if (pthread_create(&t, NULL, helper, NULL) != 0) _exit(2);
    pthread_sigmask(SIG_UNBLOCK, &one, NULL);
#pragma omp parallel num_threads(2)
    for (const double end = now() + 20; now() < end;) {
    }
}

int main(int argc, char **argv) {
    ends_itself = argc > 1 && strcmp(argv[1], "self") == 0;
    const int child = fork();
    if (child == 0) {
        program();
        _exit(1);
    }
    if (!ends_itself) {
        usleep(500000);
        kill(child, SIGTERM);
    }
    const double from = now();
    int status = 0;
    if (waitpid(child, &status, 0) != child || !WIFSIGNALED(status) || WTERMSIG(status) != SIGTERM) {
        printf("ended otherwise: status %d\n", status);
        return 1;
    }
    if (now() - from > 10) {
        puts("ended late");
        return 1;
    }
    return 0;
}
