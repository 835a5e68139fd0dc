#pragma once

#include <sys/wait.h>
#include <unistd.h>

// Runs f in a child of this process; true when it ended well, and soon.
template <class F> bool in_a_child(F f) {
    const pid_t child = fork();
    if (child == 0) {
        alarm(30); // a hang ends by a signal
        f();
        _exit(0);
    }
    int status = -1;
    return waitpid(child, &status, 0) == child && status == 0;
}
