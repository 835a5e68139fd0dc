/* Explicit tasks, each program's result against what a serial program gives. */
#include "check.h"

#ifdef __clang__ /* before 16 it does not know the word */
#define STRICT
#else
#define STRICT                                                                                                         \
    strict:
#endif
#include <omp.h>
#include <unistd.h>

static int threads;

static int fib(int n) {
    if (n < 2) return n;
    int a, b;
#pragma omp task shared(a) if (n > 5)
    a = fib(n - 1);
#pragma omp task shared(b) mergeable final(n < 4)
    b = fib(n - 2);
#pragma omp taskwait
    return a + b;
}

static void tasks_make_tasks_and_wait_for_them(void) {
    int result = 0;
#pragma omp parallel num_threads(threads)
#pragma omp single
    result = fib(17);
    CHECK_EQUAL(result, 1597);
}

static void every_task_is_done_at_the_barrier(void) {
    int sum = 0, at_barrier = -1;
#pragma omp parallel num_threads(threads)
    {
#pragma omp single nowait
        for (int i = 0; i < 1000; i++) {
#pragma omp task firstprivate(i) shared(sum)
            {
#pragma omp atomic
                sum += i;
            }
        }
#pragma omp barrier
#pragma omp single
        at_barrier = sum;
    }
    CHECK_EQUAL(at_barrier, 499500);
}

static void every_task_is_done_at_the_end(void) {
    for (int round = 0; round < 20; round++) { /* both before and after it is known that this region makes tasks */
        int sum = 0;
#pragma omp parallel num_threads(threads)
#pragma omp masked
        for (int i = 0; i < 50; i++) {
#pragma omp task shared(sum) untied
            {
#pragma omp task shared(sum)
                {
#pragma omp atomic
                    sum += 1;
                }
            }
        }
        CHECK_EQUAL(sum, 50);
    }
}

static void group_waits_for_descendants(void) {
    int sum = 0, seen = -1;
#pragma omp parallel num_threads(threads)
#pragma omp single
    {
#pragma omp taskgroup
        {
            for (int i = 0; i < 30; i++) {
#pragma omp task shared(sum)
                {
#pragma omp task shared(sum)
                    {
                        usleep(10);
#pragma omp atomic
                        sum += 1;
                    }
                }
            }
        }
        seen = sum;
    }
    CHECK_EQUAL(seen, 30);
}

static void taskloop_runs_every_iteration_once(void) {
    static int ran[1000];
    memset(ran, 0, sizeof ran);
    unsigned long long wide = 0;
    int reduced = 0;
#pragma omp parallel num_threads(threads)
#pragma omp single
    {
#pragma omp taskloop
        for (int i = 0; i < 1000; i++) ran[i]++;
#pragma omp taskloop grainsize(7)
        for (int i = 0; i < 1000; i++) ran[i]++;
#pragma omp taskloop num_tasks(13) nogroup
        for (int i = 999; i >= 0; i--) ran[i]++;
#pragma omp taskwait
#pragma omp taskloop grainsize(STRICT 11) shared(wide)
        for (unsigned long long i = 0; i < 1000; i++) {
#pragma omp atomic
            wide += i;
        }
#pragma omp taskloop reduction(+ : reduced)
        for (int i = 0; i < 1000; i++) reduced += i;
    }
    for (int i = 0; i < 1000; i++) CHECK_EQUAL(ran[i], 3);
    CHECK_EQUAL(wide, 499500);
    CHECK_EQUAL(reduced, 499500);
}

static void dependences_order_tasks(void) {
    enum { length = 100 };
    int value = 0, wrong = 0, readers = 0;
#pragma omp parallel num_threads(threads)
#pragma omp single
    {
        for (int i = 0; i < length; i++) {
#pragma omp task depend(inout : value) shared(value, wrong, readers)
            {
                wrong += value != 2 * i || readers != 3 * i;
                value++;
            }
            for (int r = 0; r < 3; r++) {
#pragma omp task depend(in : value) shared(value, wrong, readers)
                {
#pragma omp atomic
                    wrong += value != 2 * i + 1;
#pragma omp atomic
                    readers++;
                }
            }
#pragma omp task depend(out : value) shared(value)
            value++;
        }
#pragma omp taskwait depend(in : value)
        CHECK_EQUAL(value, 2 * length);
#pragma omp task depend(in : value) if (0) shared(value)
        CHECK_EQUAL(value, 2 * length);
    }
    CHECK_EQUAL(wrong, 0);
    CHECK_EQUAL(readers, 3 * length);
}

/* What a task with dependences leaves behind must not be taken for a part of the task that gets its memory. */
static void tasks_follow_those_with_many_dependences(void) {
    int a[8] = {0}, done = 0;
#pragma omp parallel num_threads(threads)
#pragma omp single
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < 32; i++) {
#pragma omp task depend(out : a[0], a[1], a[2], a[3], a[4]) shared(a)
            a[0]++;
        }
#pragma omp taskwait
        for (int i = 0; i < 6; i++) { /* the table lets go of those before */
#pragma omp task depend(out : a[0], a[1], a[2], a[3], a[4]) shared(a)
            a[1]++;
        }
