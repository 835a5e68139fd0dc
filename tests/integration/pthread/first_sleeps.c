// While the first thread sleeps, no other thread computes on its kernel thread: it would have to be moved off that
// before the sleep could end. The thread asks the kernel itself where it is.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static atomic_int sleeps, over, looks, wrong;

static void *compute(void *unused) {
    while (!atomic_load(&over)) {
        const int before = atomic_load(&sleeps);
        char here[64] = {0};
        if (readlink("/proc/thread-self", here, sizeof here - 1) <= 0) abort();
        if (before == 0 || atomic_load(&sleeps) != before) continue;
        atomic_fetch_add(&looks, 1);
        if (atoi(strrchr(here, '/') + 1) == getpid()) atomic_fetch_add(&wrong, 1);
    }
    return unused;
}

int main(void) {
    enum { threads = 3, times = 20 };
    pthread_t t[threads];
    for (int i = 0; i < threads; ++i)
        if (pthread_create(&t[i], NULL, compute, NULL) != 0) return 1;
    for (int i = 1; i <= times || atomic_load(&looks) == 0; ++i) { // the machine may be busy
        atomic_store(&sleeps, i);
        usleep(3000);
        atomic_store(&sleeps, 0);
    }
    atomic_store(&over, 1);
    for (int i = 0; i < threads; ++i) pthread_join(t[i], NULL);
    printf("%d of the looks found one on the first thread's\n", atomic_load(&wrong));
    return 0;
}
