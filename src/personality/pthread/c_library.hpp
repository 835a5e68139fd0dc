// The C library's own condition variables: its functions, and where they note what pthread_cond_init was told.
#pragma once

#include <ctime>

#include <pthread.h>

namespace comity::posix::c_library {

// The definitions after this object's. Any thread.
int wait(pthread_cond_t *c, pthread_mutex_t *m);
int timed_wait(pthread_cond_t *c, pthread_mutex_t *m, const timespec *deadline);
int clock_wait(pthread_cond_t *c, pthread_mutex_t *m, clockid_t clock, const timespec *deadline);
int signal(pthread_cond_t *c);
int broadcast(pthread_cond_t *c);
int destroy(pthread_cond_t *c);

// Does the condition belong to one process, so that it may be Comity's? False for those shared between processes, whose
// other users may run without Comity; and for all of them where the C library keeps its attributes in a way that we do
// not know. Any thread.
bool is_private(const pthread_cond_t *c) noexcept;
// The clock of its timed waits: CLOCK_REALTIME or CLOCK_MONOTONIC.
clockid_t clock_of(const pthread_cond_t *c) noexcept;

} // namespace comity::posix::c_library
