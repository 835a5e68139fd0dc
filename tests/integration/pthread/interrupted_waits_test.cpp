// What a handler does to whoever waits, for each call that does: whether it runs at once, and whether it ends the call.
// In the first thread and in others, in a process and in the child of a fork, by signals to the process and to the
// thread. On Comity's threads and on the C library's.
#include "other_process.hpp"
#include "start.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <new>
#include <string>
#include <vector>

#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using namespace std::chrono_literals;

// Who waits, beside whom.
enum place {
    alone,           // the first thread, and no other was ever made
    first,           // the first thread, beside another one
    other,           // another thread
    other_with_busy, // the same, and more compute than there are harts
    child_of_first,  // the first thread has forked
    child_of_other,  // another has
    other_in_child,  // another thread of such a child
    places
};
constexpr const char *name_of_place[] = {"alone",          "first",          "other",         "other_with_busy",
                                         "child_of_first", "child_of_other", "other_in_child"};

// What those that wait, and who watches them, have in common.
struct world {
    std::atomic<pid_t> process{0}, thread{0};
    std::atomic<int> waits{0}, returned{0}, handled{0}, sends_itself{0};
    int error = 0;
    sem_t sem;
    pthread_mutex_t mutex, robust, own, condition_mutex;
    pthread_rwlock_t lock;
    pthread_cond_t condition;
    pthread_barrier_t barrier;
    std::atomic<std::uint32_t> word{0};
    int pipe[2], full_pipe[2], pair[2], event, listening, queue, full_queue, set;
    char file[64];
};

timespec in(std::chrono::nanoseconds t, clockid_t clock) {
    timespec now{};
    clock_gettime(clock, &now);
    const auto sum = std::chrono::nanoseconds(now.tv_nsec) + t;
    return {now.tv_sec + sum / 1s, (sum % 1s).count()};
}

// Longer than whatever is waited for here, however busy the machine.
constexpr auto long_time = 200s;
timespec later() { return in(long_time, CLOCK_REALTIME); }
timespec later_by(clockid_t c) { return in(long_time, c); }
constexpr timespec long_while{long_time / 1s, 0};

int error_of(long result) { return result < 0 ? errno : 0; }

template <class Lock> int lock_file(const world &w, Lock lock) {
    const int fd = open(w.file, O_RDWR | O_CLOEXEC);
    const int error = lock(fd);
    close(fd);
    return error;
}

struct flock whole() {
    struct flock l {};
    l.l_type = F_WRLCK;
    l.l_whence = SEEK_SET;
    return l;
}

struct message {
    long type = 1;
    char text[4000] = {};
};

pid_t sleeping_child() {
    const pid_t p = fork();
    if (p == 0)
        for (;;) pause();
    return p;
}

long futex(world &w, int command, const timespec *limit = nullptr, unsigned bits = 0) {
    return syscall(SYS_futex, &w.word, command, 0, limit, nullptr, bits);
}

struct waiting {
    const char *name;
    int (*wait)(world &w);               // 0 or the error
    int by_handler;                      // that error, if the handler does not have calls begin anew; 0: it waits on
    int by_restarting;                   // and if it does
    void (*release)(world &w) = nullptr; // it goes on then
};

void post(world &w) { sem_post(&w.sem); }
void unlock(world &w) { pthread_mutex_unlock(&w.mutex); }
void unlock_robust(world &w) { pthread_mutex_unlock(&w.robust); }
void unlock_lock(world &w) { pthread_rwlock_unlock(&w.lock); }
void wake(world &w) {
    w.word = 1;
    (void)syscall(SYS_futex, &w.word, FUTEX_WAKE, INT_MAX);
}
void signal_condition(world &w) {
    w.word = 1;
    pthread_mutex_lock(&w.condition_mutex);
    pthread_cond_broadcast(&w.condition);
    pthread_mutex_unlock(&w.condition_mutex);
}
void meet(world &w) { pthread_barrier_wait(&w.barrier); }
void write_pipe(world &w) { (void)!write(w.pipe[1], "x", 1); }
void write_pair(world &w) { (void)!write(w.pair[1], "x", 1); }

