// Detached tasks where no barrier comes soon: outside all regions, and undeferred beside a sibling that waits for its
// event.
#include <omp.h>
#include <stdio.h>

int main(void) {
    int ran = 0, in_region = 0;
    omp_event_handle_t e = (omp_event_handle_t)0, first = e, second = e;
#pragma omp task detach(e) shared(ran)
    {
        ran = 1;
        omp_fulfill_event(e);
    }
    if (!ran) return puts("a detached task outside all regions did not run"), 1;
#pragma omp parallel num_threads(2)
#pragma omp single
    {
#pragma omp task detach(first) shared(in_region)
        {
            in_region++;
        }
#pragma omp task detach(second) if (0)
        {
            omp_fulfill_event(second);
        }
        omp_fulfill_event(first);
    }
    if (in_region != 1) return printf("the task ran %d times\n", in_region), 1;
    return 0;
}
