// New programs: what both preload objects do with the environment that they get (exec.cpp), and what each does with the
// thread that starts one (exec_on_harts.cpp, exec_alone.cpp).
#pragma once

#include <cstdio>

#include <signal.h>

namespace comity::posix {

// Makes a call by which the process becomes another program, or by which the calling thread starts one.
int replace_program(int (*call)(void *), void *data);
int start_program(int (*call)(void *), void *data);
// As the C library's system() and popen(). May switch.
int run_in_shell(const char *command, char *const environment[]);
std::FILE *open_shell(const char *command, const char *type);

// As system(), for a caller that blocks SIGCHLD; the child gets the mask `own`.
int run_in_shell(const char *command, char *const environment[], const sigset_t &own);
// The same for a kernel thread's own mask. It is the C library's unless the environment is another one.
int run_in_shell_of_kernel(const char *command, char *const environment[]);
std::FILE *open_shell_of_kernel(const char *command, const char *type);

} // namespace comity::posix
