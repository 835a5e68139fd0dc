// A handler of a thread, or of the program's first one, forks where that computes or sleeps in a call. The child is a
// whole one: it makes a thread and joins it.
//   forks_in_handlers computes|sleeps|selects thread|first
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/select.h>
#include <sys/wait.h>
#include <unistd.h>

enum { code = 7, limit_s = 20 };

static volatile sig_atomic_t is_done = 0, status = 0;
static const char *how;

static void *nothing(void *argument) { return argument; }

static _Noreturn void be_a_child(void) {
    pthread_t t;
    alarm(limit_s);
    _exit(pthread_create(&t, NULL, nothing, NULL) == 0 && pthread_join(t, NULL) == 0 ? code : 1);
}

static void forks(int signal) {
    (void)signal;
    const pid_t child = fork();
    if (child == 0) be_a_child();
    int ended = -1;
    if (child > 0) waitpid(child, &ended, 0);
    status = ended;
    is_done = 1;
}

static void *works(void *argument) {
    while (!is_done) {
        if (strcmp(how, "sleeps") == 0)
            usleep(1000000);
        else if (strcmp(how, "selects") == 0)
            select(0, NULL, NULL, NULL, &(struct timeval){1, 0});
        else
            for (volatile int i = 0; i < 100000; ++i) {
            }
    }
    return argument;
}

static void signal_later(pid_t process) {
    if (fork() != 0) return;
    usleep(100000);
    kill(process, SIGUSR1);
    _exit(0);
}

int main(int argc, char **argv) {
    pthread_t t;
    struct sigaction a;
    if (argc != 3) return 2;
    how = argv[1];
    memset(&a, 0, sizeof a);
    a.sa_handler = forks;
    sigaction(SIGUSR1, &a, NULL);
    alarm(2 * limit_s);
    if (strcmp(argv[2], "first") == 0) {
        signal_later(getpid());
        works(NULL);
    } else {
        if (pthread_create(&t, NULL, works, NULL) != 0) return 2;
        usleep(100000);
        pthread_kill(t, SIGUSR1);
        pthread_join(t, NULL);
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == code) return 0;
    printf("the child's status is %#x\n", (unsigned)status);
    return 1;
}
