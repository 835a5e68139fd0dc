// Threads that wait for each other in a loop of the program's, in regions of more threads than there are harts:
// `busy_wait bare|yield|sleep THREADS`. Ends when all have met; hangs if some never run. `busy_wait stranger|master
// THREADS`: those that hold all harts wait for a thread that is in no region yet; for one that has opened an inner
// region. `busy_wait behind THREADS`: for one that has not left a barrier yet, of which they come. `busy_wait
// inner|inner_sleep THREADS`: all harts are with threads that have opened inner regions, in which all meet. `busy_wait
// threads THREADS`: so many threads of the program open regions, in which all meet. `busy_wait allocating THREADS`: the
// same, and who waits allocates and frees memory all the time, so that mostly it has the allocator's lock. `busy_wait
// opening SECONDS`: all that have harts wait for one that loses its own on the way into an inner region, where all must
// be within so many seconds. `busy_wait follow THREADS`: in a region of another thread of the program each waits for
// the one before it, and for all at barriers.
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int yields, sleeps;

typedef struct {
    int size;
    atomic_int arrived, phase;
} meeting;

static void meet(meeting *m) {
    const int now = atomic_load(&m->phase);
    if (atomic_fetch_add(&m->arrived, 1) + 1 == m->size) {
        atomic_store(&m->arrived, 0);
        atomic_fetch_add(&m->phase, 1);
        return;
    }
    while (atomic_load(&m->phase) == now)
        if (yields)
            sched_yield();
        else if (sleeps)
            usleep(100);
}

static atomic_int begun, let_go;

static void *open_a_region(void *ignored) {
    while (atomic_load(&begun) == 0) usleep(100);
#pragma omp parallel num_threads(2)
#pragma omp master
    atomic_store(&let_go, 1);
    return ignored;
}

// All harts are with ranks that wait for the first region of another thread of the program.
static int wait_for_a_stranger(int harts) {
    pthread_t stranger;
    if (pthread_create(&stranger, NULL, open_a_region, NULL) != 0) return 3;
#pragma omp parallel num_threads(harts)
    {
        atomic_fetch_add(&begun, 1);
        while (atomic_load(&let_go) == 0) {
        }
    }
    pthread_join(stranger, NULL);
    return 0;
}

// The C++ library's, as Comity calls it: the thread that must wait in there has no hart when it returns.
static _Thread_local int has_no_memory;
void *allocate_or_null(size_t size, const void *nothrow) __asm__("_ZnwmRKSt9nothrow_t");
__attribute__((visibility("default"))) void *allocate_or_null(size_t size, const void *nothrow) {
    (void)nothrow;
    while (has_no_memory && atomic_load(&let_go) == 0) {
    }
    return malloc(size);
}

static atomic_int inside;

static void *keep_the_hart(void *ignored) {
    while (atomic_load(&begun) == 0) usleep(100);
#pragma omp parallel num_threads(2)
#pragma omp master
    {
        atomic_store(&let_go, 1);
        while (atomic_load(&inside) < 3) {
        }
    }
    return ignored;
}

// Who opens the inner region lost its hart on the way, and those that have one wait for the region: if it waited for
// one again, that would be for as long as it takes to displace somebody.
static int wait_for_who_is_on_the_way_in(double seconds) {
    pthread_t stranger;
    double started = 0, ended = 0;
    omp_set_max_active_levels(2);
    if (pthread_create(&stranger, NULL, keep_the_hart, NULL) != 0) return 3;
#pragma omp parallel num_threads(2)
    if (omp_get_thread_num() == 0) {
        atomic_fetch_add(&begun, 1);
        while (atomic_load(&let_go) == 0) {
        }
        started = omp_get_wtime();
        while (atomic_load(&inside) < 3) {
        }
        ended = omp_get_wtime();
    } else {
        has_no_memory = 1;
#pragma omp parallel num_threads(3)
        atomic_fetch_add(&inside, 1);
    }
    pthread_join(stranger, NULL);
    return ended - started < seconds ? 0 : 1;
}

