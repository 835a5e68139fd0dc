/* Where threads are. `places show RANKS [CLAUSE]`: a line for each thread of a region, and with INNER=n of the inner
 * regions: "rank place first-of-partition size-of-partition affinity". `places stay RANKS`: checks that each thread
 * runs on its place's processors, whatever it waited for. `places promoted RANKS`: also when it is promoted. `places
 * set`: kmp_set_affinity. `places share RANKS`: those of two to a place are on many kernel threads, not on two. `places
 * hot RANKS`: in regions one after the other each is on a kernel thread of its own. `places clause 0|1`:
 * omp_get_proc_bind under a clause; 1: OMP_PROC_BIND=spread,close. */
#include "check.h"
#include <omp.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

extern void omp_get_partition_place_nums_8_(long *); /* Fortran's, for integer(8) */

static void show(char *line, size_t size) {
    int numbers[1024] = {-1}, n = omp_get_partition_num_places();
    long wide[1024];
    if (n <= 1024) omp_get_partition_place_nums(numbers), omp_get_partition_place_nums_8_(wide);
    for (int i = 0; i < n && n <= 1024; i++)
        if (wide[i] != numbers[i]) numbers[0] = -99;
    char affinity[128];
    omp_capture_affinity(affinity, sizeof affinity, "%A");
    snprintf(line, size, "%d %d %d %d %s", omp_get_thread_num(), omp_get_place_num(), numbers[0], n, affinity);
}

static char lines[64][64][256];

static void show_region(int ranks, const char *clause, int inner) {
    memset(lines, 0, sizeof lines);
#define BODY                                                                                                           \
    {                                                                                                                  \
        const int me = omp_get_thread_num();                                                                           \
        if (inner) {                                                                                                   \
            _Pragma("omp parallel num_threads(inner)") show(lines[me][omp_get_thread_num()], sizeof lines[0][0]);      \
        } else {                                                                                                       \
            show(lines[me][0], sizeof lines[0][0]);                                                                    \
        }                                                                                                              \
    }
    if (!clause) {
#pragma omp parallel num_threads(ranks)
        BODY
    } else if (!strcmp(clause, "primary")) {
#pragma omp parallel num_threads(ranks) proc_bind(master)
        BODY
    } else if (!strcmp(clause, "close")) {
#pragma omp parallel num_threads(ranks) proc_bind(close)
        BODY
    } else if (!strcmp(clause, "spread")) {
#pragma omp parallel num_threads(ranks) proc_bind(spread)
        BODY
    }
    for (int i = 0; i < ranks; i++)
        for (int j = 0; j < (inner ? inner : 1); j++) printf("%s\n", lines[i][j]);
}

static int is_at_home(void) {
    int ids[64], place = omp_get_place_num(), n = omp_get_place_num_procs(place);
    cpu_set_t now, wanted;
    CPU_ZERO(&wanted);
    omp_get_place_proc_ids(place, ids);
    for (int i = 0; i < n; i++) CPU_SET(ids[i], &wanted);
    const int cpu = sched_getcpu();
    return place >= 0 && n > 0 && sched_getaffinity(0, sizeof now, &now) == 0 && CPU_EQUAL(&now, &wanted) &&
           CPU_ISSET(cpu, &wanted);
}

static void stay(int ranks) {
    int away = 0, inner_away = 0;
    for (int round = 0; round < 20; round++) {
#pragma omp parallel num_threads(ranks) reduction(+ : away)
        {
            away += !is_at_home();
            for (int i = 0; i < 20; i++) {
#pragma omp barrier
                away += !is_at_home();
#pragma omp critical
                away += !is_at_home();
#pragma omp for schedule(dynamic) ordered
                for (int j = 0; j < ranks; j++)
#pragma omp ordered
                    away += !is_at_home();
            }
#pragma omp parallel num_threads(3) reduction(+ : inner_away)
            inner_away += !is_at_home();
            away += !is_at_home();
        }
        away += !is_at_home();
#pragma omp teams num_teams(3) reduction(+ : away)
        away += !is_at_home();
        away += !is_at_home();
    }
    CHECK_EQUAL(away, 0);
    CHECK_EQUAL(inner_away, 0);
}

static void meet(int *arrived, int all) {
    __atomic_add_fetch(arrived, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(arrived, __ATOMIC_SEQ_CST) < all) {
    }
}

/* More ranks than harts wait for each other in a loop: all but one of a hart go on as promoted, from the middle; the
 * second time from the middle of inner regions. */
static void promoted(int ranks) {
    int away = 0, inner_away = 0, all_ranks = 0;
    for (int round = 0; round < 3; round++) {
        int arrived = 0, arrived_inside = 0;
#pragma omp parallel num_threads(ranks) reduction(+ : away)
        {
#pragma omp barrier
            if (round % 2 == 0) meet(&arrived, ranks);
            away += !is_at_home();
#pragma omp parallel num_threads(3) reduction(+ : inner_away)
            {
                if (round % 2 == 1) meet(&arrived_inside, 3 * ranks);
                inner_away += !is_at_home();
            }
            away += !is_at_home();
#pragma omp barrier
            away += !is_at_home();
#pragma omp atomic
            all_ranks++;
        }
        away += !is_at_home();
    }
    CHECK_EQUAL(all_ranks, 3 * ranks);
    CHECK_EQUAL(away, 0);
    CHECK_EQUAL(inner_away, 0);
}

