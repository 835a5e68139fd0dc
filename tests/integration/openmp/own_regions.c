/* COMITY_OWN_REGIONS: own_regions 0|1 says what is set. A library asks in a region of the program's; the program itself
 * is told the truth, and so is the library about regions of its own. */
#include "check.h"
#include "own_regions_library.h"

#include <omp.h>

static int own;

static void check_program(int level) {
    CHECK_EQUAL(omp_in_parallel(), level > 0);
    CHECK_EQUAL(omp_get_level(), level);
    CHECK_EQUAL(omp_get_active_level(), level);
}

/* Called at `level` regions around, of which `rank` of `threads` is the innermost. */
static void check_library(int level, int rank, int threads) {
    struct view outside, inside;
    library_looks(&outside, &inside);
    const int told = own ? 0 : level;
    CHECK_EQUAL(outside.in_parallel, told > 0);
    CHECK_EQUAL(outside.level, told);
    CHECK_EQUAL(outside.active_level, told);
    CHECK_EQUAL(outside.number, rank);
    CHECK_EQUAL(outside.threads, threads);
    const int opens = told == 0;
    CHECK_EQUAL(inside.width, opens ? 3 : 1);
    CHECK_EQUAL(inside.in_parallel, 1);
    CHECK_EQUAL(inside.level, opens ? 1 : level);
    CHECK_EQUAL(inside.active_level, opens ? 1 : level);
    CHECK_EQUAL(inside.threads, opens ? 3 : threads);
}

/* The program in a region of the library's, and the library in it once more: it is told of that region, which is its
 * own. */
static void called_back(void) {
    struct view outside, inside;
    check_program(1);
    library_looks(&outside, &inside);
    CHECK_EQUAL(outside.in_parallel, 1);
    CHECK_EQUAL(outside.level, 1);
    CHECK_EQUAL(inside.width, 1);
}

int main(int argc, char **argv) {
    own = argc > 1 && atoi(argv[1]) != 0;
    witness_comity();
    omp_set_max_active_levels(8);
    omp_set_dynamic(0);
    check_program(0);
    check_library(0, 0, 1);
    for (int round = 0; round < 20; round++) {
#pragma omp parallel num_threads(4)
        {
            check_program(1);
            check_library(1, omp_get_thread_num(), 4);
#pragma omp barrier
            const int outer = omp_get_thread_num();
#pragma omp parallel num_threads(2)
            {
                check_program(2);
                CHECK_EQUAL(omp_get_ancestor_thread_num(1), outer);
                check_library(2, omp_get_thread_num(), 2);
            }
        }
        library_calls_back(called_back);
    }
    return report();
}