template <class Wait> int wait_for_condition(world &w, Wait wait) {
    pthread_mutex_lock(&w.condition_mutex);
    int error = 0;
    while (w.word == 0 && error == 0) error = wait(&w.condition, &w.condition_mutex);
    pthread_mutex_unlock(&w.condition_mutex);
    return error;
}

const waiting all_waits[] = {
    // Objects that processes share.
    {"sem_wait", [](world &w) { return error_of(sem_wait(&w.sem)); }, EINTR, 0, post},
    {"sem_timedwait",
     [](world &w) {
         const timespec t = later();
         return error_of(sem_timedwait(&w.sem, &t));
     },
     EINTR, EINTR, post},
    {"sem_clockwait",
     [](world &w) {
         const timespec t = later_by(CLOCK_MONOTONIC);
         return error_of(sem_clockwait(&w.sem, CLOCK_MONOTONIC, &t));
     },
     EINTR, EINTR, post},
    {"mutex_lock", [](world &w) { return pthread_mutex_lock(&w.mutex); }, 0, 0, unlock},
    {"mutex_timedlock",
     [](world &w) {
         const timespec t = later();
         return pthread_mutex_timedlock(&w.mutex, &t);
     },
     0, 0, unlock},
    {"mutex_clocklock",
     [](world &w) {
         const timespec t = later_by(CLOCK_MONOTONIC);
         return pthread_mutex_clocklock(&w.mutex, CLOCK_MONOTONIC, &t);
     },
     0, 0, unlock},
    {"robust_lock", [](world &w) { return pthread_mutex_lock(&w.robust); }, 0, 0, unlock_robust},
    {"robust_timedlock",
     [](world &w) {
         const timespec t = later();
         return pthread_mutex_timedlock(&w.robust, &t);
     },
     0, 0, unlock_robust},
    {"rwlock_rdlock", [](world &w) { return pthread_rwlock_rdlock(&w.lock); }, 0, 0, unlock_lock},
    {"rwlock_wrlock", [](world &w) { return pthread_rwlock_wrlock(&w.lock); }, 0, 0, unlock_lock},
    {"rwlock_timedrdlock",
     [](world &w) {
         const timespec t = later();
         return pthread_rwlock_timedrdlock(&w.lock, &t);
     },
     0, 0, unlock_lock},
    {"rwlock_clockwrlock",
     [](world &w) {
         const timespec t = later_by(CLOCK_MONOTONIC);
         return pthread_rwlock_clockwrlock(&w.lock, CLOCK_MONOTONIC, &t);
     },
     0, 0, unlock_lock},
    {"cond_wait",
     [](world &w) { return wait_for_condition(w, [](auto *c, auto *m) { return pthread_cond_wait(c, m); }); }, 0, 0,
     signal_condition},
    {"cond_timedwait",
     [](world &w) {
         const timespec t = later();
         return wait_for_condition(w, [&](auto *c, auto *m) { return pthread_cond_timedwait(c, m, &t); });
     },
     0, 0, signal_condition},
    {"cond_clockwait",
     [](world &w) {
         const timespec t = later_by(CLOCK_MONOTONIC);
         return wait_for_condition(w,
                                   [&](auto *c, auto *m) { return pthread_cond_clockwait(c, m, CLOCK_MONOTONIC, &t); });
     },
     0, 0, signal_condition},
    {"barrier_wait", [](world &w) { return pthread_barrier_wait(&w.barrier) > 0 ? 1 : 0; }, 0, 0, meet},
    {"futex_wait", [](world &w) { return error_of(futex(w, FUTEX_WAIT)); }, EINTR, 0, wake},
    {"futex_wait_for_a_time", [](world &w) { return error_of(futex(w, FUTEX_WAIT, &long_while)); }, EINTR, EINTR, wake},
    {"futex_wait_bitset", [](world &w) { return error_of(futex(w, FUTEX_WAIT_BITSET, nullptr, ~0U)); }, EINTR, 0, wake},
    {"futex_wait_until",
     [](world &w) {
         const timespec t = later_by(CLOCK_MONOTONIC);
         return error_of(futex(w, FUTEX_WAIT_BITSET, &t, ~0U));
     },
     EINTR, EINTR, wake},
    // Files.
    {"flock", [](world &w) { return lock_file(w, [](int fd) { return error_of(flock(fd, LOCK_EX)); }); }, EINTR, 0},
    {"lockf", [](world &w) { return lock_file(w, [](int fd) { return error_of(lockf(fd, F_LOCK, 0)); }); }, EINTR, 0},
    {"fcntl_lock",
     [](world &w) {
         return lock_file(w, [](int fd) {
             struct flock l = whole();
             return error_of(fcntl(fd, F_SETLKW, &l));
         });
     },
     EINTR, 0},
    {"fcntl_lock_of_a_description",
     [](world &w) {
         return lock_file(w, [](int fd) {
             struct flock l = whole();
             return error_of(fcntl(fd, F_OFD_SETLKW, &l));
         });
     },
     EINTR, 0},
    {"read",
     [](world &w) {
         char c;
         return error_of(read(w.pipe[0], &c, 1));
     },
     EINTR, 0, write_pipe},
    {"write",
     [](world &w) {
         char c = 0;
         return error_of(write(w.full_pipe[1], &c, 1));
     },
     EINTR, 0},
    {"read_event",
     [](world &w) {
         std::uint64_t n;
         return error_of(read(w.event, &n, sizeof n));
     },
     EINTR, 0},
    {"recv",
     [](world &w) {
         char c;
         return error_of(recv(w.pair[0], &c, 1, 0));
     },
     EINTR, 0, write_pair},
    {"accept", [](world &w) { return error_of(accept(w.listening, nullptr, nullptr)); }, EINTR, 0},
    {"poll",
     [](world &w) {
         pollfd p{w.pipe[0], POLLIN, 0};
         return error_of(poll(&p, 1, -1));
     },
     EINTR, EINTR},
    {"select",
     [](world &w) {
         fd_set s;
         FD_ZERO(&s);
         FD_SET(w.pipe[0], &s);
         return error_of(select(w.pipe[0] + 1, &s, nullptr, nullptr, nullptr));
     },
     EINTR, EINTR},
    {"epoll_wait",
     [](world &w) {
         const int e = epoll_create1(EPOLL_CLOEXEC);
         epoll_event of{};
         of.events = EPOLLIN;
         epoll_ctl(e, EPOLL_CTL_ADD, w.pipe[0], &of);
         const int error = error_of(epoll_wait(e, &of, 1, -1));
         close(e);
         return error;
     },
     EINTR, EINTR},
    {"open_fifo",
     [](world &w) {
         const std::string name = std::string(w.file) + ".fifo";
         const int fd = open(name.c_str(), O_RDONLY | O_CLOEXEC);
         const int error = error_of(fd);
         close(fd);
         return error;
     },
     EINTR, 0},
    // System V's queues and semaphores.
    {"msgrcv",
     [](world &w) {
         message m;
         return error_of(msgrcv(w.queue, &m, sizeof m.text, 0, 0));
     },
     EINTR, EINTR},
    {"msgsnd",
     [](world &w) {
         const message m;
         return error_of(msgsnd(w.full_queue, &m, sizeof m.text, 0));
     },
     EINTR, EINTR},
    {"semop",
     [](world &w) {
         sembuf o{0, -1, 0};
         return error_of(semop(w.set, &o, 1));
     },
     EINTR, EINTR},
    {"semtimedop",
     [](world &w) {
         sembuf o{0, -1, 0};
         return error_of(semtimedop(w.set, &o, 1, &long_while));
     },
     EINTR, EINTR},
    // Signals, processes and time.
    {"sigsuspend",
     [](world &) {
         sigset_t s;
         sigemptyset(&s);
         return error_of(sigsuspend(&s));
     },
     EINTR, EINTR},
    {"pause", [](world &) { return error_of(pause()); }, EINTR, EINTR},
    {"sigwaitinfo",
     [](world &) {
         sigset_t s;
         sigemptyset(&s);
         sigaddset(&s, SIGUSR2);
         return error_of(sigwaitinfo(&s, nullptr));
     },
     EINTR, EINTR},
    {"sigtimedwait",
     [](world &) {
         sigset_t s;
         sigemptyset(&s);
         sigaddset(&s, SIGUSR2);
         return error_of(sigtimedwait(&s, nullptr, &long_while));
     },
     EINTR, EINTR},
    {"waitpid", [](world &) { return error_of(waitpid(sleeping_child(), nullptr, 0)); }, EINTR, 0},
    {"wait4", [](world &) { return error_of(wait4(sleeping_child(), nullptr, 0, nullptr)); }, EINTR, 0},
    {"waitid",
     [](world &) {
         siginfo_t i{};
         return error_of(waitid(P_PID, static_cast<id_t>(sleeping_child()), &i, WEXITED));
     },
     EINTR, 0},
    {"nanosleep", [](world &) { return error_of(nanosleep(&long_while, nullptr)); }, EINTR, EINTR},
    {"clock_nanosleep", [](world &) { return clock_nanosleep(CLOCK_MONOTONIC, 0, &long_while, nullptr); }, EINTR,
     EINTR},
    {"clock_nanosleep_until",
     [](world &) {
         const timespec t = later_by(CLOCK_MONOTONIC);
         return clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, nullptr);
     },
     EINTR, EINTR},
    {"sleep", [](world &) { return sleep(long_time / 1s) > 0 ? EINTR : 0; }, EINTR, EINTR},
    {"usleep", [](world &) { return error_of(usleep(long_time / 1us)); }, EINTR, EINTR},
};