#pragma omp taskwait
        for (int i = 0; i < 64; i++) {
#pragma omp task shared(done)
            __atomic_fetch_add(&done, 1, __ATOMIC_RELAXED);
        }
#pragma omp taskwait
    }
    CHECK_EQUAL(a[0], 20 * 32);
    CHECK_EQUAL(done, 20 * 64);
}

static long resident_kilobytes(void) {
    long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    CHECK(f && fscanf(f, "%*s %ld", &pages) == 1);
    if (f) fclose(f);
    return pages * 4;
}

static void locations_named_twice_cost_no_memory(void) {
    int a[2] = {0};
    long before = 0, after = 0;
#pragma omp parallel num_threads(threads)
#pragma omp single
    for (int i = 0; i < 32000; i++) {
        if (i == 2000) before = resident_kilobytes();
#pragma omp task depend(out : a[0], a[0]) shared(a)
        a[0]++;
#pragma omp taskwait
        if (i == 31999) after = resident_kilobytes();
    }
    CHECK_EQUAL(a[0], 32000);
    CHECK(after - before < 2048);
}

static void depend_objects_name_dependences(void) {
    int x = 0, seen = -1;
    omp_depend_t object;
#pragma omp depobj(object) depend(inout : x)
#pragma omp parallel num_threads(threads)
#pragma omp single
    {
#pragma omp task depend(depobj : object) shared(x)
        {
            usleep(200);
            x = 5;
        }
#pragma omp task depend(in : x) shared(x, seen)
        seen = x;
    }
#pragma omp depobj(object) destroy
    CHECK_EQUAL(seen, 5);
}

static void detached_tasks_end_with_their_event(void) {
    int done = 0, after = -1;
    omp_event_handle_t event;
#pragma omp parallel num_threads(threads)
#pragma omp single
    {
        omp_event_handle_t *shared_event = &event;
#pragma omp task detach(event) shared(done)
        done++;
#pragma omp task firstprivate(shared_event) shared(done)
        {
            usleep(100);
            done++;
            omp_fulfill_event(*shared_event);
        }
#pragma omp taskwait
        after = done;
    }
    CHECK_EQUAL(after, 2);
}

static void task_reductions_combine_all(void) {
    int sum = 0, loop_sum = 0, region_sum = 0;
#pragma omp parallel num_threads(threads)
#pragma omp single
#pragma omp taskgroup task_reduction(+ : sum)
    for (int i = 0; i < 100; i++) {
#pragma omp task in_reduction(+ : sum)
        sum += i;
#pragma omp taskgroup /* the inner group's tasks take part too */
        {
#pragma omp task in_reduction(+ : sum)
            sum += 2 * i;
        }
    }
#pragma omp parallel num_threads(threads) reduction(task, + : region_sum)
    {
        region_sum += 1;
#pragma omp task in_reduction(+ : region_sum)
        region_sum += 10;
    }
#pragma omp parallel num_threads(threads)
#pragma omp for reduction(task, + : loop_sum) schedule(dynamic)
    for (int i = 0; i < 50; i++) {
        loop_sum++;
#pragma omp task in_reduction(+ : loop_sum)
        loop_sum += 2;
    }
    CHECK_EQUAL(sum, 3 * 4950);
    CHECK_EQUAL(region_sum, 11 * threads);
    CHECK_EQUAL(loop_sum, 150);
}

static void variables_of_a_task_are_its_own(void) {
    omp_set_num_threads(3);
    int inside = 0, finals = 0;
#pragma omp parallel num_threads(threads)
#pragma omp single
    {
#pragma omp task shared(inside)
        {
            omp_set_num_threads(9);
            inside = omp_get_max_threads();
        }
#pragma omp taskwait
        CHECK_EQUAL(omp_get_max_threads(), 3);
#pragma omp task final(1) shared(finals)
        {
#pragma omp task shared(finals)
            finals = omp_in_final();
        }
    }
    CHECK_EQUAL(inside, 9);
    CHECK_EQUAL(finals, 1);
}

static void regions_open_inside_tasks(void) {
    int sum = 0;
    omp_set_max_active_levels(4);
#pragma omp parallel num_threads(threads)
#pragma omp single
    for (int i = 0; i < 20; i++) {
#pragma omp task shared(sum)
        {
            int mine = 0;
#pragma omp parallel for num_threads(3) reduction(+ : mine)
            for (int k = 0; k < 10; k++) mine += k;
#pragma omp atomic
            sum += mine;
        }
    }
    CHECK_EQUAL(sum, 20 * 45);
}

typedef struct {
    _Alignas(16) char bytes[48];
} aligned;

static void data_of_a_task_is_aligned(void) {
    int wrong = 0;
#pragma omp parallel num_threads(threads)
#pragma omp single
    for (int i = 0; i < 20; i++) {
        aligned mine = {{(char)i}};
#pragma omp task firstprivate(mine) shared(wrong)
        {
            size_t address = (size_t)&mine;
            __asm__("" : "+r"(address)); /* the compiler believes that it is aligned */
            if (address % 16) {
#pragma omp atomic
                wrong++;
            }
        }
    }
    CHECK_EQUAL(wrong, 0);
}

