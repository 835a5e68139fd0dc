// Threads join the first thread: one is cancelled while it does, one has the result, after the destructors of the first
// thread's keys. With an argument, the first thread is cancelled by who joins it.
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int destroyed, cancels;

static void destroy(void *unused) {
    (void)unused;
    destroyed = 1;
}

static void *joins(void *first) {
    void *result = NULL;
    if (cancels) pthread_cancel((pthread_t)first);
    const int error = pthread_join((pthread_t)first, &result);
    const int is_right = result == (cancels ? PTHREAD_CANCELED : (void *)42L);
    printf("error %d, result %s, keys %s\n", error, is_right ? "right" : "wrong", destroyed ? "ended" : "left");
    exit(0);
}

int main(int count, char **arguments) {
    pthread_key_t key;
    int ends[2];
    char byte;
    (void)arguments;
    pthread_t t;
    void *result;
    if (pthread_key_create(&key, destroy) != 0 || pthread_setspecific(key, &key) != 0) return 1;
    if (pthread_create(&t, NULL, joins, (void *)pthread_self()) != 0) return 2;
    usleep(20000);
    if (pthread_join(pthread_self(), NULL) != EDEADLK) return 3;
    if (pthread_cancel(t) != 0 || pthread_join(t, &result) != 0 || result != PTHREAD_CANCELED) return 4;
    if (count > 1 && pipe(ends) != 0) return 5;
    cancels = count > 1;
    if (pthread_create(&t, NULL, joins, (void *)pthread_self()) != 0) return 6;
    if (cancels && read(ends[0], &byte, 1) != 0) return 7;
    usleep(20000);
    pthread_exit((void *)42L);
}
