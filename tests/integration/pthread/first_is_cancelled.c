// The first thread is cancelled at a join, at a condition, at a semaphore, in a sleep or in a read: while it waits
// there, or before, when it refuses. Its cleanup handler runs, and the thread that is left goes on.
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static sem_t none, goes_on, cleaned;
static int before, ends[2];

static void clean(void *is_locked) {
    if (*(int *)is_locked) pthread_mutex_unlock(&mutex); // a wait for a condition ends with it
    sem_post(&cleaned);
}

static void await(sem_t *s) {
    while (sem_wait(s) != 0) {
    }
}

static void *nothing(void *argument) {
    usleep(100);
    return argument;
}

static void *cancel(void *first) {
    if (!before) sem_post(&goes_on);
    usleep(20000);
    pthread_cancel((pthread_t)first);
    usleep(20000);
    for (int i = 0; i < 20; ++i) { // threads run, although the first one had a hart
        pthread_t t;
        if (pthread_create(&t, NULL, nothing, NULL) != 0 || pthread_join(t, NULL) != 0) exit(3);
    }
    const int has_refused = !before || sem_trywait(&cleaned) != 0;
    if (before) sem_post(&goes_on);
    await(&cleaned);
    pthread_mutex_lock(&mutex);
    printf("it was cancelled %s\n", has_refused ? "as it should" : "although it refused");
    exit(0);
}

int main(int count, char **arguments) {
    const char *where = count > 1 ? arguments[1] : "join";
    pthread_t t;
    int locked = strcmp(where, "condition") == 0;
    before = count > 2 && strcmp(arguments[2], "before") == 0;
    sem_init(&none, 0, 0);
    sem_init(&goes_on, 0, 0);
    sem_init(&cleaned, 0, 0);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL); // when there are no threads yet
    if (pthread_create(&t, NULL, cancel, (void *)pthread_self()) != 0) return 1;
    pthread_cleanup_push(clean, &locked);
    await(&goes_on);
    if (locked) pthread_mutex_lock(&mutex);
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
    if (strcmp(where, "join") == 0) pthread_join(t, NULL);
    if (strcmp(where, "semaphore") == 0) sem_wait(&none);
    if (strcmp(where, "sleep") == 0) sleep(20);
    char c;
    if (strcmp(where, "read") == 0 && pipe(ends) == 0 && read(ends[0], &c, 1) == 1) puts("there was nothing to read");
    while (locked) pthread_cond_wait(&never, &mutex);
    pthread_cleanup_pop(0);
    puts("it was not cancelled");
    return 2;
}
