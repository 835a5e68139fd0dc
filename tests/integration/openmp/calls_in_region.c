// Ranks, and threads that ranks have created, sleep in calls.
// ./calls_in_region ranks|main|threads|yields|cancelled|interrupted|blocked|inherited|signalled|signalled_first|
//     signalled_reader|children [alone]
#include "check.h"
#include <errno.h>
#include <omp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_t create(void *(*fn)(void *), void *argument) {
    pthread_t t;
    if (pthread_create(&t, NULL, fn, argument) != 0) abort();
    return t;
}

// ---- Each rank and a thread of its own send each other bytes. Nobody sends signals, so no call ends for one.

enum { exchanges = 20 };
struct pipes {
    int there[2], back[2];
};

static void *send_back(void *argument) {
    const struct pipes *p = argument;
    for (int i = 0; i < exchanges; i++) {
        char c = 0;
        CHECK_EQUAL(read(p->there[0], &c, 1), 1);
        CHECK_EQUAL(write(p->back[1], &c, 1), 1);
    }
    return NULL;
}

static void exchange(void) {
    struct pipes p;
    if (pipe(p.there) || pipe(p.back)) abort();
    const pthread_t t = create(send_back, &p);
    for (int i = 0; i < exchanges; i++) {
        char c = (char)i;
        struct pollfd fd = {.fd = p.back[0], .events = POLLIN};
        CHECK_EQUAL(write(p.there[1], &c, 1), 1);
        if (i % 2) CHECK_EQUAL(poll(&fd, 1, 60000), 1);
        CHECK_EQUAL(read(p.back[0], &c, 1), 1);
        CHECK_EQUAL(c, i);
    }
    pthread_join(t, NULL);
    for (int i = 0; i < 2; i++) close(p.there[i]), close(p.back[i]);
}

static void let_ranks_exchange(void) {
    for (int i = 0; i < 5; i++) {
#pragma omp parallel num_threads(4)
        exchange();
    }
}

// Only the master does: of a region of the first thread's, or of others'. The other rank waits for it.
static void *exchange_in_region(void *unused) {
    atomic_int over = 0;
#pragma omp parallel num_threads(2)
    {
        if (omp_get_thread_num() == 0) {
            exchange();
            over = 1;
        }
        while (!over)
            ;
    }
    return unused;
}

static void let_main_exchange(void) {
    pthread_join(create(exchange_in_region, NULL), NULL); // from here on there are threads
    exchange_in_region(NULL);
}

static void let_threads_exchange(void) {
    enum { threads = 3 };
    pthread_t all[threads];
    for (int i = 0; i < threads; i++) all[i] = create(exchange_in_region, NULL);
    for (int i = 0; i < threads; i++) pthread_join(all[i], NULL);
}

// ---- More ranks than harts change places with each other, and each waits for a thread of its own.

static void *run_late(void *begun) {
    usleep(1000);
    *(atomic_int *)begun = 1;
    return NULL;
}

static void yield_until_it_runs(void) {
    for (int i = 0; i < 5; i++) {
#pragma omp parallel num_threads(5)
        {
            atomic_int begun = 0;
            const pthread_t t = create(run_late, &begun);
            while (!begun) sched_yield();
            pthread_join(t, NULL);
        }
    }
}

// ---- The first thread of all is created by a rank that is not the program's first thread.

static void *nothing(void *unused) { return unused; }

static void create_in_rank(void) {
#pragma omp parallel num_threads(2)
    {
        if (omp_get_thread_num() == 1) pthread_join(create(nothing, NULL), NULL);
    }
}

static int ends[2];
static atomic_int reads;

static void *read_for_ever(void *unused) {
    char c;
    reads = 1;
    CHECK_EQUAL(read(ends[0], &c, 1), -1);
    CHECK_EQUAL(errno, EINTR);
    reads = 0;
    return unused;
}

