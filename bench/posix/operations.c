/* What an operation on POSIX threads costs, in nanoseconds: the median of some samples. Plain C that knows nothing of
 * Comity. Each sample checks that what was to be done was done. */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { most_threads = 64, samples = 9 };
static long threads = 8;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static sem_t semaphore;
static long count; /* what the bodies have done; under `mutex` where there are several */

static void must(int error) {
    if (error == 0) return;
    fprintf(stderr, "operations: %s\n", strerror(error));
    exit(2);
}

static void *add_one(void *argument) {
    ++*(long *)argument;
    return NULL;
}

static void create(long n) {
    for (long i = 0; i < n; ++i) {
        pthread_t one;
        must(pthread_create(&one, NULL, add_one, &count));
        must(pthread_join(one, NULL));
    }
}

/* 64 at a time. */
static void create_many(long n) {
    pthread_t some[most_threads];
    long done[most_threads] = {0};
    for (long i = 0; i < n; i += most_threads) {
        for (int k = 0; k < most_threads; ++k) must(pthread_create(&some[k], NULL, add_one, &done[k]));
        for (int k = 0; k < most_threads; ++k) must(pthread_join(some[k], NULL));
    }
    for (int k = 0; k < most_threads; ++k) count += done[k];
}

static void lock(long n) {
    for (long i = 0; i < n; ++i) {
        pthread_mutex_lock(&mutex);
        ++count;
        pthread_mutex_unlock(&mutex);
    }
}

static void post(long n) {
    for (long i = 0; i < n; ++i, ++count) {
        sem_post(&semaphore);
        sem_wait(&semaphore);
    }
}

static void signal_nobody(long n) {
    for (long i = 0; i < n; ++i, ++count) pthread_cond_signal(&condition);
}

/* n, evenly by so many threads; each is given its share. */
static void share_out(long n, long number, void *(*body)(void *)) {
    pthread_t some[most_threads];
    long share = n / number;
    for (long k = 0; k < number; ++k) must(pthread_create(&some[k], NULL, body, &share));
    for (long k = 0; k < number; ++k) must(pthread_join(some[k], NULL));
}

static void *lock_some(void *argument) {
    lock(*(const long *)argument);
    return NULL;
}

static void lock_by_many(long n) { share_out(n, threads, lock_some); }

/* They look under the mutex until it is their turn. */
static void *poll_some(void *argument) {
    static long numbers;
    pthread_mutex_lock(&mutex);
    const long own = numbers++ % threads;
    pthread_mutex_unlock(&mutex);
    for (long left = *(const long *)argument; left > 0;) {
        pthread_mutex_lock(&mutex);
        if (count % threads == own) {
            ++count;
            --left;
        }
        pthread_mutex_unlock(&mutex);
    }
    return NULL;
}

static void poll(long n) { share_out(n, threads, poll_some); }

/* Two threads hand a turn to each other. */
typedef struct player {
    long turns;
    int own;
} player;
static int turn;

static void *play(void *argument) {
    const player *const self = argument;
    for (long i = 0; i < self->turns; ++i) {
        pthread_mutex_lock(&mutex);
        while (turn != self->own) pthread_cond_wait(&condition, &mutex);
        turn = !self->own;
        ++count;
        pthread_cond_broadcast(&condition);
        pthread_mutex_unlock(&mutex);
    }
    return NULL;
}

static void hand_over(long n) {
    player players[2] = {{n / 2, 0}, {n / 2, 1}};
    pthread_t some[2];
    for (int k = 0; k < 2; ++k) must(pthread_create(&some[k], NULL, play, &players[k]));
    for (int k = 0; k < 2; ++k) must(pthread_join(some[k], NULL));
}

static void *nap_some(void *argument) {
    for (long i = *(const long *)argument; i > 0; --i) {
        usleep(200);
        lock(1);
    }
    return NULL;
}

/* As programs do that poll. */
static void nap(long n) { share_out(n, 4, nap_some); }

static const struct operation {
    const char *name;
    void (*run)(long n);
    long n; /* of a sample; a multiple of 64 */
    clockid_t clock;
} operations[] = {{"create", create, 4096, CLOCK_MONOTONIC},
                  {"create-many", create_many, 4096, CLOCK_MONOTONIC},
                  {"lock", lock, 1 << 20, CLOCK_MONOTONIC},
                  {"post", post, 1 << 20, CLOCK_MONOTONIC},
                  {"signal", signal_nobody, 1 << 20, CLOCK_MONOTONIC},
                  {"lock-by-many", lock_by_many, 1 << 18, CLOCK_MONOTONIC},
                  {"poll", poll, 64, CLOCK_MONOTONIC},
                  {"hand-over", hand_over, 1 << 14, CLOCK_MONOTONIC},
                  {"nap", nap, 1 << 10, CLOCK_PROCESS_CPUTIME_ID}};

static double nanoseconds_now(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static int by_size(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The C library's locks are cheaper while a process has never had a thread. */
static void *nothing(void *argument) { return argument; }

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: operations NAME\n");
        return 2;
    }
    const struct operation *chosen = NULL;
    for (size_t i = 0; i < sizeof operations / sizeof *operations; ++i)
        if (strcmp(operations[i].name, argv[1]) == 0) chosen = &operations[i];
    if (!chosen) {
        fprintf(stderr, "operations: no operation %s\n", argv[1]);
        return 2;
    }
    sem_init(&semaphore, 0, 0);
    pthread_t one;
    must(pthread_create(&one, NULL, nothing, NULL));
    must(pthread_join(one, NULL));
    double times[samples];
    for (int i = 0; i < samples; ++i) {
        count = 0;
        const double begin = nanoseconds_now(chosen->clock);
        chosen->run(chosen->n);
        times[i] = (nanoseconds_now(chosen->clock) - begin) / (double)chosen->n;
        if (count != chosen->n) {
            fprintf(stderr, "operations: %ld done instead of %ld\n", count, chosen->n);
            return 1;
        }
    }
    qsort(times, samples, sizeof *times, by_size);
    printf("{\"operation\": \"%s\", \"ns\": %.3f}\n", chosen->name, times[samples / 2]);
    return 0;
}
