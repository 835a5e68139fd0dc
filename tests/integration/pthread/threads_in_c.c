// Cleanup handlers as C code without exceptions has them: setjmp, and functions of the C library that nobody sees.
#define _GNU_SOURCE
#include <pthread.h>

static int *next_place;
static void note(void *number) { *next_place++ = (int)(long)number; }

void run_handlers_in_c(void (*middle)(void), int *order) {
    next_place = order;
    pthread_cleanup_push(note, (void *)1L);
    pthread_cleanup_push(note, (void *)2L);
    order[3] = 2;
    middle();
    pthread_cleanup_pop(0);
    pthread_cleanup_pop(0);
}
