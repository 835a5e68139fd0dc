// The first thread sleeps beside threads that compute. As it begins to, no other thread computes on its kernel thread:
// it would have to be moved off that before the sleep could end. The thread asks the kernel itself where it is. And
// signals that others take do not end a sleep, also of one that has left its hart to others.
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static atomic_int sleeps, over, looks, wrong, taken;
static sigset_t theirs;

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

static void *take(void *unused) {
    for (int signal = 0; !atomic_load(&over); atomic_fetch_add(&taken, 1)) sigwait(&theirs, &signal);
    return unused;
}

// Signals from elsewhere, as the kernel brings them, until this process is ended.
static pid_t start_sender(void) {
    const pid_t to = getpid(), sender = fork();
    if (sender != 0) return sender;
    while (kill(to, SIGUSR1) == 0) usleep(2000);
    _exit(0);
}

int main(void) {
    enum { threads = 3, times = 20 };
    pthread_t t[threads], taker;
    int ended_early = 0;
    sigemptyset(&theirs);
    sigaddset(&theirs, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &theirs, NULL);
    const pid_t sender = start_sender();
    if (sender < 0 || pthread_create(&taker, NULL, take, NULL) != 0) return 1;
    for (int i = 0; i < threads; ++i)
        if (pthread_create(&t[i], NULL, compute, NULL) != 0) return 1;
    // Longer where the machine is busy.
    for (int i = 1; i <= times || atomic_load(&looks) == 0 || atomic_load(&taken) == 0; ++i) {
        atomic_store(&sleeps, i);
        ended_early += usleep(3000) != 0;
        atomic_store(&sleeps, 0);
    }
    atomic_store(&over, 1);
    for (int i = 0; i < threads; ++i) pthread_join(t[i], NULL);
    pthread_join(taker, NULL); // the sender goes on
    kill(sender, SIGKILL);
    printf("%d of the looks found one on the first thread's, %d sleeps ended early\n", atomic_load(&wrong),
           ended_early);
    return wrong != 0 || ended_early != 0;
}
