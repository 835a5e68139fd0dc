// memory_gone N: with limited address space, creates N threads, takes all memory that is left, and goes on: waits at
// objects, with and without a deadline, beside the threads, which sleep in the kernel now and then; then ends them.
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { most_threads = 16, rounds = 200 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static sem_t to_threads, from_threads;
static atomic_int over;

static void wait_at(sem_t *s) {
    while (sem_wait(s) != 0) {
    }
}

static void *work(void *argument) {
    while (!over) {
        pthread_mutex_lock(&mutex);
        usleep(100);
        pthread_mutex_unlock(&mutex);
        pthread_rwlock_wrlock(&rwlock);
        usleep(100);
        pthread_rwlock_unlock(&rwlock);
        sem_post(&from_threads);
        wait_at(&to_threads);
    }
    return argument;
}

static struct timespec soon(void) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_nsec += 20000000;
    if (t.tv_nsec >= 1000000000) {
        ++t.tv_sec;
        t.tv_nsec -= 1000000000;
    }
    return t;
}

static void *end_at_once(void *argument) { return argument; }

// What is mapped, the largest piece first, so that it can be given back.
static void *take_all(size_t *first_size) {
    void *first = NULL;
    for (size_t size = (size_t)64 << 20; size >= 4096; size /= 2)
        for (;;) {
            void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
            if (at == MAP_FAILED) break;
            if (!first) {
                first = at;
                *first_size = size;
            }
        }
    return first;
}

static void do_nothing(int number) { (void)number; }

int main(int argc, char **argv) {
    const int n = argc > 1 ? atoi(argv[1]) : 0;
    pthread_t threads[most_threads], one;
    int bad = 0;
    sem_t nothing;
    sem_init(&to_threads, 0, 0);
    sem_init(&from_threads, 0, 0);
    sem_init(&nothing, 0, 0);
    for (int i = 0; i < n; ++i) bad += pthread_create(&threads[i], NULL, work, NULL) != 0;
    size_t size = 0;
    void *largest = take_all(&size);

    signal(SIGUSR1, do_nothing);
    bad += raise(SIGUSR1) != 0;
    pthread_mutex_lock(&mutex);
    struct timespec until = soon();
    bad += pthread_cond_timedwait(&never, &mutex, &until) != ETIMEDOUT;
    pthread_mutex_unlock(&mutex);
    until = soon();
    bad += sem_timedwait(&nothing, &until) == 0;
    for (int i = 0; i < rounds && n != 0; ++i) {
        wait_at(&from_threads);
        pthread_mutex_lock(&mutex);
        pthread_mutex_unlock(&mutex);
        pthread_rwlock_rdlock(&rwlock);
        pthread_rwlock_unlock(&rwlock);
        sem_post(&to_threads);
    }
    over = 1;
    for (int i = 0; i < n; ++i) sem_post(&to_threads);
    for (int i = 0; i < n; ++i) bad += pthread_join(threads[i], NULL) != 0;

    const int without = pthread_create(&one, NULL, end_at_once, NULL); // the storage of one that ended may serve
    bad += without == 0 ? pthread_join(one, NULL) != 0 : without != EAGAIN;
    munmap(largest, size);
    const int again = pthread_create(&one, NULL, end_at_once, NULL);
    bad += again != 0 || pthread_join(one, NULL) != 0;
    printf("%s\n", bad == 0 ? "it went on" : "it did not go on");
    return 0;
}
