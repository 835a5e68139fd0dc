// Stands in for glibc's, which needs files of its build: what the tests use of it.
#pragma once
#include <signal.h>
#define SIGCANCEL __SIGRTMIN
#define SIGSETXID (__SIGRTMIN + 1)
