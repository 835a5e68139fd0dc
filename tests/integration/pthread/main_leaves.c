// The first thread leaves; the process ends, with status 0 and its handlers, when the last one does. Signals that it
// did not block are the others'.
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <unistd.h>

static int done;
static volatile sig_atomic_t handled;

static void handler(int signal) { handled = signal; }

static void *last(void *unused) {
    usleep(20000);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    struct pollfd p = {signalfd(-1, &set, SFD_CLOEXEC), POLLIN, 0};
    kill(getpid(), SIGUSR1);
    done = poll(&p, 1, 5000) == 1 && handled == 0;
    return unused;
}

static void at_end(void) { puts(done ? "the last one has ended" : "too early, or without its signal"); }

int main(void) {
    pthread_t t;
    atexit(at_end);
    signal(SIGUSR1, handler);
    if (pthread_create(&t, NULL, last, NULL) != 0) return 1;
    pthread_detach(t);
    pthread_exit(NULL);
}