// The thread that opened an inner region waits for a lock; when it is given it, another thread of that region has its
// hart, and waits for it in a loop.
static int wait_for_an_inner_master(void) {
    atomic_int locked = 0, waits = 0, passed = 0;
    omp_lock_t lock;
    omp_init_lock(&lock);
    omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2)
    if (omp_get_thread_num() == 0) {
        omp_set_lock(&lock);
        atomic_store(&locked, 1);
        while (atomic_load(&waits) == 0) {
        }
        omp_unset_lock(&lock);
        while (atomic_load(&passed) == 0) {
        }
    } else {
        while (atomic_load(&locked) == 0) {
        }
#pragma omp parallel num_threads(2)
        if (omp_get_thread_num() == 0) {
            omp_set_lock(&lock);
            atomic_store(&passed, 1);
            omp_unset_lock(&lock);
        } else {
            atomic_store(&waits, 1);
            while (atomic_load(&passed) == 0) {
            }
        }
    }
    omp_destroy_lock(&lock);
    return 0;
}

// Inner regions in an outer one, again and again; who is where differs from round to round.
static int meet_in_inner_regions(int threads) {
    omp_set_max_active_levels(3);
    for (int i = 0; i < 6; ++i) {
        atomic_int here = 0, inside = 0;
        const int all = 2 * threads, times = i % 2 ? 1 : 2;
#pragma omp parallel num_threads(2)
        {
#pragma omp barrier
            for (int again = 1; again <= times; ++again) {
#pragma omp parallel num_threads(threads)
                {
                    atomic_fetch_add(&here, 1);
                    while (atomic_load(&here) < again * all)
                        if (sleeps) usleep(10);
#pragma omp barrier
#pragma omp critical
                    atomic_fetch_add(&inside, 1);
                }
            }
            // Below whoever was left without a hart.
#pragma omp parallel for num_threads(threads)
            for (int k = 0; k < threads; ++k) atomic_fetch_add(&inside, 1);
        }
        if (atomic_load(&inside) != (times + 1) * all) return 1;
    }
    return 0;
}

// All that leave a barrier wait for those that have not left it yet, whose harts they have. One after the other comes
// to it last.
static int meet_behind_a_barrier(int threads) {
    for (int late = 0; late < threads; ++late) {
        atomic_int behind = 0;
#pragma omp parallel num_threads(threads)
        for (int again = 1; again <= 2; ++again) {
            const double from = omp_get_wtime();
            while (omp_get_thread_num() == late && omp_get_wtime() < from + 2e-3) {
            }
#pragma omp barrier
            atomic_fetch_add(&behind, 1);
            while (atomic_load(&behind) < again * threads) {
            }
        }
    }
    return 0;
}

static atomic_int in_regions;
static int wanted, allocates;

static void allocate(void) {
    char *volatile memory = malloc(20000); // more than the C library keeps for each thread
    if (memory) memory[0] = 1;
    free(memory);
}

static void *meet_in_a_region(void *counted) {
    omp_set_max_active_levels(2); // each thread has its own
    for (int again = 1; again <= 2; ++again) {
#pragma omp parallel num_threads(2)
        {
            atomic_fetch_add(&in_regions, 1);
            while (atomic_load(&in_regions) < again * wanted)
                if (allocates) allocate();
#pragma omp barrier
                    // Below a thread that may have lost its hart.
#pragma omp parallel num_threads(2)
            atomic_fetch_add((atomic_int *)counted, 1);
        }
    }
    return NULL;
}

static int meet_in_regions_of_threads(int threads) {
    pthread_t made[64];
    atomic_int counted = 0;
    if (threads > 64) return 2;
    wanted = 2 * threads;
    for (int i = 0; i < threads; ++i)
        if (pthread_create(&made[i], NULL, meet_in_a_region, &counted) != 0) return 3;
    for (int i = 0; i < threads; ++i) pthread_join(made[i], NULL);
    return atomic_load(&counted) == 2 * 2 * 2 * threads ? 0 : 1;
}