// ---- One who waits

struct order {
    const waiting *what;
    place where;
    bool restarts, to_thread;
};

world *here = nullptr;
void handle(int) { ++here->handled; }

void set_handler(bool restarts) {
    struct sigaction a {};
    a.sa_handler = handle;
    a.sa_flags = restarts ? SA_RESTART : 0;
    sigaction(SIGUSR1, &a, nullptr);
}

void block_all() {
    sigset_t s;
    sigfillset(&s);
    pthread_sigmask(SIG_BLOCK, &s, nullptr);
}

void unblock_all() {
    sigset_t s;
    sigemptyset(&s);
    pthread_sigmask(SIG_SETMASK, &s, nullptr);
}

void wait_here(const order &o) {
    unblock_all();
    here->process = getpid();
    here->thread = static_cast<pid_t>(gettid());
    here->waits = 1;
    here->error = o.what->wait(*here);
    here->returned = 1;
}

// Signals for the thread itself are sent by another one of its process.
void wait_in_other(const order &o) {
    auto f = [&] { wait_here(o); };
    block_all();
    const pthread_t t = start(f);
    const auto by = std::chrono::steady_clock::now() + long_time;
    if (o.to_thread && comes_true([] { return here->sends_itself != 0; }, by)) pthread_kill(t, SIGUSR1);
    pthread_join(t, nullptr);
}

