/* Threads and memory of the seven programs, counted: every thread is forked and every block allocated through here, so
 * that the last line of a program can say how many threads there were, how many at once, and how much memory they
 * held. A thread is forked in a fine-grained or coarse-grained run; in a serial one fork_thread is a call. */
#ifndef COUNTING_H
#define COUNTING_H

#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

/* Exit status: 0 right, 1 a wrong result, 2 it could not be run. */
enum { status_right = 0, status_wrong = 1, status_failed = 2 };

/* What the paper compares: a thread for each small piece of work, one for each processor, or none. */
typedef enum form { form_fine, form_coarse, form_serial } form_t;
static form_t form = form_fine;

/* A number and the most that it ever was. */
typedef struct gauge {
    atomic_long now, most;
} gauge;

static struct {
    atomic_long created; /* threads */
    gauge alive;         /* threads that were created and have not ended */
    gauge heap;          /* bytes */
} counts;

static struct {
    double seconds;
    double began;
    long most_heap; /* at the end of the parallel part: what the check needs does not count */
} measured;

static inline void raise_gauge(gauge *self, long by) {
    const long now = atomic_fetch_add_explicit(&self->now, by, memory_order_relaxed) + by;
    long most = atomic_load_explicit(&self->most, memory_order_relaxed);
    while (now > most && !atomic_compare_exchange_weak_explicit(&self->most, &most, now, memory_order_relaxed,
                                                                memory_order_relaxed)) {
    }
}

static inline void lower_gauge(gauge *self, long by) {
    atomic_fetch_sub_explicit(&self->now, by, memory_order_relaxed);
}

/* ---- Threads */

/* A forked call. It stays where it is, and so does its argument, until it is joined. */
typedef struct thread {
    pthread_t id;
    void (*body)(void *);
    void *argument;
} thread;

static void *run_thread(void *argument) {
    thread *const self = argument;
    self->body(self->argument);
    lower_gauge(&counts.alive, 1);
    return NULL;
}

/* Ends the program if no thread can be had: the work is not done in the calling thread instead, for then the numbers
 * would be those of another program. */
static inline void fork_thread(thread *self, void (*body)(void *), void *argument) {
    if (form == form_serial) {
        body(argument);
        return;
    }
    self->body = body;
    self->argument = argument;
    atomic_fetch_add_explicit(&counts.created, 1, memory_order_relaxed);
    raise_gauge(&counts.alive, 1);
    const int error = pthread_create(&self->id, NULL, run_thread, self);
    if (error) {
        fprintf(stderr, "pthread_create: %s, with %ld threads alive\n", strerror(error),
                atomic_load_explicit(&counts.alive.now, memory_order_relaxed) - 1);
        _Exit(status_failed); /* the others are in the middle of their work */
    }
}

static inline void join_thread(thread *self) {
    const int error = form == form_serial ? 0 : pthread_join(self->id, NULL);
    if (error) {
        fprintf(stderr, "pthread_join: %s\n", strerror(error));
        _Exit(status_failed);
    }
}

/* ---- Memory */

static inline void *allocate(size_t bytes) {
    void *const block = malloc(bytes);
    if (!block && bytes) {
        fprintf(stderr, "malloc: no memory for %zu bytes\n", bytes);
        _Exit(status_failed);
    }
    raise_gauge(&counts.heap, (long)malloc_usable_size(block));
    return block;
}

static inline void release(void *block) {
    lower_gauge(&counts.heap, (long)malloc_usable_size(block));
    free(block);
}

/* Forks a thread for each of `count` arguments, which are `size` bytes apart, and joins them all. */
static inline void fork_each(void (*body)(void *), void *arguments, size_t size, long count) {
    thread *const threads = allocate((size_t)count * sizeof *threads);
    for (long i = 0; i < count; ++i) fork_thread(&threads[i], body, (char *)arguments + (size_t)i * size);
    for (long i = 0; i < count; ++i) join_thread(&threads[i]);
    release(threads);
}

/* ---- Time and the last line */

static inline double seconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static inline void begin_parallel_part(void) { measured.began = seconds_now(); }

/* May be called several times; the parts are added. */
static inline void end_parallel_part(void) {
    measured.seconds += seconds_now() - measured.began;
    measured.most_heap = atomic_load_explicit(&counts.heap.most, memory_order_relaxed);
}

/* Prints the facts if the result is right, and returns the exit status. */
static inline int report(const char *program, bool right) {
    static const char *const names[] = {"fine", "coarse", "serial"};
    struct rusage usage;
    if (!right) return status_wrong;
    getrusage(RUSAGE_SELF, &usage);
    printf("{\"program\": \"%s\", \"form\": \"%s\", \"seconds\": %.6f, \"threads\": %ld, \"alive\": %ld, "
           "\"heap_mb\": %.3f, \"rss_mb\": %.1f}\n",
           program, names[form], measured.seconds, atomic_load_explicit(&counts.created, memory_order_relaxed),
           atomic_load_explicit(&counts.alive.most, memory_order_relaxed), (double)measured.most_heap / 1e6,
           (double)usage.ru_maxrss * 1024 / 1e6);
    return status_right;
}

#endif
