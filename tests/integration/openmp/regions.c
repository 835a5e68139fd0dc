/* Regions, variables, worksharing and synchronisation, each against what a serial program gives. */
#include "check.h"
#include <fenv.h>
#include <limits.h>
#include <omp.h>
#include <sched.h>
#include <stdint.h>

enum { iterations = 1000 };

static int private_to_thread = 7;
#pragma omp threadprivate(private_to_thread)

static int threads; /* of most regions here */

static void region_has_the_ranks_asked_for(void) {
    int seen[64] = {0}, teams_of_wrong_size = 0;
#pragma omp parallel num_threads(threads) reduction(+ : teams_of_wrong_size)
    {
        seen[omp_get_thread_num()]++;
        teams_of_wrong_size += omp_get_num_threads() != threads;
    }
    CHECK_EQUAL(teams_of_wrong_size, 0);
    for (int i = 0; i < 64; i++) CHECK_EQUAL(seen[i], i < threads);
    CHECK_EQUAL(omp_get_num_threads(), 1);
    CHECK_EQUAL(omp_get_level(), 0);
#pragma omp parallel if (0)
    CHECK(omp_get_num_threads() == 1 && omp_get_level() == 1 && !omp_in_parallel());
}

static long nested(int depth) {
    if (depth == 0) return 1;
    long leaves = 0;
#pragma omp parallel num_threads(3) reduction(+ : leaves)
    {
        CHECK_EQUAL(omp_get_num_threads(), 3);
        leaves += nested(depth - 1);
    }
    return leaves;
}

static void regions_nest_at_any_depth(void) {
    omp_set_max_active_levels(100);
    CHECK_EQUAL(nested(5), 243);
    int wrong = 0;
#pragma omp parallel num_threads(2) reduction(+ : wrong)
    {
        int outer = omp_get_thread_num();
#pragma omp parallel num_threads(4) reduction(+ : wrong)
        {
            wrong += omp_get_level() != 2 || omp_get_active_level() != 2 || omp_get_team_size(1) != 2 ||
                     omp_get_team_size(2) != 4 || omp_get_ancestor_thread_num(1) != outer ||
                     omp_get_ancestor_thread_num(2) != omp_get_thread_num() || omp_get_ancestor_thread_num(0) != 0 ||
                     omp_get_ancestor_thread_num(3) != -1;
        }
    }
    CHECK_EQUAL(wrong, 0);
    omp_set_max_active_levels(1);
#pragma omp parallel num_threads(2)
    {
#pragma omp parallel num_threads(2)
        CHECK(omp_get_num_threads() == 1 && omp_get_level() == 2 && omp_get_active_level() == 1);
    }
    omp_set_max_active_levels(100);
}

static void variables_belong_to_the_task(void) {
    omp_set_num_threads(3);
#pragma omp parallel num_threads(2)
    {
        CHECK_EQUAL(omp_get_max_threads(), 3);
        omp_set_num_threads(5 + omp_get_thread_num());
        CHECK_EQUAL(omp_get_max_threads(), 5 + omp_get_thread_num());
#pragma omp parallel
        CHECK_EQUAL(omp_get_num_threads(), 5 + omp_get_ancestor_thread_num(1));
    }
    CHECK_EQUAL(omp_get_max_threads(), 3);
    omp_set_num_threads(threads);
    omp_set_dynamic(1);
    CHECK(omp_get_dynamic());
    omp_set_dynamic(0);
    CHECK(!omp_get_dynamic());
    omp_sched_t kind;
    int chunk;
    omp_set_schedule(omp_sched_guided, 7);
    omp_get_schedule(&kind, &chunk);
    CHECK(kind == omp_sched_guided && chunk == 7);
}

/* Every iteration once, with the loop variable as in a serial loop. */
#define RUN(TYPE, FROM, OP, TO, STEP, CLAUSES)                                                                         \
    do {                                                                                                               \
        unsigned long long count = 0, sum = 0, expected = 0, expected_sum = 0;                                         \
        for (TYPE i = FROM; i OP TO; i += STEP) expected++, expected_sum += (unsigned long long)i * 3 + 1;             \
        _Pragma("omp parallel num_threads(threads) reduction(+ : count, sum)") {                                       \
            _Pragma(CLAUSES) for (TYPE i = FROM; i OP TO; i += STEP) count++, sum += (unsigned long long)i * 3 + 1;    \
        }                                                                                                              \
        CHECK_EQUAL(count, expected);                                                                                  \
        CHECK_EQUAL(sum, expected_sum);                                                                                \
    } while (0)
