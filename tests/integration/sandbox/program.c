// What a program may ask of threads, files, signals and a parallel library: a line for each part, and exit code 7. Run
// where system calls are refused, it shows which of them Comity needs and the program does not.
//
//     program refuse NUMBER ERRNO COMMAND...   COMMAND, in which that system call fails with ERRNO
//     program [PART...]                        the parts, or those alone
//     program late NUMBER ERRNO [PART...]      the same; the call is refused once threads and regions have run
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { rounds = 40, threads = 4 };

static int refuse(unsigned number, unsigned error, unsigned flags) {
    struct sock_filter code[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                                 BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
                                 BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
                                 BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
}

// ---- A writer and a reader, each a thread, at the two ends of something

struct ends {
    int in, out;
    int is_in_parts; // readv and writev
    int is_socket;   // send and recv
    int read, written;
};

static void *write_all(void *argument) {
    struct ends *e = argument;
    for (int i = 0; i < rounds; ++i) {
        char c = 'x';
        struct iovec part = {&c, 1};
        const ssize_t n = e->is_in_parts ? writev(e->out, &part, 1)
                          : e->is_socket ? send(e->out, &c, 1, MSG_NOSIGNAL)
                                         : write(e->out, &c, 1);
        e->written += n == 1;
        if (i % 8 == 0) usleep(100);
    }
    if (e->written != rounds) shutdown(e->out, SHUT_RDWR), close(e->out); // who reads is told
    return 0;
}

static void *read_all(void *argument) {
    struct ends *e = argument;
    for (int i = 0; i < rounds; ++i) {
        char c = 0;
        struct iovec part = {&c, 1};
        const ssize_t n = e->is_in_parts ? readv(e->in, &part, 1)
                          : e->is_socket ? recv(e->in, &c, 1, 0)
                                         : read(e->in, &c, 1);
        if (n <= 0) break;
        e->read += c == 'x';
    }
    return 0;
}

static int pass(int in, int out, int is_in_parts, int is_socket) {
    struct ends e = {in, out, is_in_parts, is_socket, 0, 0};
    pthread_t writer, reader;
    if (pthread_create(&reader, 0, read_all, &e) != 0) return 0;
    if (pthread_create(&writer, 0, write_all, &e) != 0) return 0;
    pthread_join(writer, 0);
    pthread_join(reader, 0);
    close(in);
    if (e.written == rounds) close(out);
    return e.read == rounds && e.written == rounds;
}

static int do_pipe(void) {
    int p[2];
    return pipe(p) == 0 && pass(p[0], p[1], 0, 0) && pipe(p) == 0 && pass(p[0], p[1], 1, 0);
}
static int do_stream(void) {
    int s[2];
    for (int parts = 0; parts < 2; ++parts)
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, s) != 0 || !pass(s[0], s[1], parts, 0)) return 0;
    return 1;
}
static int do_sending(void) {
    int s[2];
    return socketpair(AF_UNIX, SOCK_STREAM, 0, s) == 0 && pass(s[0], s[1], 0, 1);
}
static int do_datagrams(void) {
    int s[2];
    return socketpair(AF_UNIX, SOCK_DGRAM, 0, s) == 0 && pass(s[0], s[1], 0, 0);
}

// What does not block is told so.
static int do_nonblocking(void) {
    int p[2], s[2];
    char c;
    if (pipe2(p, O_NONBLOCK) != 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, s) != 0) return 0;
    for (int i = 0; i < 3; ++i)
        if (read(p[0], &c, 1) != -1 || errno != EAGAIN || read(s[0], &c, 1) != -1 || errno != EAGAIN) return 0;
    static char much[1 << 20];
    if (write(p[1], much, sizeof much) <= 0 || write(p[1], much, sizeof much) != -1 || errno != EAGAIN) return 0;
    while (write(s[1], much, sizeof much) > 0) continue;
    const int is_told = errno == EAGAIN;
    close(p[0]), close(p[1]), close(s[0]), close(s[1]);
    return is_told;
}

// ---- Events

static void *write_late(void *argument) {
    usleep(2000);
    return write(*(int *)argument, "x", 1) == 1 ? argument : 0;
}

