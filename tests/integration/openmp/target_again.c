// A target region begins as an initial thread of its own, whose team goes with it; the ranks' contexts stay. They must
// not take what now lies where the last team was for themselves.
#include <stdio.h>
#include <stdlib.h>

#include <omp.h>

enum { rounds = 400 };

static int sum_on_target(int ranks, int n) {
    int sum = 0, wrong = 0;
#pragma omp target map(tofrom : sum, wrong)
    {
#pragma omp parallel for num_threads(ranks) schedule(guided) reduction(+ : sum, wrong)
        for (int i = 0; i < n; ++i) {
            sum += i;
            wrong += omp_get_thread_num() >= omp_get_num_threads() || omp_get_num_threads() != ranks;
        }
    }
    return wrong ? -1 : sum;
}

int main(void) {
    unsigned random = 1;
    void *kept[16] = {NULL};
    for (int i = 0; i < rounds; ++i) {
        random = random * 1103515245 + 12345;
        void **some = &kept[random >> 16 & 15]; // so that teams come to lie elsewhere, and where others were
        free(*some);
        *some = malloc(64U << (random >> 20 & 7));
        const int ranks = 2 + (int)(random >> 24 & 3);
        if (sum_on_target(ranks, 1000) != 499500) {
            fprintf(stderr, "round %d with %d ranks\n", i, ranks);
            return 1;
        }
    }
    puts("all summed");
    return 0;
}
