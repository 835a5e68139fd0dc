/* A tree of 9,331 POSIX threads (depth 5, fan 6), each of which holds a mebibyte while its children live: how much
 * memory it takes depends on how many live at once. Prints the most that was resident. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum { depth = 5, fan = 6, all = 9331, held = 1 << 20 };
static atomic_long ended;

static void *grow(void *argument) {
    const int level = *(const int *)argument, below = level + 1;
    char *const block = malloc(held);
    if (!block) exit(2);
    memset(block, level + 1, held);
    pthread_t children[fan];
    for (int i = 0; level < depth && i < fan; ++i)
        if (pthread_create(&children[i], NULL, grow, (void *)&below) != 0) exit(2);
    for (int i = 0; level < depth && i < fan; ++i) pthread_join(children[i], NULL);
    if (block[held / 2] != level + 1) exit(1);
    free(block);
    atomic_fetch_add(&ended, 1);
    return NULL;
}

int main(void) {
    struct timespec begin, end;
    struct rusage usage;
    int root = 0;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    grow(&root);
    clock_gettime(CLOCK_MONOTONIC, &end);
    if (ended != all) return 1;
    getrusage(RUSAGE_SELF, &usage);
    printf("{\"seconds\": %.6f, \"rss_mb\": %.1f}\n",
           (double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec),
           (double)usage.ru_maxrss * 1024 / 1e6);
    return 0;
}