static int await(int how, int in) {
    char c = 0;
    if (how == 0) {
        struct pollfd p = {in, POLLIN, 0};
        if (poll(&p, 1, -1) != 1) return 0;
    } else if (how == 1) {
        fd_set set;
        FD_ZERO(&set);
        FD_SET(in, &set);
        if (select(in + 1, &set, 0, 0, 0) != 1) return 0;
    } else {
        struct epoll_event e = {.events = EPOLLIN};
        const int set = epoll_create1(0);
        const int is_in = set >= 0 && epoll_ctl(set, EPOLL_CTL_ADD, in, &e) == 0;
        const int n = !is_in ? 0 : how == 2 ? epoll_wait(set, &e, 1, -1) : epoll_pwait(set, &e, 1, -1, 0);
        if (set >= 0) close(set);
        if (n != 1) return 0;
    }
    return read(in, &c, 1) == 1;
}

struct waiting {
    int how, in, is_good;
};
static void *await_in_thread(void *argument) {
    struct waiting *w = argument;
    w->is_good = await(w->how, w->in);
    return 0;
}

static int do_wait(int how) {
    int good = 1;
    for (int i = 0; i < 4 && good; ++i) {
        int p[2];
        pthread_t t, writer;
        if (pipe(p) != 0) return 0;
        struct waiting w = {how, p[0], 0};
        if (pthread_create(&t, 0, await_in_thread, &w) != 0) return 0;
        void *wrote = 0;
        if (pthread_create(&writer, 0, write_late, &p[1]) == 0) pthread_join(writer, &wrote);
        if (!wrote) close(p[1]);
        pthread_join(t, 0);
        good = wrote && w.is_good;
        close(p[0]);
        if (wrote) close(p[1]);
    }
    return good;
}
static int do_poll(void) { return do_wait(0); }
static int do_select(void) { return do_wait(1); }
static int do_epoll(void) { return do_wait(2); }
static int do_epoll_pwait(void) { return do_wait(3); }

// ---- Threads' objects

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static sem_t semaphore;
static int turn;

static void *take_turns(void *argument) {
    const int id = (int)(long)argument;
    for (int i = 0; i < rounds; ++i) {
        pthread_mutex_lock(&mutex);
        while (turn % threads != id) pthread_cond_wait(&condition, &mutex);
        ++turn;
        pthread_cond_broadcast(&condition);
        pthread_mutex_unlock(&mutex);
        sem_post(&semaphore);
    }
    return 0;
}

static int do_objects(void) {
    pthread_t t[threads];
    turn = 0;
    sem_init(&semaphore, 0, 0);
    for (long i = 0; i < threads; ++i)
        if (pthread_create(t + i, 0, take_turns, (void *)i) != 0) return 0;
    for (int i = 0; i < threads * rounds; ++i) sem_wait(&semaphore);
    for (int i = 0; i < threads; ++i) pthread_join(t[i], 0);
    return turn == threads * rounds;
}

static void *sleep_for_ever(void *argument) {
    for (;;) usleep(1000000);
    return argument;
}
static void *read_for_ever(void *argument) {
    char c;
    while (read(*(int *)argument, &c, 1) != 0) continue;
    return argument;
}
static int do_cancellation(void) {
    int p[2];
    pthread_t t[2];
    void *result[2] = {0, 0};
    if (pipe(p) != 0 || pthread_create(t, 0, sleep_for_ever, 0) || pthread_create(t + 1, 0, read_for_ever, p)) return 0;
    usleep(2000);
    for (int i = 0; i < 2; ++i) pthread_cancel(t[i]);
    for (int i = 0; i < 2; ++i) pthread_join(t[i], result + i);
    close(p[0]), close(p[1]);
    return result[0] == PTHREAD_CANCELED && result[1] == PTHREAD_CANCELED;
}

static void *limited_wait(void *argument) {
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_nsec += 5000000;
    if (end.tv_nsec >= 1000000000) end.tv_nsec -= 1000000000, ++end.tv_sec;
    sem_t never;
    sem_init(&never, 0, 0);
    return sem_timedwait(&never, &end) == -1 && errno == ETIMEDOUT ? argument : 0;
}
static int do_deadlines(void) {
    pthread_t t[threads];
    int good = 1;
    for (int i = 0; i < threads; ++i)
        if (pthread_create(t + i, 0, limited_wait, &turn) != 0) return 0;
    for (int i = 0; i < threads; ++i) {
        void *result = 0;
        pthread_join(t[i], &result);
        good = good && result;
    }
    return good;
}

// ---- Signals

// Where getpid is refused it is -1, which stands for all processes.
static void send_to_process(int signal) {
    const pid_t self = getpid();
    if (self > 0) kill(self, signal);
}

static volatile sig_atomic_t handled;
static void handle(int signal) { handled += signal == SIGUSR1; }