static void set_affinity(int ranks) {
    int (*set)(void **) = dlsym(RTLD_DEFAULT, "kmp_set_affinity"),
                    (*get)(void **) = dlsym(RTLD_DEFAULT, "kmp_get_affinity");
    int (*add)(int, void **) = dlsym(RTLD_DEFAULT, "kmp_set_affinity_mask_proc"),
                         (*has)(int, void **) = dlsym(RTLD_DEFAULT, "kmp_get_affinity_mask_proc");
    void (*make)(void **) = dlsym(RTLD_DEFAULT, "kmp_create_affinity_mask");
    void (*drop)(void **) = dlsym(RTLD_DEFAULT, "kmp_destroy_affinity_mask");
    cpu_set_t all;
    CHECK(sched_getaffinity(0, sizeof all, &all) == 0);
    int first = 0, last = CPU_SETSIZE - 1, wrong = 0;
    while (!CPU_ISSET(first, &all)) first++;
    while (!CPU_ISSET(last, &all)) last--;
#pragma omp parallel num_threads(ranks) reduction(+ : wrong)
    {
        const int cpu = omp_get_thread_num() % 2 ? last : first;
        void *mask;
        make(&mask);
        wrong += set(&mask) != -1; /* nothing in it */
        wrong += add(cpu, &mask) != 0 || add(CPU_SETSIZE * 64, &mask) != -1 || set(&mask) != 0;
        for (int i = 0; i < 20; i++) {
#pragma omp barrier
            cpu_set_t now;
            wrong += sched_getaffinity(0, sizeof now, &now) != 0 || CPU_COUNT(&now) != 1 || !CPU_ISSET(cpu, &now);
        }
        void *found;
        make(&found);
        wrong += get(&found) != 0 || has(cpu, &found) != 1 ||
                 (first != last && has(cpu == first ? last : first, &found) != 0);
        drop(&found);
        drop(&mask);
    }
    CHECK_EQUAL(wrong, 0);
    /* Some that have bound themselves, among many that have not. */
    int counted = 0;
    for (int region = 0; region < 200; region++)
#pragma omp parallel num_threads(20 * ranks) reduction(+ : counted)
        counted++;
    CHECK_EQUAL(counted, 200 * 20 * ranks);
}

/* As in libgomp: a clause proc_bind holds for the regions inside, until another one, or OMP_PROC_BIND's entry for them.
 */
static void clause_lasts(int listed) {
    const omp_proc_bind_t outside = omp_get_proc_bind();
#pragma omp parallel num_threads(2) proc_bind(master)
    {
        CHECK_EQUAL(omp_get_proc_bind(), listed ? omp_proc_bind_close : omp_proc_bind_master);
#pragma omp parallel num_threads(2)
        CHECK_EQUAL(omp_get_proc_bind(), listed ? omp_proc_bind_close : omp_proc_bind_master);
#pragma omp parallel num_threads(2) proc_bind(spread)
        CHECK_EQUAL(omp_get_proc_bind(), omp_proc_bind_spread);
    }
    CHECK_EQUAL(omp_get_proc_bind(), outside);
}

static int count_different(const long *of, int n) {
    int different = 0;
    for (int i = 0; i < n; i++) {
        int first = 0;
        while (of[first] != of[i]) first++;
        different += first == i;
    }
    return different;
}

/* The harts sleep when a region begins, and come one after the other. */
static void share(int ranks) {
    enum { regions = 40 };
    int different = 0;
    for (int region = 0; region < regions; region++) {
        long on[64];
#pragma omp parallel num_threads(ranks)
        {
            usleep(5000);
            on[omp_get_thread_num()] = syscall(SYS_gettid);
        }
        different += count_different(on, ranks);
    }
    if (different < 3 * regions) fprintf(stderr, "%d kernel threads had %d regions' ranks\n", different, regions);
    CHECK_EQUAL(different >= 3 * regions, 1);
}

/* Mostly: another process may take a core away. Few ranks say where they are, for the others shall be brief. */
static void hot(int ranks) {
    enum { regions = 20000, each = 50 };
    int apart = 0;
    for (int region = 0; region < regions; region++) {
        long on[64];
        const int says = region % each == 0;
#pragma omp parallel num_threads(ranks)
        if (says) on[omp_get_thread_num()] = syscall(SYS_gettid);
        apart += says && count_different(on, ranks) == ranks;
    }
    if (apart < regions / each / 2)
        fprintf(stderr, "only %d of %d regions had a kernel thread for each\n", apart, regions / each);
    CHECK_EQUAL(apart >= regions / each / 2, 1);
}

int main(int argc, char **argv) {
    witness_comity();
    const int ranks = argc > 2 ? atoi(argv[2]) : 4;
    const char *inner = getenv("INNER");
    if (argc > 1 && !strcmp(argv[1], "stay")) {
        stay(ranks);
    } else if (argc > 1 && !strcmp(argv[1], "promoted")) {
        promoted(ranks);
    } else if (argc > 1 && !strcmp(argv[1], "set")) {
        set_affinity(ranks);
    } else if (argc > 1 && !strcmp(argv[1], "share")) {
        share(ranks);
    } else if (argc > 1 && !strcmp(argv[1], "hot")) {
        hot(ranks);
    } else if (argc > 1 && !strcmp(argv[1], "clause")) {
        clause_lasts(ranks);
    } else {
        show_region(ranks, argc > 3 ? argv[3] : NULL, inner ? atoi(inner) : 0);
    }
    return report();
}