static void cancel_a_reader(void) {
    create_in_rank();
    const pthread_t t = create(read_for_ever, NULL);
    while (!reads) usleep(100);
    usleep(20000);
    void *result = NULL;
    CHECK_EQUAL(pthread_cancel(t), 0);
    CHECK_EQUAL(pthread_join(t, &result), 0);
    CHECK(result == PTHREAD_CANCELED);
}

static atomic_int handled;
static void handle(int signal) { handled += signal == SIGUSR1; }

static void interrupt_a_reader(void) {
    struct sigaction a = {.sa_handler = handle}; // without SA_RESTART
    sigaction(SIGUSR1, &a, NULL);
    create_in_rank();
    const pthread_t t = create(read_for_ever, NULL);
    while (!reads) usleep(100);
    while (reads) {
        CHECK_EQUAL(pthread_kill(t, SIGUSR1), 0);
        usleep(20000);
    }
    CHECK_EQUAL(pthread_join(t, NULL), 0);
    const int before = handled;
    CHECK(before > 0);
    kill(getpid(), SIGUSR1); // the process's: the first thread takes it
    for (int i = 0; i < 1000 && handled == before; i++) usleep(1000);
    CHECK_EQUAL(handled, before + 1);
}

// A thread of a rank's: what it blocks it does not get, and what it has set is called.
static void *write_to_nobody(void *unused) {
    int nobody[2];
    sigset_t one;
    struct sigaction a = {.sa_handler = handle}, before;
    sigemptyset(&one);
    sigaddset(&one, SIGPIPE);
    CHECK_EQUAL(pthread_sigmask(SIG_BLOCK, &one, NULL), 0);
    if (pipe(nobody)) abort();
    close(nobody[0]);
    CHECK_EQUAL(write(nobody[1], "x", 1), -1);
    CHECK_EQUAL(errno, EPIPE);
    close(nobody[1]);
    CHECK_EQUAL(sigaction(SIGUSR1, &a, NULL), 0);
    CHECK_EQUAL(sigaction(SIGUSR1, &a, &before), 0);
    CHECK(before.sa_handler == handle);
    const int seen = handled;
    CHECK_EQUAL(pthread_kill(pthread_self(), SIGUSR1), 0);
    CHECK_EQUAL(handled, seen + 1);
    CHECK_EQUAL(kill(getpid(), SIGUSR1), 0);
    for (int i = 0; i < 1000 && handled == seen + 1; i++) usleep(1000);
    CHECK_EQUAL(handled, seen + 2);
    return unused;
}

static void block_in_rank(void) {
#pragma omp parallel num_threads(2)
    {
        if (omp_get_thread_num() == 1) pthread_join(create(write_to_nobody, NULL), NULL);
    }
    pthread_join(create(write_to_nobody, NULL), NULL);
}

// ---- What a rank makes on a kernel thread of its own blocks what the program blocks: nothing but SIGUSR2. The mask of
// a rank itself is not known where threads are Comity's.

static void check_mask(int is_known) {
    sigset_t now;
    CHECK_EQUAL(pthread_sigmask(SIG_BLOCK, NULL, &now), 0);
    CHECK(!sigismember(&now, SIGUSR1) && !sigismember(&now, SIGTERM) && !sigismember(&now, SIGPIPE));
    if (is_known) CHECK(sigismember(&now, SIGUSR2));
}

static void *be_signalled(void *is_known) {
    check_mask(is_known != NULL);
    const int before = handled;
    pthread_kill(pthread_self(), SIGUSR1);
    CHECK(handled > before);
    return NULL;
}

static void inherit_the_mask(void) {
    enum { ranks = 6 };
    struct sigaction a = {.sa_handler = handle};
    sigset_t one;
    sigaction(SIGUSR1, &a, NULL);
    sigemptyset(&one);
    sigaddset(&one, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &one, NULL);
    atomic_int met = 0;
    void *are_known = threads_are_comitys() ? NULL : &met;
#pragma omp parallel num_threads(ranks)
    {
        for (++met; met < ranks;) // so that most are without a hart after that
            ;
        be_signalled(are_known);
        pthread_join(create(be_signalled, &met), NULL);
        const pid_t child = fork();
        if (child == 0) {
            failures = 0;
            check_mask(are_known != NULL);
            _exit(failures != 0);
        }
        int status = -1;
        CHECK_EQUAL(waitpid(child, &status, 0), child);
        CHECK_EQUAL(status, 0);
    }
}

