/* A region is left by longjmp, by the thread that opened it. The specification forbids it; as with the originals the
 * others still have their parts of it, the thread stays in it, and further regions are within it. */
#include "check.h"
#include <omp.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <unistd.h>

static jmp_buf outside;
static atomic_int left_parts, parts, others;

__attribute__((noinline)) static void leave(int ranks) {
#pragma omp parallel num_threads(ranks)
    {
        atomic_fetch_add(&left_parts, 1);
        if (omp_get_thread_num() == 0) longjmp(outside, 1);
    }
}
/* Where the stack of the region's opener was. */
__attribute__((noinline)) static void overwrite(void) {
    volatile char stack[1 << 14];
    for (unsigned i = 0; i < sizeof stack; i++) stack[i] = 0x5b;
}
__attribute__((noinline)) static void whole(int ranks) {
    int first = 1, second = 2, third = 3;
#pragma omp parallel num_threads(ranks) firstprivate(first, second, third)
    {
        if (omp_get_num_threads() != ranks) atomic_fetch_add(&others, 1);
        atomic_fetch_add(&parts, first + second + third - 5);
#pragma omp barrier
    }
}

int main(int argc, char **argv) {
    static volatile int rounds, ranks;
    ranks = argc > 1 ? atoi(argv[1]) : 4;
    witness_comity();
    for (rounds = 0; rounds < 6; rounds++) {
        if (!setjmp(outside)) leave(ranks);
        overwrite();
        for (int i = 0; i < 3; i++) whole(ranks);
        CHECK_EQUAL(parts, 3 * ranks * (rounds + 1));
        CHECK_EQUAL(omp_get_thread_num(), 0);
    }
    CHECK_EQUAL(others, 0);
    for (int i = 0; left_parts < rounds * ranks && i < 10000; i++) usleep(1000);
    CHECK_EQUAL(left_parts, rounds * ranks);
    return report();
}
