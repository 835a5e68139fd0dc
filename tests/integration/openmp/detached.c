// Detached tasks where no barrier comes soon: outside all regions, and undeferred beside a sibling that waits for its
// event. And target regions that depend on one, and that nobody waits for.
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
        { in_region++; }
#pragma omp task detach(second) if (0)
        { omp_fulfill_event(second); }
        omp_fulfill_event(first);
    }
    if (in_region != 1) return printf("the task ran %d times\n", in_region), 1;
    int from = 0, to = 0, kept = 5, updated = 0;
#pragma omp parallel num_threads(2)
#pragma omp single
    {
#pragma omp task detach(first) depend(out : from) shared(from)
        { from = 1; }
#pragma omp target nowait depend(inout : from) map(tofrom : to) map(to : from) firstprivate(kept)
        { to = from + kept; }
        kept = 7;
#pragma omp target update nowait depend(inout : from) to(from)
#pragma omp task depend(in : from) shared(updated)
        { updated = 1; }
        omp_fulfill_event(first);
    }
    if (to != 6 || !updated) return printf("the target region's result is %d\n", to), 1;
    return 0;
}