// Stores who was on which kernel thread at the end.
static void follow_in_a_region(int threads, long *kernel_thread) {
    atomic_int come[64] = {0};
#pragma omp parallel num_threads(threads)
    {
        const int me = omp_get_thread_num();
        for (int step = 1; step <= 40; ++step) {
            while (me != 0 && atomic_load(&come[me - 1]) < step) {
            }
            atomic_store(&come[me], step);
            if (step % 20 == 0) {
#pragma omp barrier
            }
        }
        kernel_thread[me] = syscall(SYS_gettid);
    }
}

static void *follow_each_other(void *threads) {
    long kernel_thread[64];
    for (int i = 0; i < 3; ++i) follow_in_a_region(*(int *)threads, kernel_thread);
    return NULL;
}

static int follow_in_regions_of_a_thread(int threads) {
    pthread_t one;
    if (threads > 64) return 2;
    if (pthread_create(&one, NULL, follow_each_other, &threads) != 0) return 3;
    return pthread_join(one, NULL);
}

static int follow_again(int threads) {
    long kernel_thread[64];
    if (threads > 64) return 2;
    for (int i = 0; i < 2; ++i) follow_in_a_region(threads, kernel_thread);
    for (int i = 0; i < threads; ++i)
        for (int k = 0; k < i; ++k)
            if (kernel_thread[i] == kernel_thread[k]) {
                fprintf(stderr, "busy_wait: %d and %d shared kernel thread %ld\n", i, k, kernel_thread[i]);
                return 1;
            }
    return 0;
}

int main(int argc, char **argv) {
    if (argc == 3 && strcmp(argv[1], "again") == 0) return follow_again(atoi(argv[2]));
    if (argc == 3 && strcmp(argv[1], "follow") == 0) return follow_in_regions_of_a_thread(atoi(argv[2]));
    if (argc == 3 && strcmp(argv[1], "stranger") == 0) return wait_for_a_stranger(atoi(argv[2]));
    if (argc == 3 && strcmp(argv[1], "opening") == 0) return wait_for_who_is_on_the_way_in(atof(argv[2]));
    if (argc == 3 && strcmp(argv[1], "master") == 0) return wait_for_an_inner_master();
    if (argc == 3 && strcmp(argv[1], "behind") == 0) return meet_behind_a_barrier(atoi(argv[2]));
    if (argc == 3 && strncmp(argv[1], "inner", 5) == 0) {
        sleeps = strcmp(argv[1], "inner_sleep") == 0;
        return meet_in_inner_regions(atoi(argv[2]));
    }
    if (argc == 3 && (strcmp(argv[1], "threads") == 0 || strcmp(argv[1], "allocating") == 0)) {
        allocates = argv[1][0] == 'a';
        return meet_in_regions_of_threads(atoi(argv[2]));
    }
    if (argc == 3) {
        yields = strcmp(argv[1], "yield") == 0;
        sleeps = strcmp(argv[1], "sleep") == 0;
    }
    if (argc != 3 || (!yields && !sleeps && strcmp(argv[1], "bare") != 0)) {
        fprintf(stderr,
                "usage: busy_wait "
                "bare|yield|sleep|stranger|master|behind|inner|inner_sleep|threads|allocating|follow|again THREADS\n"
                "       busy_wait opening SECONDS\n");
        return 2;
    }
    const int threads = atoi(argv[2]), rounds = yields ? 200 : sleeps ? 50 : 4;
    int flat = 0, nested = 0;
    meeting all = {.size = threads};
#pragma omp parallel num_threads(threads) reduction(+ : flat)
    for (int i = 0; i < rounds; ++i) {
        if (omp_get_num_threads() != threads) exit(3);
        meet(&all);
        ++flat;
    }
    meeting outer = {.size = 2};
    omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2) reduction(+ : nested)
    {
        meeting inner = {.size = threads};
        int inside = 0;
#pragma omp parallel num_threads(threads) reduction(+ : inside)
        for (int i = 0; i < rounds; ++i) {
            meet(&inner);
            ++inside;
        }
        nested += inside;
        meet(&outer);
    }
    if (flat != threads * rounds || nested != 2 * threads * rounds) {
        fprintf(stderr, "busy_wait: %d and %d meetings instead of %d and %d\n", flat, nested, threads * rounds,
                2 * threads * rounds);
        return 1;
    }
    return 0;
}
