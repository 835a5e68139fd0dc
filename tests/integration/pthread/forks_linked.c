/* Forks, and forks again in the child, with a library whose handlers of forks were registered before Comity's. */
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

int ended_before_forks(void);

static int fork_again(int depth) {
    int status = 0;
    const pid_t child = fork();
    if (child == 0) _exit(depth > 1 ? fork_again(depth - 1) : ended_before_forks());
    waitpid(child, &status, 0);
    return WEXITSTATUS(status);
}

int main(void) {
    for (int i = 0; i < 10; ++i) {
        const int here = ended_before_forks(), there = fork_again(2);
        if (there != here + 2) {
            printf("%d of %d ends before forks\n", there, here + 2);
            return 1;
        }
    }
    return 0;
}
