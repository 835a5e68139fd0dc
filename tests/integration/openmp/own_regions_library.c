/* A library as many are: it opens a region of its own unless it is told that it is in one. */
#include "own_regions_library.h"

#include <omp.h>

/* Each asks and does something with the answer: a call in tail position would come from the library's caller. */
static void look(struct view *into) {
    into->in_parallel = omp_in_parallel();
    into->level = omp_get_level();
    into->active_level = omp_get_active_level();
    into->number = omp_get_thread_num();
    into->threads = omp_get_num_threads();
}

void library_looks(struct view *outside, struct view *inside) {
    look(outside);
    inside->width = 1;
    if (omp_in_parallel()) {
        look(inside);
        return;
    }
#pragma omp parallel num_threads(3)
    {
#pragma omp single
        {
            look(inside);
            inside->width = omp_get_num_threads();
        }
    }
}

void library_calls_back(void (*f)(void)) {
#pragma omp parallel num_threads(2)
    f();
}