// ---- Children that ranks start can be ended, whatever Comity was about when it made the kernel threads that run
// these.

static void *open_a_region(void *unused) {
    usleep(100);
#pragma omp parallel num_threads(2)
    usleep(10);
    return unused;
}

static int can_be_ended(void) {
    char *const arguments[] = {"sh", "-c", "kill -TERM $$; exit 7", NULL};
    pid_t child = 0;
    int status = 0;
    CHECK_EQUAL(posix_spawn(&child, "/bin/sh", NULL, NULL, arguments, environ), 0);
    while (waitpid(child, &status, 0) == -1 && errno == EINTR)
        ;
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM;
}

static void start_children(void) {
    struct sigaction a = {.sa_handler = handle, .sa_flags = SA_RESTART};
    const struct itimerval often = {{0, 1000}, {0, 1000}};
    sigaction(SIGALRM, &a, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    for (int i = 0; i < 10; i++) {
        pthread_t beside[3];
        for (int k = 0; k < 3; k++) beside[k] = create(open_a_region, NULL);
        for (int k = 0; k < 3; k++) pthread_join(beside[k], NULL);
#pragma omp parallel num_threads(3)
        CHECK(can_be_ended());
    }
}

// ---- A rank whose hart a thread has taken in a call: a handler that has run there ends that.

static void signal_rank(int creates, int reads) {
    struct sigaction a = {.sa_handler = handle}; // without SA_RESTART
    sigaction(SIGUSR1, &a, NULL);
    if (creates) create_in_rank();
    pthread_t sleeper;
    atomic_int sleeps = 0;
#pragma omp parallel num_threads(2)
    {
        if (omp_get_thread_num() == 1) {
            sleeper = pthread_self();
            sleeps = 1;
            struct pollfd fd = {.fd = ends[0], .events = POLLIN};
            char c;
            CHECK_EQUAL(reads ? read(ends[0], &c, 1) : poll(&fd, 1, 60000), -1);
            CHECK_EQUAL(errno, EINTR);
            CHECK(handled > 0);
            sleeps = -1;
        } else {
            while (!sleeps)
                ;
            for (; sleeps > 0; usleep(20000)) {
                if (creates) pthread_join(create(nothing, NULL), NULL);
                CHECK_EQUAL(pthread_kill(sleeper, SIGUSR1), 0);
            }
        }
    }
}

static void signal_a_rank(void) { signal_rank(1, 0); }
static void signal_a_reader(void) { signal_rank(1, 1); }
static void signal_before_threads(void) { signal_rank(0, 0); } // then the kernel calls the handler

int main(int argc, char **argv) {
    const struct {
        const char *name;
        void (*run)(void);
    } all[] = {{"ranks", let_ranks_exchange},
               {"main", let_main_exchange},
               {"threads", let_threads_exchange},
               {"yields", yield_until_it_runs},
               {"cancelled", cancel_a_reader},
               {"interrupted", interrupt_a_reader},
               {"blocked", block_in_rank},
               {"inherited", inherit_the_mask},
               {"signalled", signal_a_rank},
               {"signalled_first", signal_before_threads},
               {"signalled_reader", signal_a_reader},
               {"children", start_children}};
    witness_comity();
    const int is_alone = argc == 3 && strcmp(argv[2], "alone") == 0; // the regions' library, without the threads'
    if (threads_are_comitys() == is_alone) return 99;
    if (pipe(ends)) abort();
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
        if (argc > 1 && strcmp(argv[1], all[i].name) == 0) return all[i].run(), report();
    return 2;
}