#define RUN_ALL(CLAUSES)                                                                                               \
    do {                                                                                                               \
        RUN(int, 0, <, iterations, 1, CLAUSES);                                                                        \
        RUN(int, 17, <, 17, 1, CLAUSES);                                                                               \
        RUN(int, 3, <, 1000, 7, CLAUSES);                                                                              \
        RUN(long, 1000, >, -1000, -13, CLAUSES);                                                                       \
        RUN(long, LONG_MAX - 100, <, LONG_MAX - 9, 9, CLAUSES);                                                        \
        RUN(long, LONG_MIN + 100, >, LONG_MIN + 9, -9, CLAUSES);                                                       \
        RUN(unsigned long long, 0, <, 1000, 3, CLAUSES);                                                               \
        RUN(unsigned long long, ULLONG_MAX - 1000, <, ULLONG_MAX - 11, 11, CLAUSES);                                   \
        RUN(unsigned long long, 1000, >, 0, -1, CLAUSES);                                                              \
    } while (0)

static void loops_run_every_iteration_once(void) {
    RUN_ALL("omp for schedule(static)");
    RUN_ALL("omp for schedule(static, 5)");
    RUN_ALL("omp for schedule(dynamic)");
    RUN_ALL("omp for schedule(dynamic, 7)");
    RUN_ALL("omp for schedule(monotonic : dynamic, 3)");
    RUN_ALL("omp for schedule(guided)");
    RUN_ALL("omp for schedule(guided, 9)");
    RUN_ALL("omp for schedule(auto)");
    static const omp_sched_t kinds[] = {omp_sched_static, omp_sched_dynamic, omp_sched_guided, omp_sched_auto};
    for (int k = 0; k < 4; k++)
        for (int chunk = 0; chunk < 3; chunk++) {
            omp_set_schedule(kinds[k], chunk);
            RUN_ALL("omp for schedule(runtime)");
            RUN_ALL("omp for schedule(nonmonotonic : runtime)");
        }
}

static void loops_without_barrier_may_overlap(void) {
    static int done[40][100];
    memset(done, 0, sizeof done);
#pragma omp parallel num_threads(threads)
    for (int loop = 0; loop < 40; loop++) {
#pragma omp for schedule(dynamic, 3) nowait
        for (int i = 0; i < 100; i++) done[loop][i]++;
    }
    for (int loop = 0; loop < 40; loop++)
        for (int i = 0; i < 100; i++) CHECK_EQUAL(done[loop][i], 1);
}

#define RUN_ORDERED(CLAUSES)                                                                                           \
    do {                                                                                                               \
        int order[200], next = 0;                                                                                      \
        _Pragma("omp parallel num_threads(threads)") {                                                                 \
            _Pragma(CLAUSES) for (int i = 0; i < 200; i++) {                                                           \
                if (i % 5 == 0) continue; /* not every iteration has its ordered region */                             \
                _Pragma("omp ordered") order[next++] = i;                                                              \
            }                                                                                                          \
        }                                                                                                              \
        CHECK_EQUAL(next, 160);                                                                                        \
        for (int i = 1; i < next; i++) CHECK(order[i - 1] < order[i]);                                                 \
    } while (0)

static void ordered_regions_run_in_order(void) {
    RUN_ORDERED("omp for ordered schedule(static)");
    RUN_ORDERED("omp for ordered schedule(static, 3)");
    RUN_ORDERED("omp for ordered schedule(dynamic)");
    RUN_ORDERED("omp for ordered schedule(guided, 2)");
    omp_set_schedule(omp_sched_dynamic, 4);
    RUN_ORDERED("omp for ordered schedule(runtime)");
}

