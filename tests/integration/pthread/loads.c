/* Waits for the threads that a library starts in its constructor (threads_in_constructor.cpp): one that it loads, or,
 * if none is named, one that it is linked with: by threads_ended.c, or itself. */
#include <dlfcn.h>
#include <stdio.h>

#ifdef LINKED
int threads_ended(void);
#elif defined(LINKED_DIRECTLY)
extern int ended_in_constructor;
static int threads_ended(void) { return ended_in_constructor; }
#else
static int threads_ended(void) { return -1; }
#endif

int main(int argc, char **argv) {
    int ended = -1;
    if (argc > 1) {
        void *library = dlopen(argv[1], RTLD_NOW);
        if (!library) {
            fprintf(stderr, "loads: %s\n", dlerror());
            return 1;
        }
        const int *there = dlsym(library, "ended_in_constructor");
        if (there) ended = *there;
    } else {
        ended = threads_ended();
    }
    printf("%d threads have ended\n", ended);
    return ended != 4;
}