static void *be_signalled(void *argument) {
    sem_post(&semaphore);
    while (!handled) usleep(1000);
    return argument;
}
static int do_handlers(void) {
    struct sigaction a = {.sa_handler = handle};
    pthread_t t;
    handled = 0;
    sem_init(&semaphore, 0, 0);
    if (sigaction(SIGUSR1, &a, 0) != 0 || pthread_create(&t, 0, be_signalled, 0) != 0) return 0;
    sem_wait(&semaphore);
    pthread_kill(t, SIGUSR1);
    pthread_join(t, 0);
    const int first = handled;
    raise(SIGUSR1);
    send_to_process(SIGUSR1);
    for (int i = 0; i < 1000 && handled < 3; ++i) usleep(1000);
    return first == 1 && handled == 3;
}

static void *await_signal(void *argument) {
    int got = 0;
    return sigwait(argument, &got) == 0 && got == SIGUSR2 ? argument : 0;
}
static int do_sigwait(void) {
    sigset_t set;
    pthread_t t;
    void *result = 0;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    if (pthread_create(&t, 0, await_signal, &set) != 0) return 0;
    usleep(1000);
    send_to_process(SIGUSR2);
    pthread_join(t, &result);
    return result != 0;
}
static int do_signalfd(void) {
    sigset_t set;
    struct signalfd_siginfo info = {0};
    sigemptyset(&set);
    sigaddset(&set, SIGWINCH);
    const int fd = signalfd(-1, &set, 0);
    if (fd < 0) return 0;
    send_to_process(SIGWINCH);
    const ssize_t n = read(fd, &info, sizeof info);
    close(fd);
    return n == sizeof info && info.ssi_signo == SIGWINCH;
}

// ---- Processes

static void *ask_child(void *argument) {
    int status = 0;
    const pid_t id = fork();
    if (id == 0) _exit(5);
    return id > 0 && waitpid(id, &status, 0) == id && WEXITSTATUS(status) == 5 ? argument : 0;
}
static int do_fork(void) {
    pthread_t t;
    void *result = 0;
    if (!ask_child(&turn) || pthread_create(&t, 0, ask_child, &turn) != 0) return 0;
    pthread_join(t, &result);
    return result != 0;
}
static void *run_shell(void *argument) { return WEXITSTATUS(system("exit 6")) == 6 ? argument : 0; }
static int do_system(void) {
    pthread_t t;
    void *result = 0;
    if (!run_shell(&turn) || pthread_create(&t, 0, run_shell, &turn) != 0) return 0;
    pthread_join(t, &result);
    return result != 0;
}

// ---- Time, files, attributes

static void *sleep_a_little(void *argument) {
    struct timespec begin, end, ms = {0, 3000000};
    clock_gettime(CLOCK_MONOTONIC, &begin);
    const int error = clock_nanosleep(CLOCK_MONOTONIC, 0, &ms, 0);
    clock_gettime(CLOCK_MONOTONIC, &end);
    const long ns = (end.tv_sec - begin.tv_sec) * 1000000000 + end.tv_nsec - begin.tv_nsec;
    return error == 0 && ns >= 3000000 ? argument : 0;
}
static int do_sleep(void) {
    pthread_t t[threads];
    int good = sleep_a_little(&turn) != 0;
    for (int i = 0; i < threads; ++i)
        if (pthread_create(t + i, 0, sleep_a_little, &turn) != 0) return 0;
    for (int i = 0; i < threads; ++i) {
        void *result = 0;
        pthread_join(t[i], &result);
        good = good && result;
    }
    return good;
}

static void *use_file(void *argument) {
    FILE *file = tmpfile();
    char line[32] = "";
    if (!file) return 0;
    const int good = fputs("a line\n", file) >= 0 && fseek(file, 0, SEEK_SET) == 0 && fgets(line, sizeof line, file);
    return fclose(file) == 0 && good && strcmp(line, "a line\n") == 0 ? argument : 0;
}
static int do_stdio(void) {
    pthread_t t;
    void *result = 0;
    if (pthread_create(&t, 0, use_file, &turn) != 0) return 0;
    pthread_join(t, &result);
    return result != 0;
}