static void doacross_iterations_wait_for_their_sources(void) {
    static int a[30][20];
    for (int k = 0; k < 3; k++) {
        omp_set_schedule(k == 0 ? omp_sched_static : k == 1 ? omp_sched_dynamic : omp_sched_guided, k);
        memset(a, 0, sizeof a);
#pragma omp parallel for num_threads(threads) ordered(2) schedule(runtime)
        for (int i = 0; i < 30; i++)
            for (int j = 0; j < 20; j++) {
#pragma omp ordered depend(sink : i - 1, j) depend(sink : i, j - 1)
                int above = i ? a[i - 1][j] : 0, left = j ? a[i][j - 1] : 0;
                a[i][j] = 1 + (above > left ? above : left);
#pragma omp ordered depend(source)
            }
        for (int i = 0; i < 30; i++)
            for (int j = 0; j < 20; j++) CHECK_EQUAL(a[i][j], i + j + 1);
    }
}

static void sections_run_once_each(void) {
    int ran[5] = {0};
#pragma omp parallel num_threads(threads)
    {
#pragma omp sections
        {
#pragma omp section
            ran[0]++;
#pragma omp section
    ran[1]++;
#pragma omp section
    ran[2]++;
}
}
#pragma omp parallel sections num_threads(threads)
{
#pragma omp section
    ran[3]++;
#pragma omp section
    ran[4]++;
}
for (int i = 0; i < 5; i++) CHECK_EQUAL(ran[i], 1);
}

static void single_is_done_by_one(void) {
    int count = 0, sum = 0, masked = 0;
#pragma omp parallel num_threads(threads) reduction(+ : sum)
    for (int i = 0; i < 100; i++) {
        int copy = -1;
#pragma omp single nowait
        {
#pragma omp atomic
            count++;
        }
#pragma omp single copyprivate(copy)
        copy = i;
        sum += copy;
#pragma omp masked
        masked++;
    }
    CHECK_EQUAL(count, 100);
    CHECK_EQUAL(sum, 4950 * threads);
    CHECK_EQUAL(masked, 100);
}

static void critical_regions_exclude_each_other(void) {
    long unnamed = 0, named = 0, other = 0;
#pragma omp parallel num_threads(threads)
    for (int i = 0; i < 500; i++) {
#pragma omp critical
        unnamed++;
#pragma omp critical(one)
        {
            named++;
#pragma omp critical(two)
            other++;
        }
    }
    CHECK_EQUAL(unnamed, 500 * threads);
    CHECK_EQUAL(named, 500 * threads);
    CHECK_EQUAL(other, 500 * threads);
}

static void atomics_of_any_size_are_atomic(void) {
    long double wide = 0;
    int narrow = 0;
#pragma omp parallel num_threads(threads)
    for (int i = 0; i < 200; i++) {
#pragma omp atomic
        wide += 1; /* wider than the machine's atomics: the library's lock */
#pragma omp atomic
        narrow++;
    }
    CHECK_EQUAL(wide, 200 * threads);
    CHECK_EQUAL(narrow, 200 * threads);
}

static void barriers_keep_ranks_together(void) {
    int phase[64] = {0}, early = 0;
#pragma omp parallel num_threads(threads) reduction(+ : early)
    {
        int me = omp_get_thread_num();
        for (int p = 1; p <= 50; p++) {
            __atomic_store_n(&phase[me], p, __ATOMIC_RELAXED);
#pragma omp barrier
            for (int i = 0; i < threads; i++) early += __atomic_load_n(&phase[i], __ATOMIC_RELAXED) < p;
#pragma omp barrier
        }
    }
    CHECK_EQUAL(early, 0);
}

static void reductions_combine_every_rank(void) {
    int sum = 5, product = 1, least = INT_MAX, most = INT_MIN, bits = 0, all = 1, array[4] = {1, 2, 3, 4};
#pragma omp parallel for num_threads(threads) reduction(+ : sum, array) reduction(* : product) reduction(min : least)   \
    reduction(max : most) reduction(| : bits) reduction(&& : all)
    for (int i = 0; i < 100; i++) {
        sum += i;
        product *= i == 50 ? 3 : 1;
        least = i < least ? i : least;
        most = i > most ? i : most;
        bits |= 1 << i % 20;
        all = all && i < 100;
        array[i % 4] += i;
    }
    CHECK_EQUAL(sum, 4955);
    CHECK_EQUAL(product, 3);
    CHECK(least == 0 && most == 99 && all && bits == (1 << 20) - 1);
    CHECK_EQUAL(array[0] + array[1] + array[2] + array[3], 4960);
}

