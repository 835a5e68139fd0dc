// A rank of a region creates the process's first POSIX threads, while the others do not leave their harts.
// ./first_thread spins|computes|both|forks|main
#include <omp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static atomic_int threads_ran, over;

static void *run(void *unused) {
    (void)unused;
    ++threads_ran;
    return NULL;
}

static int create_and_join(void) {
    pthread_t t;
    return pthread_create(&t, NULL, run, NULL) == 0 && pthread_join(t, NULL) == 0;
}

// In the child only the caller is there, whatever the threads' scheduler was about.
static int forks(void) {
    const pid_t child = fork();
    if (child == 0) _exit(create_and_join() ? 0 : 1);
    int status = -1;
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

// The program's first thread creates one, too, and waits for a hart; a thread of the C library's (it brings its own
// stack) has opened the region that has them.
static atomic_int inside, main_creates, created;

static void *open_region(void *unused) {
    (void)unused;
#pragma omp parallel num_threads(2)
    {
        ++inside;
        while (!main_creates) __asm__ volatile("" ::: "memory");
        volatile double x = 1;
        for (long i = 0; i < 100000000; ++i) x = x * 1.0000001; // until it waits
        created += create_and_join();
    }
    return NULL;
}

static int beside_main(void) {
    const size_t size = 1 << 20;
    pthread_attr_t with_stack;
    pthread_t t;
    void *stack = aligned_alloc(4096, size);
    if (!stack || pthread_attr_init(&with_stack) || pthread_attr_setstack(&with_stack, stack, size)) return 0;
    if (pthread_create(&t, &with_stack, open_region, NULL) != 0) return 0;
    while (inside != 2) __asm__ volatile("" ::: "memory");
    main_creates = 1;
    created += create_and_join();
    pthread_join(t, NULL);
    return created == 3 && threads_ran == 3;
}

int main(int argc, char **argv) {
    const char *how = argc > 1 ? argv[1] : "";
    if (strcmp(how, "main") == 0) return beside_main() ? 0 : 1;
    const int all_create = strcmp(how, "both") == 0, computes = strcmp(how, "computes") == 0;
    const int one_forks = strcmp(how, "forks") == 0;
    atomic_int failed = 0, arrived = 0;
#pragma omp parallel num_threads(2) shared(failed, arrived)
    {
        // The other one is on its hart by then.
        ++arrived;
        while (arrived != 2) __asm__ volatile("" ::: "memory");
        if (omp_get_thread_num() == 0 || all_create) {
            if (!create_and_join()) failed = 1;
            ++over;
        } else if (one_forks) {
            for (int i = 0; i < 5; ++i)
                if (!forks()) failed = 1;
        } else if (computes) {
            volatile double x = 1;
            for (long i = 0; i < 300000000; ++i) x = x * 1.0000001;
        } else {
            while (!over) __asm__ volatile("" ::: "memory");
        }
    }
    return !failed && threads_ran == (all_create ? 2 : 1) ? 0 : 1;
}