static void *ask_about_itself(void *argument) {
    cpu_set_t cpus;
    pthread_attr_t a;
    char name[16];
    const int good = sched_getaffinity(0, sizeof cpus, &cpus) == 0 && sched_setaffinity(0, sizeof cpus, &cpus) == 0 &&
                     pthread_setname_np(pthread_self(), "own") == 0 &&
                     pthread_getname_np(pthread_self(), name, sizeof name) == 0 && strcmp(name, "own") == 0;
    return good && pthread_getattr_np(pthread_self(), &a) == 0 && pthread_attr_destroy(&a) == 0 ? argument : 0;
}
static int do_attributes(void) {
    pthread_t t;
    void *result = 0;
    if (pthread_create(&t, 0, ask_about_itself, &turn) != 0) return 0;
    pthread_join(t, &result);
    return result != 0;
}

// ---- Regions

static long sum_in_region(void) {
    long sum = 0;
#pragma omp parallel for num_threads(threads) reduction(+ : sum)
    for (int i = 0; i < 1000; ++i) sum += i;
    return sum;
}
static void *open_region(void *argument) { return sum_in_region() == 499500 ? argument : 0; }
static int do_regions(void) {
    pthread_t t[threads];
    int good = sum_in_region() == 499500;
    for (int i = 0; i < threads; ++i)
        if (pthread_create(t + i, 0, open_region, &turn) != 0) return 0;
    for (int i = 0; i < threads; ++i) {
        void *result = 0;
        pthread_join(t[i], &result);
        good = good && result;
    }
    return good;
}
static long fib(int n) {
    if (n < 2) return n;
    long a = 0, b = 0;
#pragma omp task shared(a)
    a = fib(n - 1);
    b = fib(n - 2);
#pragma omp taskwait
    return a + b;
}
static int do_tasks(void) {
    long result = 0;
#pragma omp parallel num_threads(threads)
#pragma omp single
    result = fib(14);
    return result == 377;
}
static int do_ranks(void) { // in calls that sleep
    int p[2], good = 0;
    if (pipe(p) != 0) return 0;
#pragma omp parallel num_threads(threads) reduction(+ : good)
    {
        char c = 0;
#pragma omp single nowait
        good += write(p[1], "abcd", threads) == threads;
        good += read(p[0], &c, 1) == 1;
    }
    close(p[0]), close(p[1]);
    return good == threads + 1;
}

static const struct part {
    const char *name;
    int (*run)(void);
} parts[] = {{"regions", do_regions},
             {"tasks", do_tasks},
             {"objects", do_objects},
             {"pipe", do_pipe},
             {"stream", do_stream},
             {"sending", do_sending},
             {"datagrams", do_datagrams},
             {"nonblocking", do_nonblocking},
             {"ranks", do_ranks},
             {"poll", do_poll},
             {"select", do_select},
             {"epoll", do_epoll},
             {"epoll_pwait", do_epoll_pwait},
             {"sleep", do_sleep},
             {"deadlines", do_deadlines},
             {"cancellation", do_cancellation},
             {"handlers", do_handlers},
             {"sigwait", do_sigwait},
             {"signalfd", do_signalfd},
             {"fork", do_fork},
             {"system", do_system},
             {"stdio", do_stdio},
             {"attributes", do_attributes}};

static int is_chosen(const char *name, int n, char **names) {
    for (int i = 0; i < n; ++i)
        if (strcmp(names[i], name) == 0) return 1;
    return n == 0;
}

int main(int n, char **words) {
    if (n > 4 && strcmp(words[1], "refuse") == 0) {
        if (refuse((unsigned)atoi(words[2]), (unsigned)atoi(words[3]), 0) != 0) return perror("seccomp"), 77;
        execvp(words[4], words + 4);
        return perror(words[4]), 98;
    }
    sigset_t blocked; // in all threads
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR2);
    sigaddset(&blocked, SIGWINCH);
    pthread_sigmask(SIG_BLOCK, &blocked, 0);
    int from = 1;
    if (n > 3 && strcmp(words[1], "late") == 0) {
        do_regions(), do_tasks(), do_objects(), do_pipe();
        if (refuse((unsigned)atoi(words[2]), (unsigned)atoi(words[3]), SECCOMP_FILTER_FLAG_TSYNC) != 0) return 77;
        from = 4;
    }
    setvbuf(stdout, 0, _IOLBF, 0);
    for (unsigned i = 0; i < sizeof parts / sizeof *parts; ++i)
        // Open: after a late filter the threads are kernel threads, and a signal to the process may go to another one.
        if (!(from == 4 && parts[i].run == do_sigwait) && is_chosen(parts[i].name, n - from, words + from))
            printf("%s: %s\n", parts[i].name, parts[i].run() ? "right" : "refused");
    return 7;
}
