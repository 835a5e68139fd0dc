/* Loads a library whose constructor starts four threads and waits for them (threads_in_constructor.cpp). */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv) {
    void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
    if (!library) {
        fprintf(stderr, "loads: %s\n", argc > 1 ? dlerror() : "no library is named");
        return 1;
    }
    const int *ended = dlsym(library, "ended_in_constructor");
    printf("%d threads have ended\n", ended ? *ended : -1);
    return !ended || *ended != 4;
}
