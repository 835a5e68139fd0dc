// With limited address space: creates threads until that fails, lets them end, and creates one more.
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>

enum { most = 1000, least = 10 };

static sem_t go;

static void *wait_until_told(void *argument) {
    while (sem_wait(&go) != 0) {
    }
    return argument;
}

static int create(pthread_t *t) { return pthread_create(t, NULL, wait_until_told, NULL); }

static int end(const pthread_t *threads, int n) {
    int error = 0;
    for (int i = 0; i < n; ++i) sem_post(&go);
    for (int i = 0; i < n; ++i) error |= pthread_join(threads[i], NULL);
    return error;
}

int main(void) {
    static pthread_t threads[most];
    int n = 0, error = 0;
    sem_init(&go, 0, 0);
    while (n < most && (error = create(&threads[n])) == 0) ++n;
    const int joined = end(threads, n);
    const int again = create(&threads[0]);
    const int joined_again = again == 0 ? end(threads, 1) : again;
    printf("%s threads, %s; joined: %d, %d\n", n < least ? "few" : "enough",
           error == EAGAIN ? "then EAGAIN" : "no EAGAIN", joined, joined_again);
    return 0;
}
