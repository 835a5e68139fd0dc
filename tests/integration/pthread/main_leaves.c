// The first thread leaves; the process ends, with status 0 and its handlers, when the last one does.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int done;

static void *last(void *unused) {
    usleep(20000);
    done = 1;
    return unused;
}

static void at_end(void) { puts(done ? "the last one has ended" : "too early"); }

int main(void) {
    pthread_t t;
    atexit(at_end);
    if (pthread_create(&t, NULL, last, NULL) != 0) return 1;
    pthread_detach(t);
    pthread_exit(NULL);
}
