// Under a limit of so many kernel threads, creates more threads than that, which all wait; then ends them.
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

enum { most = 64 };

static sem_t go;

static void *wait_until_told(void *argument) {
    while (sem_wait(&go) != 0) {
    }
    return argument;
}

int main(int argc, char **argv) {
    const rlim_t limit = argc > 1 ? (rlim_t)atoi(argv[1]) : 8;
    const struct rlimit few = {limit, limit};
    const uid_t nobodys = 61957; // whose other processes would count
    if (setrlimit(RLIMIT_NPROC, &few) != 0 || setuid(nobodys) != 0) return puts("skipped: only root may"), 77;
    static pthread_t threads[most];
    int n = 0, error = 0, bad = 0;
    sem_init(&go, 0, 0);
    while (n < most && (error = pthread_create(&threads[n], NULL, wait_until_told, NULL)) == 0) ++n;
    for (int i = 0; i < n; ++i) sem_post(&go);
    for (int i = 0; i < n; ++i) bad |= pthread_join(threads[i], NULL);
    printf("%s, %s; joined: %d\n",
           n == most         ? "all"
           : n >= (int)limit ? "more than kernel threads"
                             : "as few as kernel threads",
           error == 0        ? "no error"
           : error == EAGAIN ? "then EAGAIN"
                             : "then another error",
           bad);
    return 0;
}
