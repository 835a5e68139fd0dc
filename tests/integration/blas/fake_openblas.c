/* OpenBLAS' protocol of threads (blas_server.c of its pthreads build), for tests without the real one:
   - a constructor reads OPENBLAS_NUM_THREADS and starts a pool by pthread_create, whose argument is the position in the
   pool;
   - a call reads blas_cpu_number once; its jobs go to the callback if there is one, else to the pool;
   - jobs of one call spin for each other, without any yield;
   - jobs run under a thread number, which marks a place in a table; the pool's jobs mark the places from 0 up;
   - fork ends the pool, the next call starts it again; a destructor ends it, too.
   COMITY_FAKE_TABLE: places in the table; COMITY_FAKE_THREADS: threads by default; COMITY_FAKE_OLD: no callback. */
#include "fake_openblas.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

#ifndef COMITY_FAKE_TABLE
#define COMITY_FAKE_TABLE 16
#endif
#ifndef COMITY_FAKE_THREADS
#define COMITY_FAKE_THREADS 2
#endif
#define STRING_OF(x) #x
#define STRING(x) STRING_OF(x)
#define MOST 64

typedef struct job {
    int position, of;
    atomic_int *arrived;
    void (*inside)(void);
    char padding[72];
} job;
typedef void (*job_function)(int number, void *job, int data);
typedef void (*threads_callback)(int sync, job_function run, int jobs, size_t size, void *queue, int data);

int blas_cpu_number, blas_num_threads;
static threads_callback callback;
static pthread_mutex_t server_lock = PTHREAD_MUTEX_INITIALIZER, queue_lock = PTHREAD_MUTEX_INITIALIZER;
static int available;
static pthread_t threads[MOST];
static struct {
    _Atomic(job *) queue;
    pthread_mutex_t lock;
    pthread_cond_t wakeup;
} status[MOST];
static atomic_int used[MOST], shared, pool_jobs;
static job stop;

const char *openblas_get_config(void) { return "OpenBLAS 0.0.0 fake MAX_THREADS=" STRING(COMITY_FAKE_TABLE); }
#ifndef COMITY_FAKE_OLD
void openblas_set_threads_callback_function(threads_callback function) { callback = function; }
#endif
int openblas_get_num_threads(void) { return *(volatile int *)&blas_cpu_number; }
int fake_jobs_of_next_call(void) { return *(volatile int *)&blas_cpu_number; }
int fake_has_callback(void) { return callback != NULL; }
int fake_jobs_of_pool(void) { return pool_jobs; }
int fake_shared_numbers(void) { return shared; }

static void run_job(int number, void *queue, int data) {
    job *j = queue;
    (void)data;
    if (number >= COMITY_FAKE_TABLE || atomic_exchange(&used[number], 1)) atomic_fetch_add(&shared, 1);
    atomic_fetch_add(j->arrived, 1);
    while (atomic_load(j->arrived) < j->of)
        ;
    if (j->inside) j->inside();
    atomic_store(&used[number], 0);
}

static void *server(void *argument) {
    size_t i = (size_t)argument;
    for (;;) {
        pthread_mutex_lock(&status[i].lock);
        while (!status[i].queue) pthread_cond_wait(&status[i].wakeup, &status[i].lock);
        job *j = status[i].queue;
        pthread_mutex_unlock(&status[i].lock);
        if (j == &stop) return NULL;
        run_job((int)i, j, 0);
        atomic_fetch_add(&pool_jobs, 1);
        status[i].queue = NULL;
    }
}

static void start_thread(int i) {
    status[i].queue = NULL;
    pthread_mutex_init(&status[i].lock, NULL);
    pthread_cond_init(&status[i].wakeup, NULL);
    if (pthread_create(&threads[i], NULL, server, (void *)(size_t)i)) abort();
}

static void give(int i, job *j) {
    pthread_mutex_lock(&status[i].lock);
    status[i].queue = j;
    pthread_cond_signal(&status[i].wakeup);
    pthread_mutex_unlock(&status[i].lock);
}

static void start_pool(void) {
    pthread_mutex_lock(&server_lock);
    if (!available) {
        for (int i = 0; i < blas_num_threads - 1; i++) start_thread(i);
        available = 1;
    }
    pthread_mutex_unlock(&server_lock);
}

static void end_pool(void) {
    pthread_mutex_lock(&server_lock);
    for (int i = 0; available && i < blas_num_threads - 1; i++) {
        give(i, &stop);
        pthread_join(threads[i], NULL);
    }
    available = 0;
    pthread_mutex_unlock(&server_lock);
}

/* OpenBLAS leaves the lock taken if another thread starts the pool again at that very moment: not what is tested here.
 */
static void forget_pool(void) {
    pthread_mutex_init(&server_lock, NULL);
    available = 0;
}

__attribute__((constructor)) static void start(void) {
    const char *wanted = getenv("OPENBLAS_NUM_THREADS");
    pthread_atfork(end_pool, NULL, forget_pool);
    blas_num_threads = blas_cpu_number = wanted ? atoi(wanted) : COMITY_FAKE_THREADS;
    start_pool();
}
__attribute__((destructor)) static void end(void) { end_pool(); }

void openblas_set_num_threads(int n) {
    start_pool();
    if (n < 1) n = blas_num_threads;
    pthread_mutex_lock(&server_lock);
    for (int i = blas_num_threads - 1; i < n - 1; i++) start_thread(i);
    if (n > blas_num_threads) blas_num_threads = n;
    pthread_mutex_unlock(&server_lock);
    blas_cpu_number = n;
}

int fake_call_of(int n, void (*inside)(void)) {
    job jobs[MOST];
    atomic_int arrived = 0;
    if (!available) start_pool();
    for (int i = 0; i < n; i++) jobs[i] = (job){.position = i, .of = n, .arrived = &arrived, .inside = inside};
    if (n > 1 && callback) {
        callback(1, run_job, n, sizeof jobs[0], jobs, 0);
        return atomic_load(&arrived);
    }
    if (n > 1) pthread_mutex_lock(&queue_lock);
    for (int i = 1; i < n; i++) give(i - 1, &jobs[i]);
    atomic_fetch_add(&arrived, 1);
    while (atomic_load(&arrived) < n)
        ;
    if (inside) inside();
    for (int i = 1; i < n; i++)
        while (status[i - 1].queue)
            ;
    if (n > 1) pthread_mutex_unlock(&queue_lock);
    return atomic_load(&arrived);
}

int fake_call(void (*inside)(void)) { return fake_call_of(*(volatile int *)&blas_cpu_number, inside); }

int fake_call_beside_pool(int calls) {
    atomic_int arrived = 0;
    job beside = {.of = 2, .arrived = &arrived}; /* waits until the caller arrives */
    int running = 1;
    if (!available) start_pool();
    give(0, &beside);
    while (atomic_load(&arrived) == 0) sched_yield();
    for (int i = 0; i < calls; i++) {
        fake_call_of(2, NULL);
        running = running && used[0] && status[0].queue == &beside;
    }
    atomic_fetch_add(&arrived, 1);
    while (status[0].queue) sched_yield();
    return running;
}