static void threadprivate_lasts_between_regions(void) {
    private_to_thread = 42;
#pragma omp parallel num_threads(threads) copyin(private_to_thread)
    {
        CHECK_EQUAL(private_to_thread, 42);
        private_to_thread = 100 + omp_get_thread_num();
    }
    for (int i = 0; i < 20; i++) {
#pragma omp parallel num_threads(threads)
        CHECK_EQUAL(private_to_thread, 100 + omp_get_thread_num());
    }
    CHECK_EQUAL(private_to_thread, 100);
}

static void scan_is_inclusive(void) {
    int in[100], out[100], sum = 0;
    for (int i = 0; i < 100; i++) in[i] = i * 7 % 13;
#pragma omp parallel for num_threads(threads) reduction(inscan, + : sum)
    for (int i = 0; i < 100; i++) {
        sum += in[i];
#pragma omp scan inclusive(sum)
        out[i] = sum;
    }
    int serial = 0;
    for (int i = 0; i < 100; i++) CHECK_EQUAL(out[i], serial += in[i]);
}

static void lastprivate_is_the_last_iterations(void) {
    int last = -1, conditional = -1;
#pragma omp parallel for num_threads(threads) lastprivate(last) schedule(dynamic)
    for (int i = 0; i < 77; i++) last = i;
    CHECK_EQUAL(last, 76);
#ifndef __clang__ /* 14 compiles `conditional` as if it were not there */
#pragma omp parallel for num_threads(threads) lastprivate(conditional : conditional) schedule(dynamic, 2)
    for (int i = 0; i < 77; i++)
        if (i % 10 == 3) conditional = i;
    CHECK_EQUAL(conditional, 73);
#endif
    (void)conditional;
}

static void locks_exclude_and_nest(void) {
    omp_lock_t lock;
    omp_nest_lock_t nest;
    long count = 0, nested_count = 0;
    omp_init_lock(&lock);
    omp_init_nest_lock(&nest);
#pragma omp parallel num_threads(threads)
    for (int i = 0; i < 300; i++) {
        if (i % 3 == 0) {
            while (!omp_test_lock(&lock)) {
#pragma omp taskyield
            }
        } else {
            omp_set_lock(&lock);
        }
        count++;
        omp_unset_lock(&lock);
        omp_set_nest_lock(&nest);
        CHECK_EQUAL(omp_test_nest_lock(&nest), 2);
        omp_set_nest_lock(&nest);
        nested_count++;
        omp_unset_nest_lock(&nest);
        omp_unset_nest_lock(&nest);
        omp_unset_nest_lock(&nest);
    }
    CHECK_EQUAL(count, 300 * threads);
    CHECK_EQUAL(nested_count, 300 * threads);
    CHECK(omp_test_lock(&lock));
    CHECK(!omp_test_lock(&lock));
    omp_unset_lock(&lock);
    omp_destroy_lock(&lock);
    omp_destroy_nest_lock(&nest);
}

static void memory_comes_from_allocators(void) {
    omp_alloctrait_t traits[] = {
        {omp_atk_alignment, 256}, {omp_atk_pool_size, 8192}, {omp_atk_fallback, omp_atv_null_fb}};
    omp_allocator_handle_t a = omp_init_allocator(omp_default_mem_space, 3, traits);
    CHECK(a != omp_null_allocator);
    char *p = omp_alloc(4000, a);
    CHECK(p && (uintptr_t)p % 256 == 0);
    CHECK(!omp_alloc(4200, a));
    omp_free(p, a);
    p = omp_calloc(10, 200, a);
    CHECK(p && !p[0] && !p[1999]);
    omp_free(p, omp_null_allocator);
    omp_destroy_allocator(a);
}

static void teams_and_target_run_on_the_host(void) {
    int sum = 0, x = 3;
#pragma omp target map(tofrom : x) firstprivate(sum)
    x += 4 + sum;
    CHECK_EQUAL(x, 7);
#pragma omp teams num_teams(3) reduction(+ : sum)
    sum += omp_get_team_num() + 10 * (omp_get_num_teams() == 3);
    CHECK_EQUAL(sum, 33);
    CHECK(omp_get_num_devices() == 0 && omp_is_initial_device());
}

