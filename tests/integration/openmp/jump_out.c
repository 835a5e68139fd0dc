// A rank that is not the first leaves its region by longjmp, which one line names.
#include <omp.h>
#include <setjmp.h>

static jmp_buf outside;

int main(void) {
    if (setjmp(outside)) return 1;
#pragma omp parallel num_threads(2)
    {
        if (omp_get_thread_num() == 1) longjmp(outside, 1);
#pragma omp barrier
    }
    return 0;
}