// Exits.
void stay() {
    nap(long_time);
    _exit(0);
}

template <class F> void run_beside(F f) {
    auto sleeps = [] {
        block_all();
        stay();
    };
    sigset_t before;
    pthread_sigmask(SIG_BLOCK, nullptr, &before);
    block_all();
    start(sleeps);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    f();
}

void run(const order &o) {
    std::atomic<bool> stop{false};
    set_handler(o.restarts);
    auto nothing = [] {};
    auto compute = [&] {
        block_all();
        while (!stop) {
        }
    };
    auto in_child = [](auto f) {
        block_all();
        const pid_t p = fork();
        if (p != 0) stay();
        f();
    };
    switch (o.where) {
    case alone:
        wait_here(o);
        break;
    case first:
        run_beside([&] { wait_here(o); });
        break;
    case other:
        wait_in_other(o);
        break;
    case other_with_busy:
        block_all();
        for (int i = 0; i < 2; ++i) start(compute);
        wait_in_other(o);
        break;
    case child_of_first:
        pthread_join(start(nothing), nullptr);
        in_child([&] { wait_here(o); });
        break;
    case child_of_other: {
        auto f = [&] { in_child([&] { wait_here(o); }); };
        block_all();
        pthread_join(start(f), nullptr);
        break;
    }
    case other_in_child: {
        auto f = [&] { in_child([&] { wait_in_other(o); }); };
        block_all();
        pthread_join(start(f), nullptr);
        break;
    }
    default:
        break;
    }
    stay();
}

