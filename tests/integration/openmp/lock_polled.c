// A rank that looks again and again for a lock lets the others run: on one hart, with nobody who would move it off
// that.
#include <omp.h>
#include <stdio.h>
#include <string.h>

static omp_lock_t lock;
static omp_nest_lock_t nested;
static int is_nested;

static int test(void) { return is_nested ? omp_test_nest_lock(&nested) : omp_test_lock(&lock); }
static void unset(void) { is_nested ? omp_unset_nest_lock(&nested) : omp_unset_lock(&lock); }

int main(int count, char **words) {
    enum { ranks = 5, rounds = 20 };
    if (count != 2) return 2;
    is_nested = strcmp(words[1], "nested") == 0;
    omp_init_lock(&lock);
    omp_init_nest_lock(&nested);
    int had = 0;
    for (int i = 0; i < rounds; ++i) {
        if (!test()) return 3;
#pragma omp parallel num_threads(ranks)
        if (omp_get_thread_num() == ranks - 1) {
            unset();
        } else {
            while (!test()) {
            }
            ++had;
            unset();
        }
    }
    printf("%d had it\n", had);
    return had != rounds * (ranks - 1);
}
