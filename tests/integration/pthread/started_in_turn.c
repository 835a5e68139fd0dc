// A program that creates a thread, and is started by a shell which `comity run` has started. usage: started_in_turn
// kernels|comitys; exits with 0 if its mutexes are as the C library makes them, or if it does not matter
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int are_kernels, wrong;
static sem_t ended;
static pthread_mutex_t made_static = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

// Chromium's sandbox finds the C library's field for a thread's id by this.
static void look(pthread_mutex_t *m) {
    pthread_mutex_lock(m);
    pthread_mutex_lock(m);
    if (are_kernels && m->__data.__owner != gettid()) ++wrong;
    pthread_mutex_unlock(m);
    pthread_mutex_unlock(m);
}

static void *work(void *made) {
    look(made);
    look(&made_static);
    sem_post(&ended);
    return NULL;
}

int main(int argc, char **argv) {
    are_kernels = argc > 1 && strcmp(argv[1], "kernels") == 0;
    pthread_mutexattr_t a;
    pthread_mutex_t made;
    pthread_mutexattr_init(&a);
    pthread_mutexattr_settype(&a, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&made, &a);
    sem_init(&ended, 0, 0);
    pthread_t t;
    if (pthread_create(&t, NULL, work, &made) != 0) return 2;
    sem_wait(&ended);
    pthread_join(t, NULL);
    work(&made);
    if (wrong == 0) printf("all is well\n");
    return wrong != 0;
}