// ---- Who watches

template <class Object, class Attributes>
void share(Object &o, int (*init)(Object *, const Attributes *), Attributes a) {
    init(&o, &a);
}

void make(world &w) {
    sem_init(&w.sem, 1, 0);
    pthread_mutexattr_t m;
    pthread_mutexattr_init(&m);
    pthread_mutexattr_setpshared(&m, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(&w.mutex, &m);
    pthread_mutex_init(&w.condition_mutex, &m);
    pthread_mutexattr_setrobust(&m, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&w.robust, &m);
    pthread_rwlockattr_t l;
    pthread_rwlockattr_init(&l);
    pthread_rwlockattr_setpshared(&l, PTHREAD_PROCESS_SHARED);
    pthread_rwlock_init(&w.lock, &l);
    pthread_condattr_t c;
    pthread_condattr_init(&c);
    pthread_condattr_setpshared(&c, PTHREAD_PROCESS_SHARED);
    pthread_cond_init(&w.condition, &c);
    pthread_barrierattr_t b;
    pthread_barrierattr_init(&b);
    pthread_barrierattr_setpshared(&b, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&w.barrier, &b, 2);
    pthread_mutex_lock(&w.mutex);
    pthread_mutex_lock(&w.robust);
    pthread_rwlock_wrlock(&w.lock);
    (void)!pipe2(w.pipe, O_CLOEXEC);
    (void)!pipe2(w.full_pipe, O_CLOEXEC);
    std::vector<char> much(65536);
    fcntl(w.full_pipe[1], F_SETPIPE_SZ, 65536);
    (void)!write(w.full_pipe[1], much.data(), much.size());
    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, w.pair);
    w.event = eventfd(0, EFD_CLOEXEC);
    w.listening = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr nameless{AF_UNIX, {}};
    bind(w.listening, &nameless, sizeof(sa_family_t));
    listen(w.listening, 1);
    w.queue = msgget(IPC_PRIVATE, 0600);
    w.full_queue = msgget(IPC_PRIVATE, 0600);
    message some;
    while (msgsnd(w.full_queue, &some, sizeof some.text, IPC_NOWAIT) == 0) {
    }
    w.set = semget(IPC_PRIVATE, 1, 0600);
}

void end(world &w) {
    pthread_mutex_unlock(&w.robust); // it would stay in a list of this thread's
    for (const int fd :
         {w.pipe[0], w.pipe[1], w.full_pipe[0], w.full_pipe[1], w.pair[0], w.pair[1], w.event, w.listening})
        close(fd);
    msgctl(w.queue, IPC_RMID, nullptr);
    msgctl(w.full_queue, IPC_RMID, nullptr);
    semctl(w.set, 0, IPC_RMID);
}

