/* A program written to Argobots' interface: four streams with a pool each, and ULTs that add up numbers under a mutex.
 *   cc argobots.c $(pkg-config --cflags --libs comity-abt)
 * There may be fewer harts than streams; they take turns. */
#include <abt.h>

#include <stdio.h>
#include <stdlib.h>

enum { streams = 4, threads = 100 };

struct sum {
    ABT_mutex mutex;
    long value;
};

struct task {
    struct sum *sum;
    long number;
};

static void check(int error, const char *what) {
    char name[64];
    if (error == ABT_SUCCESS) return;
    ABT_error_get_str(error, name, NULL);
    fprintf(stderr, "%s: %s\n", what, name);
    exit(1);
}

static void add(void *arg) {
    const struct task *t = arg;
    check(ABT_thread_yield(), "yield"); /* others of the stream run meanwhile */
    check(ABT_mutex_lock(t->sum->mutex), "lock");
    t->sum->value += t->number;
    check(ABT_mutex_unlock(t->sum->mutex), "unlock");
}

int main(int argc, char **argv) {
    ABT_xstream stream[streams];
    ABT_pool pool[streams];
    ABT_thread thread[threads];
    struct task task[threads];
    struct sum sum = {ABT_MUTEX_NULL, 0};

    check(ABT_init(argc, argv), "init");
    check(ABT_mutex_create(&sum.mutex), "mutex");
    check(ABT_self_get_xstream(&stream[0]), "self");
    for (int i = 1; i < streams; ++i) check(ABT_xstream_create(ABT_SCHED_NULL, &stream[i]), "stream");
    for (int i = 0; i < streams; ++i) check(ABT_xstream_get_main_pools(stream[i], 1, &pool[i]), "pool");

    for (int i = 0; i < threads; ++i) {
        task[i] = (struct task){&sum, i + 1};
        check(ABT_thread_create(pool[i % streams], add, &task[i], ABT_THREAD_ATTR_NULL, &thread[i]), "create");
    }
    for (int i = 0; i < threads; ++i) check(ABT_thread_free(&thread[i]), "free"); /* joins first */

    for (int i = 1; i < streams; ++i) check(ABT_xstream_free(&stream[i]), "end of a stream");
    check(ABT_mutex_free(&sum.mutex), "mutex");
    check(ABT_finalize(), "finalize");
    printf("1 + ... + %d = %ld\n", threads, sum.value);
    return sum.value == threads * (threads + 1) / 2 ? 0 : 1;
}
