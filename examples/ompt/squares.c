/* A program for the tool to look at: two places that open regions. */
#include <stdio.h>

int main(void) {
    double sum = 0;
    for (int i = 0; i < 100; i++) {
#pragma omp parallel num_threads(2)
        {
#pragma omp for reduction(+ : sum)
            for (int j = 0; j < 1000; j++) sum += (double)j * j;
        }
    }
#pragma omp parallel num_threads(3)
    {
#pragma omp single
        printf("%.0f\n", sum);
    }
    return sum == 100 * 332833500.0 ? 0 : 1;
}
