/* One process, two ABIs: this program is clang's, both_library.c is gcc's. They must be one OpenMP. */
#include "check.h"
#include <omp.h>

long gcc_sum_in_the_callers_region(int n);
int gcc_thread_number(void);
int gcc_region_inside(int threads);
void gcc_task(int *counter);

int main(int argc, char **argv) {
    const int threads = argc > 1 ? atoi(argv[1]) : 4;
    witness_comity();
    omp_set_max_active_levels(4);
    omp_set_dynamic(0);
    int numbers = 0, inside = 0, tasks = 0;
#pragma omp parallel num_threads(threads)
    {
        CHECK_EQUAL(gcc_thread_number(), omp_get_thread_num());
        for (int round = 0; round < 20; round++) {
            CHECK_EQUAL(gcc_sum_in_the_callers_region(100), 4950);
#pragma omp barrier
        }
#pragma omp atomic
        numbers += gcc_thread_number();
#pragma omp critical
        inside += gcc_region_inside(3);
        for (int i = 0; i < 10; i++) gcc_task(&tasks);
#pragma omp barrier
        CHECK_EQUAL(tasks, 10 * threads);
    }
    CHECK_EQUAL(numbers, threads * (threads - 1) / 2);
    CHECK_EQUAL(inside, 3 * threads);
    return report();
}
