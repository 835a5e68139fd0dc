// A program that carries Go's note (or, AS_ERLANG_DOES, exports what Erlang's does) and does what Go's runtime does: a
// thread sets its signal stack past the C library, and is interrupted in code that has no room for a frame, with SIGURG
// by the kernel's number. The first thread waits at a semaphore, as Python does that loads a library of Go's. usage:
// as_go_does; exits with 0 if all is well
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef AS_ERLANG_DOES
__attribute__((visibility("default"))) void *enif_priv_data(void);
void *enif_priv_data(void) { return NULL; }
#else
__asm__(".pushsection .note.go.buildid, \"a\", %note\n"
        ".balign 4\n"
        ".long 4, 4, 4\n"
        ".ascii \"Go\\0\\0test\"\n"
        ".popsection\n");
#endif

enum { enough = 200 };
static _Thread_local char stack[64 << 10];
static atomic_int right, wrong, tid, stops;
static sem_t ended;

static void on_signal(int signal, siginfo_t *info, void *frame) {
    (void)signal, (void)info, (void)frame;
    char here;
    ++*((uintptr_t)&here - (uintptr_t)stack < sizeof stack ? &right : &wrong);
}

static void *work(void *unused) {
    const stack_t own = {.ss_sp = stack, .ss_size = sizeof stack};
    if (syscall(SYS_sigaltstack, &own, NULL) != 0) perror("sigaltstack");
    tid = (int)syscall(SYS_gettid);
    for (int i = 0; !stops; ++i)
        if (i % 1000000 == 0) usleep(1000); // a call, as those by cgo
    sem_post(&ended);
    return unused;
}

int main(void) {
    struct sigaction a = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART};
    sigfillset(&a.sa_mask);
    sem_init(&ended, 0, 0);
    pthread_t thread;
    if (pthread_create(&thread, NULL, work, NULL) != 0 || sigaction(SIGURG, &a, NULL) != 0) return 2;
    while (tid == 0) usleep(100);
    for (int i = 0; i < enough; ++i) {
        syscall(SYS_tgkill, getpid(), (int)tid, SIGURG);
        usleep(100);
    }
    stops = 1;
    while (sem_wait(&ended) != 0) {
    }
    pthread_join(thread, NULL);
    printf("%d handlers on the thread's signal stack, %d elsewhere\n", (int)right, (int)wrong);
    return right > 0 && wrong == 0 ? 0 : 1;
}
