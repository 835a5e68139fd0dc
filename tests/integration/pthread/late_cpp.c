/* A program in C loads a library in C++ while its threads run, and it is the first to bring the C++ library: new,
 * delete and exceptions work in the threads, each of which handles its own while the others do. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

enum { number = 8 };
static int (*throws_and_catches)(int);
static pthread_barrier_t begin, loaded;

static void *run(void *at) {
    pthread_barrier_wait(&begin);
    pthread_barrier_wait(&loaded);
    int wrong = 0;
    for (int i = 0; i < 20; ++i) wrong += throws_and_catches((int)(long)at * 100 + i);
    return (void *)(long)wrong;
}

int main(int argc, char **argv) {
    pthread_t threads[number];
    long wrong = argc != 2;
    pthread_barrier_init(&begin, NULL, number + 1);
    pthread_barrier_init(&loaded, NULL, number + 1);
    for (long i = 0; i < number; ++i) pthread_create(&threads[i], NULL, run, (void *)i);
    pthread_barrier_wait(&begin);
    void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        fprintf(stderr, "late_cpp: %s\n", dlerror());
        return 1;
    }
    throws_and_catches = (int (*)(int))dlsym(library, "throws_and_catches");
    pthread_barrier_wait(&loaded);
    for (int i = 0; i < number; ++i) {
        void *result = NULL;
        pthread_join(threads[i], &result);
        wrong += (long)result;
    }
    printf("%ld exceptions are wrong\n", wrong);
    return wrong != 0;
}
