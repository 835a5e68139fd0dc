// Ranks that wait in the kernel for one that cannot run before them: `blocking KIND RANKS`. The one is rank 0, whose
// kernel thread may be with another rank, then the last. Hangs if it never runs. KIND join: they wait for threads of
// the program that open regions; threads: regions of two threads of the program wait for each other.
#include <errno.h>
#include <omp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static int ranks, ends[2];
static sem_t semaphore;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static int given; /* by `mutex` */

static void check(int condition_holds, const char *what) {
    if (condition_holds) return;
    fprintf(stderr, "blocking: %s, errno %d\n", what, errno);
    exit(1);
}

static void put(void) { check(write(ends[1], "x", 1) == 1, "write"); }

static void nothing(void) {}
static void read_one(void) {
    char c = 0;
    check(read(ends[0], &c, 1) == 1 && c == 'x', "read");
}
static void receive_one(void) {
    char c = 0;
    check(recv(ends[0], &c, 1, 0) == 1 && c == 'x', "recv");
}
static void poll_one(void) {
    struct pollfd fd = {.fd = ends[0], .events = POLLIN};
    check(poll(&fd, 1, -1) == 1, "poll"); /* all see the first byte */
}
static void wait_semaphore(void) { check(sem_wait(&semaphore) == 0, "sem_wait"); }
static void post_semaphore(void) { check(sem_post(&semaphore) == 0, "sem_post"); }
static void lock_mutex(void) { check(pthread_mutex_lock(&mutex) == 0, "lock"); }
static void unlock_mutex(void) { check(pthread_mutex_unlock(&mutex) == 0, "unlock"); }
static void sleep_and_unlock(void) {
    usleep(1000);
    unlock_mutex();
}
static void pass_mutex(void) {
    lock_mutex();
    unlock_mutex();
}
static void lock_rwlock(void) { check(pthread_rwlock_wrlock(&rwlock) == 0, "wrlock"); }
static void unlock_rwlock(void) { check(pthread_rwlock_unlock(&rwlock) == 0, "unlock"); }
static void pass_rwlock(void) {
    check(pthread_rwlock_rdlock(&rwlock) == 0, "rdlock");
    unlock_rwlock();
}
static void wait_condition(void) {
    lock_mutex();
    while (given == 0) check(pthread_cond_wait(&condition, &mutex) == 0, "wait");
    given--;
    unlock_mutex();
}
static void signal_condition(void) {
    lock_mutex();
    given++;
    check(pthread_cond_signal(&condition) == 0, "signal");
    unlock_mutex();
}
static void meet(void) {
    const int result = pthread_barrier_wait(&barrier);
    check(result == 0 || result == PTHREAD_BARRIER_SERIAL_THREAD, "barrier");
}
static void wait_child(void) {
    const pid_t child = fork();
    if (child == 0) {
        char c = 0;
        _exit(read(ends[0], &c, 1) == 1 ? 0 : 1);
    }
    int status = 1;
    check(child > 0 && waitpid(child, &status, 0) == child && status == 0, "waitpid");
}

/* What the one does before all have begun, what the others wait in, what the one does for each of them, or once. */
static const struct kind {
    const char *name;
    void (*before)(void), (*wait)(void), (*release)(void), (*release_all)(void);
} kinds[] = {{"read", nothing, read_one, put, nothing},
             {"recv", nothing, receive_one, put, nothing},
             {"poll", nothing, poll_one, nothing, put},
             {"semaphore", nothing, wait_semaphore, post_semaphore, nothing},
             {"mutex", lock_mutex, pass_mutex, nothing, unlock_mutex},
             {"mutex_sleep", lock_mutex, pass_mutex, nothing, sleep_and_unlock},
             {"rwlock", lock_rwlock, pass_rwlock, nothing, unlock_rwlock},
             {"condition", nothing, wait_condition, signal_condition, nothing},
             {"barrier", nothing, meet, nothing, meet},
             {"child", nothing, wait_child, put, nothing}};

static void wait_for_one(const struct kind *k, int one) {
    int passed = 0;
#pragma omp parallel num_threads(ranks) reduction(+ : passed)
    {
        const int me = omp_get_thread_num();
        if (me == one) k->before();
#pragma omp barrier
        if (me == one) {
            for (int i = 1; i < ranks; ++i) k->release();
            k->release_all();
        } else {
            k->wait();
        }
        passed++;
#pragma omp barrier
    }
    if (k->wait == poll_one) read_one();
    check(passed == ranks, "a rank was lost");
}

static void *open_a_region(void *result) {
    int sum = 0;
#pragma omp parallel num_threads(2) reduction(+ : sum)
    sum++;
    __atomic_store_n((int *)result, sum, __ATOMIC_RELEASE);
    return NULL;
}

static void wait_for_threads_with_regions(int yields) {
    int sum = 0;
#pragma omp parallel num_threads(ranks) reduction(+ : sum)
    {
        pthread_t made;
        int result = 0;
        check(pthread_create(&made, NULL, open_a_region, &result) == 0, "create");
        while (yields && __atomic_load_n(&result, __ATOMIC_ACQUIRE) == 0) sched_yield();
        check(pthread_join(made, NULL) == 0, "join");
        sum += result;
    }
    check(sum == 2 * ranks, "a region was lost");
}

static void *release_from_a_region(void *ignored) {
    usleep(20000);
#pragma omp parallel num_threads(2)
#pragma omp master
    for (int i = 0; i < ranks; ++i) put();
    return ignored;
}

static void wait_for_another_threads_region(void) {
    pthread_t made;
    check(pthread_create(&made, NULL, release_from_a_region, NULL) == 0, "create");
#pragma omp parallel num_threads(ranks)
    read_one();
    check(pthread_join(made, NULL) == 0, "join");
}

int main(int argc, char **argv) {
    ranks = argc == 3 ? atoi(argv[2]) : 0;
    const struct kind *kind = NULL;
    for (size_t i = 0; ranks > 0 && i < sizeof kinds / sizeof *kinds; ++i)
        if (strcmp(kinds[i].name, argv[1]) == 0) kind = &kinds[i];
    const int yield = ranks > 0 && strcmp(argv[1], "yield") == 0, join = ranks > 0 && strcmp(argv[1], "join") == 0;
    const int threads = ranks > 0 && strcmp(argv[1], "threads") == 0;
    if (!kind && !yield && !join && !threads) {
        fprintf(stderr, "usage: blocking KIND RANKS, where KIND is yield, join, threads");
        for (size_t i = 0; i < sizeof kinds / sizeof *kinds; ++i) fprintf(stderr, ", %s", kinds[i].name);
        fprintf(stderr, "\n");
        return 2;
    }
    check(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, "socketpair");
    check(sem_init(&semaphore, 0, 0) == 0 && pthread_barrier_init(&barrier, NULL, (unsigned)ranks) == 0, "init");
    for (int round = 0; round < 3; ++round) {
        if (join || yield)
            wait_for_threads_with_regions(yield);
        else if (threads)
            wait_for_another_threads_region();
        else
            for (int i = 0; i < 2; ++i) wait_for_one(kind, i == 0 ? 0 : ranks - 1);
    }
    return 0;
}