/* The loops that come to the same place of the team's ring after a cancelled one are whole. */
static void a_cancelled_loop_cancels_no_later_one(void) {
    if (!omp_get_cancellation()) return;
    enum { loops = 20, wide = 50 };
    int ran[loops] = {0};
#pragma omp parallel num_threads(threads)
    for (int k = 0; k < loops; k++) {
#pragma omp for schedule(dynamic)
        for (int i = 0; i < wide; i++) {
            if (k % 3 == 0) {
#pragma omp cancel for
            }
#pragma omp atomic
            ran[k]++;
        }
    }
    for (int k = 0; k < loops; k++) CHECK_EQUAL(ran[k], k % 3 == 0 ? 0 : wide);
}

static void spend_time(void) {
    for (volatile int i = 0; i < 100; i++) {
    }
}

/* Who is many loops ahead of a rank that leaves the region does not wait for it. */
static void who_is_far_ahead_leaves_a_cancelled_region(void) {
    if (!omp_get_cancellation()) return;
    for (int round = 0; round < 20; round++) {
#pragma omp parallel num_threads(threads)
        {
            if (omp_get_thread_num() == 0) {
                for (int i = 0; i < 1000 * (round % 3); i++) spend_time();
#pragma omp cancel parallel
            }
            for (int k = 0; k < 30; k++) {
#pragma omp for schedule(dynamic) nowait
                for (int i = 0; i < threads; i++) spend_time();
            }
        }
    }
}

static void cancellation_stops_early(void) {
    if (!omp_get_cancellation()) return;
    int early = 0;
    for (int round = 0; round < 20; round++) {
        int past = 0, ran = 0, skipped = 0;
#pragma omp parallel num_threads(threads)
        {
#pragma omp for schedule(dynamic)
            for (int i = 0; i < 10000; i++) {
#pragma omp atomic
                ran++;
                if (i == 20) {
#pragma omp cancel for
                }
#pragma omp cancellation point for
            }
#pragma omp single
#pragma omp taskgroup
            {
                for (int i = 0; i < 100; i++) {
#pragma omp task shared(skipped)
                    {
                        if (omp_get_thread_num() >= 0) {
#pragma omp cancel taskgroup
                        }
#pragma omp atomic
                        skipped++;
                    }
                }
            }
            if (omp_get_thread_num() == threads - 1) {
#pragma omp cancel parallel
            }
#pragma omp barrier
#pragma omp atomic
            past++;
        }
        early += ran < 10000; // not if who cancels has lost its core just then
        CHECK_EQUAL(skipped, 0);
        CHECK_EQUAL(past, 0);
    }
    CHECK(early > 0);
    int sum = 0; /* the team is as good as before */
#pragma omp parallel num_threads(threads)
    {
#pragma omp for schedule(dynamic) reduction(+ : sum)
        for (int i = 0; i < 100; i++) sum += i;
#pragma omp barrier
    }
    CHECK_EQUAL(sum, 4950);
}

#ifndef __clang__
/* As gcc before 4.9 compiled a region: its end, where tasks are run, may need as much stack as any rank has. */
extern void GOMP_parallel_start(void (*)(void *), void *, unsigned);
extern void GOMP_parallel_end(void);

static void make_large_tasks(void *ran) {
    for (int i = 0; i < 20; i++) {
#pragma omp task
        {
            volatile char large[300000];
            for (size_t k = 0; k < sizeof large; k += 1024) large[k] = 1;
#pragma omp atomic
            *(int *)ran += large[1024];
        }
    }
}

static void tasks_of_an_old_region_have_a_whole_stack(void) {
    int ran = 0;
    for (int i = 0; i < 5; i++) {
        GOMP_parallel_start(make_large_tasks, &ran, (unsigned)threads);
        make_large_tasks(&ran);
        GOMP_parallel_end();
    }
    CHECK_EQUAL(ran, 5 * 20 * threads);
}
#else
static void tasks_of_an_old_region_have_a_whole_stack(void) {}
#endif

int main(int argc, char **argv) {
    witness_comity();
    threads = argc > 1 ? atoi(argv[1]) : 4;
    for (int round = 0; round < 3; round++) {
        tasks_make_tasks_and_wait_for_them();
        every_task_is_done_at_the_barrier();
        every_task_is_done_at_the_end();
        group_waits_for_descendants();
        taskloop_runs_every_iteration_once();
        dependences_order_tasks();
        tasks_follow_those_with_many_dependences();
        if (round == 0) locations_named_twice_cost_no_memory();
        depend_objects_name_dependences();
        detached_tasks_end_with_their_event();
        task_reductions_combine_all();
        variables_of_a_task_are_its_own();
        data_of_a_task_is_aligned();
        regions_open_inside_tasks();
        a_cancelled_loop_cancels_no_later_one();
        who_is_far_ahead_leaves_a_cancelled_region();
        cancellation_stops_early();
        tasks_of_an_old_region_have_a_whole_stack();
    }
    return report();
}
