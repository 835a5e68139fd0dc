/* OpenBLAS as a caller is told how many harts it can have at once, gets exactly that many ranks, and leaves no trace in
 * the program's settings. argv[1] is the build that the library's name stands for: openmp or pthreads; or limit_N. */
#include "check.h"
#include <omp.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

int blas_decision(void);
void blas_set_threads(int count);
int blas_in_parallel(void);
int blas_region(void);
void blas_region_until(int *begun, int *end);

static void *decide_elsewhere(void *result) {
    *(int *)result = blas_decision();
    return NULL;
}

/* The other hart may be one that a thread keeps which has just ended, or is about to sleep. */
static void expect_decision(int expected) {
    int told = 0;
    for (int i = 0; i < 10000 && (told = blas_decision()) != expected; i++) usleep(1000);
    CHECK_EQUAL(told, expected);
}

static int stop, others_calls, others_alone;
static void *keep_calling(void *ignored) {
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        int told = blas_decision();
        CHECK(told == 1 || told == 2);
        CHECK_EQUAL(blas_region(), told);
        __atomic_fetch_add(&others_calls, 1, __ATOMIC_RELAXED);
        __atomic_fetch_add(&others_alone, told == 1, __ATOMIC_RELAXED);
    }
    return ignored;
}

/* Who is told one uses a core too: the other caller is not offered it for as long as both call, and is when one ends.
 */
static void call_beside_another(void) {
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, keep_calling, NULL) == 0);
    for (int i = 0; i < 100000 && blas_decision() == 2; i++) CHECK_EQUAL(blas_region(), 2);
    int calls = 0, alone = 0;
    __atomic_store_n(&others_calls, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&others_alone, 0, __ATOMIC_RELAXED);
    for (; calls < 20000 || __atomic_load_n(&others_calls, __ATOMIC_RELAXED) < 1000; calls++) {
        int told = blas_decision();
        alone += told == 1;
        CHECK_EQUAL(blas_region(), told);
    }
    CHECK(alone > calls * 9L / 10);
    CHECK(__atomic_load_n(&others_alone, __ATOMIC_RELAXED) >=
          __atomic_load_n(&others_calls, __ATOMIC_RELAXED) * 9L / 10);
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    pthread_join(thread, NULL);
    expect_decision(2);
}

static int begun, end;
static void *stay_in_region(void *ignored) {
    expect_decision(2);
    blas_region_until(&begun, &end);
    return ignored;
}

/* Who was in a region of OpenBLAS' when the process forked never leaves it in the child. */
static void fork_beside_a_region(void) {
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, stay_in_region, NULL) == 0);
    while (!__atomic_load_n(&begun, __ATOMIC_ACQUIRE)) usleep(1000);
    pid_t child = fork();
    if (child == 0) {
        alarm(20);
        while (blas_decision() != 2) usleep(1000);
        _exit(blas_region() == 2 ? 0 : 1);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    __atomic_store_n(&end, 1, __ATOMIC_RELEASE);
    pthread_join(thread, NULL);
}

static void openmp_build(void) {
    CHECK_EQUAL(blas_decision(), 2); /* the test runs with two harts */
    CHECK_EQUAL(blas_region(), 2);
    CHECK_EQUAL(blas_decision(), 2);
    blas_set_threads(7);
    CHECK_EQUAL(blas_region(), 2); /* as it was told, not as it set */
    CHECK_EQUAL(omp_get_max_threads(), 5);
    CHECK_EQUAL(blas_region(),
                5); /* as was told who asked last, a part of OpenBLAS perhaps that is not known as such */
    for (int i = 0; i < 200; i++) {
        CHECK_EQUAL(blas_decision(), 2);
        CHECK_EQUAL(blas_region(), 2);
    }
    /* Another thread that asks while this one's call is young gets one: OpenBLAS lets only one in at a time and has the
     * other spin. */
    int other = 0;
    pthread_t thread;
    CHECK_EQUAL(blas_decision(), 2);
    pthread_create(&thread, NULL, decide_elsewhere, &other);
    pthread_join(thread, NULL);
    CHECK(other == 1 || other == 2); /* 2 if this one's claim had expired by then */
    omp_set_num_threads(1);
    CHECK_EQUAL(blas_decision(), 1);
    CHECK_EQUAL(blas_region(), 1);
    omp_set_num_threads(5);
    /* While all harts are busy in a region there is only the caller's own. */
    int told[2] = {0}, in_parallel = 0;
#pragma omp parallel num_threads(2) reduction(+ : in_parallel)
    {
#pragma omp barrier
        in_parallel += blas_in_parallel();
        told[omp_get_thread_num()] = blas_decision();
        CHECK_EQUAL(blas_region(), told[omp_get_thread_num()]);
#pragma omp barrier
    }
    CHECK(told[0] >= 1 && told[0] <= 2 && told[1] >= 1 && told[1] <= 2);
    CHECK_EQUAL(in_parallel, 0);
    expect_decision(2);
    call_beside_another();
    usleep(10000); /* claims have expired */
    fork_beside_a_region();
}

/* OMP_THREAD_LIMIT: told as many as it leaves, OpenBLAS gets all of them. */
static void under_a_limit(int limit) {
    CHECK_EQUAL(omp_get_thread_limit(), limit);
    for (int i = 0; i < 20; i++) {
        CHECK_EQUAL(blas_decision(), limit);
        CHECK_EQUAL(blas_region(), limit);
    }
}

static void pthreads_build(void) {
    CHECK_EQUAL(blas_in_parallel(), 0);
    int hidden = 0, seen = 0;
#pragma omp parallel num_threads(3) reduction(+ : hidden, seen)
    {
        hidden += blas_in_parallel() == 0;
        seen += omp_in_parallel();
    }
    CHECK_EQUAL(hidden, 3);
    CHECK_EQUAL(seen, 3);
}

int main(int argc, char **argv) {
    witness_comity();
    omp_set_num_threads(5);
    if (argc > 1 && !strcmp(argv[1], "openmp"))
        openmp_build();
    else if (argc > 1 && !strncmp(argv[1], "limit_", 6))
        under_a_limit(atoi(argv[1] + 6));
    else
        pthreads_build();
    CHECK_EQUAL(omp_get_max_threads(), 5);
    return report();
}