world *make_world() {
    void *at = mmap(nullptr, sizeof(world), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    auto *w = new (at) world;
    make(*w);
    return w;
}

// A file that is locked by who watches, in all ways.
class locked_file {
public:
    locked_file() : fd_(mkstemp(name_)) {
        struct flock l = whole();
        flock(fd_, LOCK_EX);
        fcntl(fd_, F_SETLK, &l);
        mkfifo((std::string(name_) + ".fifo").c_str(), 0600);
    }
    ~locked_file() {
        unlink(name_);
        unlink((std::string(name_) + ".fifo").c_str());
        close(fd_);
    }
    locked_file(const locked_file &) = delete;
    locked_file &operator=(const locked_file &) = delete;
    const char *name() const { return name_; }

private:
    char name_[32] = "interrupted_waits.XXXXXX";
    int fd_;
};

struct observed {
    order o;
    world *w;
    pid_t process;
    bool began = false, handled = false, is_early = false;
    int looks = 0; // that found all its threads asleep
};

// A thread that has said that it is about to wait does so when all of its process are asleep; or, beside busy ones,
// when the process has gone on for longer than it takes.
void let_them_wait(std::vector<observed> &all) {
    std::vector<std::chrono::nanoseconds> at(all.size());
    for (std::size_t i = 0; i < all.size(); ++i) at[i] = cpu_time_of(all[i].w->process);
    const auto waits = [&](std::size_t i) {
        observed &s = all[i];
        if (!s.began || s.looks == 3) return true;
        if (s.o.where == other_with_busy) return cpu_time_of(s.w->process) - at[i] > 60ms;
        s.looks = is_asleep(s.w->process) ? s.looks + 1 : 0;
        return false;
    };
    nap(20ms);
    comes_true(
        [&] {
            bool all_wait = true;
            for (std::size_t i = 0; i < all.size(); ++i) all_wait &= waits(i);
            nap(5ms);
            return all_wait;
        },
        in_a_minute());
}

std::string text_of(const order &o) {
    return std::string(o.what->name) + ", " + name_of_place[o.where] + (o.restarts ? ", SA_RESTART" : "") +
           (o.to_thread ? ", to the thread" : ", to the process");
}

class waits : public ::testing::TestWithParam<int> {};

void check(const std::vector<order> &orders) {
    const locked_file file;
    std::vector<observed> all;
    fflush(nullptr);
    for (const order &o : orders) {
        observed seen{o, make_world(), 0};
        snprintf(seen.w->file, sizeof seen.w->file, "%s", file.name());
        here = seen.w;
        seen.process = fork();
        if (seen.process == 0) {
            setpgid(0, 0);
            alarm(long_time / 1s);
            run(o);
        }
        setpgid(seen.process, seen.process);
        all.push_back(seen);
    }
    auto by = in_a_minute();
    for (observed &s : all) s.began = comes_true([&] { return s.w->waits != 0; }, by);
    let_them_wait(all);
    by = in_a_minute();
    for (observed &s : all) {
        s.is_early = s.w->returned != 0;
        if (!s.o.to_thread)
            kill(s.w->process, SIGUSR1);
        else if (s.o.where == other || s.o.where == other_with_busy || s.o.where == other_in_child)
            s.w->sends_itself = 1;
        else
            syscall(SYS_tgkill, s.w->process.load(), s.w->thread.load(), SIGUSR1);
        s.handled = comes_true([&] { return s.w->handled != 0; }, by);
    }
    nap(50ms);
    by = in_a_minute();
    for (const observed &s : all) {
        const std::string t = text_of(s.o);
        EXPECT_TRUE(s.began) << t;
        EXPECT_FALSE(s.is_early) << t << ": " << strerror(s.w->error);
        EXPECT_TRUE(s.handled) << t;
        const int expected = s.o.restarts ? s.o.what->by_restarting : s.o.what->by_handler;
        if (expected != 0) {
            EXPECT_TRUE(comes_true([&] { return s.w->returned != 0; }, by)) << t << ": did not return";
            EXPECT_TRUE(!s.w->returned || s.w->error == expected) << t << ": " << strerror(s.w->error);
            continue;
        }
        EXPECT_FALSE(s.w->returned) << t << ": returned: " << strerror(s.w->error);
        if (s.w->returned || !s.o.what->release) continue;
        s.o.what->release(*s.w);
        EXPECT_TRUE(comes_true([&] { return s.w->returned != 0; }, by)) << t << ": does not go on";
        EXPECT_TRUE(!s.w->returned || s.w->error == 0) << t << ": at last: " << strerror(s.w->error);
    }
    for (const observed &s : all) {
        kill(-s.process, SIGKILL);
        while (waitpid(s.process, nullptr, 0) == -1 && errno == EINTR) {
        }
        end(*s.w);
        munmap(s.w, sizeof *s.w);
    }
}

} // namespace

TEST_P(waits, are_ended_by_handlers_or_not) {
    std::vector<order> orders;
    for (int p = 0; p < places; ++p)
        for (const bool restarts : {false, true})
            for (const bool to_thread : {false, true}) {
                // These take the processors from all others.
                if (p == other_with_busy && restarts != to_thread) continue;
                orders.push_back({&all_waits[GetParam()], static_cast<place>(p), restarts, to_thread});
            }
    check(orders);
}

INSTANTIATE_TEST_SUITE_P(each, waits, ::testing::Range(0, static_cast<int>(std::size(all_waits))),
                         [](const auto &i) { return all_waits[i.param].name; });