/* What a compiler would not let a program call there. */
__attribute__((noinline)) static int all_begin(int *begun, int teams) {
    __atomic_fetch_add(begun, 1, __ATOMIC_SEQ_CST);
    const double until = omp_get_wtime() + 20;
    while (__atomic_load_n(begun, __ATOMIC_SEQ_CST) < teams && omp_get_wtime() < until) sched_yield();
    return __atomic_load_n(begun, __ATOMIC_SEQ_CST) == teams && omp_get_level() == 0 && !omp_in_parallel();
}

/* Each team waits until all have begun: one after another they would never. With one hart there are fewer at a time. */
static void teams_run_side_by_side(void) {
    if (omp_get_num_procs() == 1) return;
    int begun = 0, alone = 0, seen[5] = {0}, inner = 0, too_many = 0, meetings = 0;
    long sum = 0;
    double product = 1;
    unsigned any = 0;
#pragma omp teams num_teams(5) thread_limit(3) reduction(+ : sum) reduction(* : product) reduction(| : any)
    {
        const int team = omp_get_team_num();
        if (!all_begin(&begun, 5)) __atomic_fetch_add(&alone, 1, __ATOMIC_RELAXED);
        __atomic_fetch_add(&seen[team], 1, __ATOMIC_RELAXED);
#pragma omp parallel num_threads(8)
        {
            __atomic_fetch_add(&inner, omp_get_team_num() == team && omp_get_num_teams() == 5, __ATOMIC_RELAXED);
            __atomic_fetch_add(&too_many, omp_get_num_threads() > 3, __ATOMIC_RELAXED);
#pragma omp barrier
#pragma omp single
            __atomic_fetch_add(&meetings, 1, __ATOMIC_RELAXED);
        }
        sum += team;
        product *= 2;
        any |= 1u << team;
    }
    CHECK_EQUAL(begun, 5);
    CHECK_EQUAL(alone, 0);
    for (int i = 0; i < 5; i++) CHECK_EQUAL(seen[i], 1);
    CHECK_EQUAL(inner, 15);
    CHECK_EQUAL(too_many, 0);
    CHECK_EQUAL(meetings, 5);
    CHECK_EQUAL(sum, 10);
    CHECK_EQUAL(product, 32);
    CHECK_EQUAL(any, 31);
    CHECK_EQUAL(omp_get_num_teams(), 1);

    int many[300] = {0}; /* more teams than run at once */
#pragma omp teams num_teams(100)
#pragma omp distribute
    for (int i = 0; i < 300; i++) many[i] += omp_get_num_teams() == 100;
    for (int i = 0; i < 300; i++) CHECK_EQUAL(many[i], 1);
}

/* Rounding stands for all modes of floating point. */
static void ranks_have_the_modes_of_who_opened_the_region(void) {
    const int modes[] = {FE_UPWARD, FE_TONEAREST, FE_DOWNWARD, FE_TONEAREST};
    for (int i = 0; i < 4; i++) {
        int others = 0;
        fesetround(modes[i]);
#pragma omp parallel num_threads(threads + i) reduction(+ : others)
        {
            others += fegetround() != modes[i];
#pragma omp parallel num_threads(3) reduction(+ : others)
            others += fegetround() != modes[i];
#pragma omp barrier
            others += fegetround() != modes[i];
        }
        CHECK_EQUAL(others, 0);
        CHECK_EQUAL(fegetround(), modes[i]);
    }
}

int main(int argc, char **argv) {
    witness_comity();
    threads = argc > 1 ? atoi(argv[1]) : 4;
    for (int round = 0; round < 3; round++) { /* cold teams, then hot ones */
        region_has_the_ranks_asked_for();
        ranks_have_the_modes_of_who_opened_the_region();
        regions_nest_at_any_depth();
        variables_belong_to_the_task();
        loops_run_every_iteration_once();
        loops_without_barrier_may_overlap();
        ordered_regions_run_in_order();
        doacross_iterations_wait_for_their_sources();
        sections_run_once_each();
        single_is_done_by_one();
        critical_regions_exclude_each_other();
        atomics_of_any_size_are_atomic();
        barriers_keep_ranks_together();
        reductions_combine_every_rank();
        threadprivate_lasts_between_regions();
        scan_is_inclusive();
        lastprivate_is_the_last_iterations();
        locks_exclude_and_nest();
        memory_comes_from_allocators();
        teams_and_target_run_on_the_host();
        teams_run_side_by_side();
    }
    return report();
}
