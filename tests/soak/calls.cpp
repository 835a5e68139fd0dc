// As mixed.c, in C++: the threads and the ranks of their regions make calls that sleep, fork, cancel and signal each
// other, throw, and use each construct of OpenMP. Whatever the settings, each deed ends, and does what it should.
// ./calls SEED THREADS [STATUS]
#include "../integration/openmp/check.h"
#include "chance.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <ctime>
#include <future>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <omp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

[[noreturn]] void give_up(const char *what) {
    perror(what);
    abort();
}
#define NEED(what) (static_cast<bool>(what) ? void() : give_up(#what))

void pause(chance &by) {
    switch (by.below(6)) {
    case 0:
        return compute_us(by.below(300));
    case 1:
        return void(usleep(by.below(700)));
    case 2:
        return void(sched_yield());
    case 3:
        return void(poll(nullptr, 0, static_cast<int>(by.below(3))));
    case 4:
        return std::this_thread::sleep_for(std::chrono::microseconds(by.below(400)));
    default:
        return;
    }
}

// A call that Linux ends with EINTR now and then when another thread forks, although no handler runs.
template <class Call> auto again(Call call) {
    auto result = call();
    while (result < 0 && errno == EINTR) result = call();
    return result;
}

void make_region(chance &by, int depth);
void make_calls(chance &by, int depth);
constexpr int deepest = 2;

// ---- What regions do

constexpr long sum_below(long n) { return n * (n - 1) / 2; }
int some_ranks(chance &by) { return 1 + static_cast<int>(by.below(4)); }
int rank() { return omp_get_thread_num(); }

void share_a_loop(chance &by, int) {
    long sum = 0;
    const int n = 1 + static_cast<int>(by.below(500)), chunk = 1 + static_cast<int>(by.below(7));
#pragma omp parallel for num_threads(some_ranks(by)) schedule(dynamic, chunk) reduction(+ : sum)
    for (int i = 0; i < n; ++i) {
        if (i % 97 == 5) compute_us(20);
        sum += i;
    }
    CHECK_EQUAL(sum, sum_below(n));
}

void keep_order(chance &by, int) {
    std::vector<int> order;
    const int n = 1 + static_cast<int>(by.below(60));
#pragma omp parallel for num_threads(some_ranks(by)) schedule(runtime) ordered
    for (int i = 0; i < n; ++i) {
        if (i % 13 == 1) usleep(50);
#pragma omp ordered
        order.push_back(i);
    }
    CHECK_EQUAL(order.size(), n);
    for (int i = 0; i < n; ++i) CHECK_EQUAL(order[static_cast<std::size_t>(i)], i);
}

void follow_each_other(chance &by, int) {
    const int n = 2 + static_cast<int>(by.below(40));
    std::vector<int> done(n, 0);
    std::atomic<bool> good{true};
#pragma omp parallel for num_threads(some_ranks(by)) schedule(static, 1) ordered(1)
    for (int i = 1; i < n; ++i) {
#pragma omp ordered depend(sink : i - 1)
        if (i > 1 && done[i - 1] != i - 1) good = false;
        done[i] = i;
#pragma omp ordered depend(source)
    }
    CHECK(good);
}

void exclude_each_other(chance &by, int) {
    long in_section = 0, locked = 0, ranks = 0;
    omp_lock_t lock;
    omp_init_lock(&lock);
#pragma omp parallel num_threads(some_ranks(by))
    {
        chance own = by.other(rank());
#pragma omp single
        ranks = omp_get_num_threads();
        for (int i = 0; i < 20; ++i) {
#pragma omp critical(soak)
            {
                ++in_section;
                if (i % 7 == 0) pause(own);
            }
            omp_set_lock(&lock);
            ++locked;
            if (i % 9 == 0) pause(own);
            omp_unset_lock(&lock);
        }
    }
    omp_destroy_lock(&lock);
    CHECK_EQUAL(in_section, 20 * ranks);
    CHECK_EQUAL(locked, 20 * ranks);
}

void depend(chance &by, int) {
    const int n = 2 + static_cast<int>(by.below(30));
    int last = 0, wrong = 0, all = 0;
    std::array<int, 8> cells{};
#pragma omp parallel num_threads(some_ranks(by))
#pragma omp single
    {
        for (int i = 0; i < n; ++i) {
            int &cell = cells[static_cast<std::size_t>(i) % cells.size()];
#pragma omp task depend(inout : last) firstprivate(i)
            {
                chance own = by.other(i);
                if (i % 5 == 0) pause(own);
                wrong += last != i;
                last = i + 1;
            }
#pragma omp task depend(inout : cell) depend(in : last) firstprivate(i) shared(cell)
            {
                chance own = by.other(i);
                ++cell;
                pause(own);
            }
        }
#pragma omp taskwait
    }
    for (const int c : cells) all += c;
    CHECK_EQUAL(wrong, 0);
    CHECK_EQUAL(last, n);
    CHECK_EQUAL(all, n);
}

void loop_in_tasks(chance &by, int) {
    long sum = 0;
    const int n = 1 + static_cast<int>(by.below(300));
#pragma omp parallel num_threads(some_ranks(by))
#pragma omp single
    {
#pragma omp taskloop grainsize(5) reduction(+ : sum)
        for (int i = 0; i < n; ++i) {
            chance own = by.other(i);
            if (i % 50 == 3) pause(own);
            sum += i;
        }
#pragma omp taskgroup
        for (int i = 0; i < 5; ++i) {
#pragma omp task firstprivate(i)
            {
                chance own = by.other(i);
                pause(own);
#pragma omp taskyield
            }
        }
    }
    CHECK_EQUAL(sum, sum_below(n));
}

void cancel_a_loop(chance &by, int) {
    std::atomic<int> began{0}, ended{0};
#pragma omp parallel num_threads(some_ranks(by))
    {
        chance own = by.other(rank());
        ++began;
#pragma omp for schedule(dynamic)
        for (int i = 0; i < 50; ++i) {
            if (i == 20) {
#pragma omp cancel for
            }
#pragma omp cancellation point for
            if (i % 9 == 0) pause(own);
        }
        ++ended;
    }
    CHECK_EQUAL(ended, began);
}

thread_local unsigned own_number;

void keep_storage(chance &by, int) {
#pragma omp parallel num_threads(some_ranks(by))
    {
        chance own = by.other(rank());
        const unsigned mine = own_number = own.below(1000000);
        const int error = errno = 1000 + rank();
        for (int i = 0; i < 3; ++i) {
            compute_us(own.below(100));
            sched_yield();
#pragma omp barrier
            CHECK_EQUAL(own_number, mine);
            CHECK_EQUAL(errno, error);
        }
        pause(own);
        CHECK_EQUAL(own_number, mine);
    }
}

void divide_sections(chance &by, int) {
    std::atomic<int> sections{0};
#pragma omp parallel num_threads(some_ranks(by))
    {
        chance own = by.other(rank());
        int copied = -1;
#pragma omp sections nowait
        {
#pragma omp section
            {
                ++sections;
                pause(own);
            }
#pragma omp section
            ++sections;
#pragma omp section
            ++sections;
        }
#pragma omp single copyprivate(copied)
        {
            copied = 5;
            pause(own);
        }
        CHECK_EQUAL(copied, 5);
    }
    CHECK_EQUAL(sections, 3);
}

void throw_in_ranks(chance &by, int) {
    std::atomic<int> ranks{0}, caught{0};
#pragma omp parallel num_threads(some_ranks(by))
    {
        chance own = by.other(rank());
        const std::string what = std::to_string(++ranks);
        try {
            pause(own);
            throw std::runtime_error(what);
        } catch (const std::runtime_error &e) {
            pause(own);
            caught += e.what() == what;
        }
    }
    CHECK_EQUAL(caught, ranks);
}

void make_calls_in_ranks(chance &by, int depth) {
#pragma omp parallel num_threads(some_ranks(by))
    {
        chance own = by.other(rank());
        if (depth < deepest) make_calls(own, depth + 1);
    }
}

void nest(chance &by, int depth) {
#pragma omp parallel num_threads(some_ranks(by))
    {
        chance own = by.other(rank());
        if (depth < deepest) make_region(own, depth + 1);
    }
}

// ---- What threads and ranks do

class both_ways {
public:
    explicit both_ways(int (*make)(int *)) { NEED(make(there_) == 0 && make(back_) == 0); }
    ~both_ways() {
        for (const int fd : {there_[0], there_[1], back_[0], back_[1]}) close(fd);
    }
    both_ways(const both_ways &) = delete;
    both_ways &operator=(const both_ways &) = delete;
    void send(bool back, char c) { CHECK_EQUAL(write((back ? back_ : there_)[1], &c, 1), 1); }
    char receive(bool back) {
        char c = 0;
        CHECK_EQUAL(read((back ? back_ : there_)[0], &c, 1), 1);
        return c;
    }

private:
    int there_[2], back_[2];
};

void exchange_bytes(chance &, int) {
    constexpr char exchanges = 20;
    both_ways pipes(pipe);
    std::thread other([&] {
        for (char i = 0; i < exchanges; ++i) pipes.send(true, pipes.receive(false));
    });
    for (char i = 0; i < exchanges; ++i) {
        pipes.send(false, i);
        CHECK_EQUAL(pipes.receive(true), i);
    }
    other.join();
}

std::atomic<int> to_be_cancelled{0}, cleaned_up{0};

void *read_until_cancelled(void *end) {
    pthread_cleanup_push([](void *) { ++cleaned_up; }, nullptr);
    char c;
    (void)!read(*static_cast<int *>(end), &c, 1);
    for (;;) usleep(1000);
    pthread_cleanup_pop(0);
    return nullptr;
}

void cancel_a_thread(chance &by, int) {
    int ends[2];
    pthread_t t;
    void *result = nullptr;
    NEED(pipe(ends) == 0);
    NEED(pthread_create(&t, nullptr, read_until_cancelled, &ends[0]) == 0);
    pause(by);
    if (by.below(2)) CHECK_EQUAL(write(ends[1], "x", 1), 1);
    pause(by);
    const int before = cleaned_up;
    CHECK_EQUAL(pthread_cancel(t), 0);
    CHECK_EQUAL(pthread_join(t, &result), 0);
    CHECK(result == PTHREAD_CANCELED && cleaned_up > before);
    ++to_be_cancelled;
    close(ends[0]);
    close(ends[1]);
}

timespec in_ns(clockid_t clock, long ns) {
    timespec t;
    clock_gettime(clock, &t);
    t.tv_nsec += ns;
    t.tv_sec += t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    return t;
}

void wait_for_nothing(chance &by, int) {
    std::mutex mutex;
    std::condition_variable never;
    std::unique_lock lock(mutex);
    const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(by.below(3000));
    CHECK(!never.wait_until(lock, until, [] { return false; }));
    CHECK(std::chrono::steady_clock::now() >= until);
    sem_t none;
    sem_init(&none, 0, 0);
    const timespec late = in_ns(CLOCK_REALTIME, static_cast<long>(by.below(1000000)));
    CHECK_EQUAL(sem_timedwait(&none, &late), -1);
    CHECK_EQUAL(errno, ETIMEDOUT);
    sem_destroy(&none);
}

void post(chance &by, int) {
    sem_t posted;
    sem_init(&posted, 0, 0);
    std::thread poster([&, own = by.other(1)]() mutable {
        for (int i = 0; i < 10; ++i) {
            sem_post(&posted);
            if (i % 4 == 0) pause(own);
        }
    });
    for (int i = 0; i < 10; ++i) CHECK_EQUAL(sem_wait(&posted), 0);
    poster.join();
    sem_destroy(&posted);
}

void meet(chance &by, int) {
    const unsigned n = 2 + by.below(4);
    constexpr int rounds = 5;
    pthread_barrier_t barrier;
    pthread_barrier_init(&barrier, nullptr, n);
    std::atomic<int> serial{0};
    std::vector<std::thread> all;
    for (unsigned i = 0; i < n; ++i)
        all.emplace_back([&, own = by.other(i)]() mutable {
            for (int k = 0; k < rounds; ++k) {
                pause(own);
                serial += pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD;
            }
        });
    for (auto &t : all) t.join();
    pthread_barrier_destroy(&barrier);
    CHECK_EQUAL(serial, rounds);
}

// Where the program's threads are not Comity's, the C library takes the stack of the kernel thread on which a rank has
// forked for free in the child, which can only end (src/core/README.md, "Fork").
void fork_a_child(chance &by, int depth) {
    static const bool ours = threads_are_comitys();
    const unsigned does = ours || depth == 0 ? by.below(3) : 0;
    const pid_t child = fork();
    if (child == 0) {
        if (does == 1) std::thread([] { usleep(10); }).join();
        long sum = 0;
        if (does == 2) {
#pragma omp parallel for num_threads(3) reduction(+ : sum)
            for (int i = 0; i < 100; ++i) sum += i;
            if (sum != sum_below(100)) _exit(3);
        }
        _exit(0);
    }
    int status = -1;
    NEED(child > 0);
    CHECK_EQUAL(waitpid(child, &status, 0), child);
    CHECK_EQUAL(status, 0);
    if (by.below(8) == 0) CHECK_EQUAL(system("true"), 0);
}

void await_a_value(chance &by, int) {
    const bool throws = by.below(2);
    auto value = std::async(std::launch::async, [throws, own = by.other(1)]() mutable {
        pause(own);
        if (throws) throw std::logic_error("thrown");
        return 5;
    });
    try {
        CHECK_EQUAL(value.get(), 5);
        CHECK(!throws);
    } catch (const std::logic_error &e) {
        CHECK(throws && std::string("thrown") == e.what());
    }
}

std::mutex everybodys;
pthread_rwlock_t for_readers = PTHREAD_RWLOCK_INITIALIZER;
int holders = 0, writers = 0; // by the locks

void lock(chance &by, int) {
    for (int i = 0; i < 20; ++i) {
        const std::lock_guard here(everybodys);
        CHECK_EQUAL(++holders, 1);
        if (i % 10 == 3) pause(by);
        --holders;
    }
    for (int i = 0; i < 10; ++i) {
        const bool writes = i % 5 == 0;
        writes ? pthread_rwlock_wrlock(&for_readers) : pthread_rwlock_rdlock(&for_readers);
        writers += writes;
        CHECK_EQUAL(writers, writes);
        if (writes || i == 3) pause(by);
        writers -= writes;
        pthread_rwlock_unlock(&for_readers);
    }
}

void await_an_event(chance &by, int) {
    const int event = eventfd(0, 0), set = epoll_create1(0);
    epoll_event wanted{};
    wanted.events = EPOLLIN;
    NEED(epoll_ctl(set, EPOLL_CTL_ADD, event, &wanted) == 0);
    std::thread other([&, own = by.other(1)]() mutable {
        pause(own);
        eventfd_write(event, 1);
    });
    CHECK_EQUAL(again([&] { return epoll_wait(set, &wanted, 1, -1); }), 1);
    eventfd_t value = 0;
    CHECK_EQUAL(eventfd_read(event, &value), 0);
    other.join();
    close(event);
    close(set);
}

void receive_in_time(chance &, int) {
    int ends[2];
    NEED(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    const timeval limit{0, 500};
    setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    char c = 0;
    CHECK_EQUAL(again([&] { return recv(ends[0], &c, 1, 0); }), -1);
    CHECK_EQUAL(errno, EAGAIN);
    CHECK_EQUAL(send(ends[1], "y", 1, 0), 1);
    CHECK_EQUAL(again([&] { return recv(ends[0], &c, 1, 0); }), 1);
    CHECK_EQUAL(c, 'y');
    close(ends[0]);
    close(ends[1]);
}

thread_local std::atomic<int> *handled_here = nullptr;
void handle(int) {
    if (handled_here) ++*handled_here;
}

void signal_a_thread(chance &by, int) {
    std::atomic<int> handled{0};
    std::atomic<bool> begun{false}, stops{false};
    std::thread sleeper([&] {
        handled_here = &handled;
        begun = true;
        while (!stops) usleep(300);
        handled_here = nullptr;
    });
    while (!begun) sched_yield();
    for (int i = 0; i < 3; ++i) {
        CHECK_EQUAL(pthread_kill(sleeper.native_handle(), SIGUSR1), 0);
        pause(by);
    }
    while (handled == 0) sched_yield();
    stops = true;
    sleeper.join();
}

void queue_up(chance &by, int) {
    constexpr int items = 30;
    std::mutex mutex;
    std::condition_variable there;
    std::vector<int> queue;
    long sum = 0;
    std::thread producer([&, own = by.other(1)]() mutable {
        for (int i = 0; i < items; ++i) {
            {
                const std::lock_guard here(mutex);
                queue.push_back(i);
            }
            there.notify_one();
            if (i % 11 == 0) pause(own);
        }
    });
    for (int got = 0; got < items; ++got) {
        std::unique_lock here(mutex);
        there.wait(here, [&] { return !queue.empty(); });
        sum += queue.back();
        queue.pop_back();
    }
    producer.join();
    CHECK_EQUAL(sum, sum_below(items));
}

void create_many(chance &by, int) {
    const unsigned n = 1 + by.below(20);
    std::atomic<unsigned> ran{0};
    std::vector<std::thread> all;
    for (unsigned i = 0; i < n; ++i)
        all.emplace_back([&, own = by.other(i)]() mutable {
            pause(own);
            ++ran;
        });
    for (auto &t : all) t.join();
    CHECK_EQUAL(ran, n);
}

std::atomic<int> detached{0};

void detach_one(chance &by, int) {
    ++detached;
    std::thread([own = by.other(1)]() mutable {
        pause(own);
        --detached;
    }).detach();
}

void spin(chance &by, int) {
    std::atomic<bool> go{false};
    std::thread other([&, own = by.other(1)]() mutable {
        pause(own);
        go = true;
    });
    while (!go) {
    }
    other.join();
}

// Now and then for longer than a time slice.
void compute(chance &by, int) { compute_us(by.below(20) == 0 ? 25000 : by.below(1500)); }

using deed = void (*)(chance &, int depth);
constexpr deed in_regions[] = {share_a_loop,    keep_order,     follow_each_other,   exclude_each_other,
                               depend,          loop_in_tasks,  cancel_a_loop,       keep_storage,
                               divide_sections, throw_in_ranks, make_calls_in_ranks, nest};
constexpr deed in_threads[] = {
    exchange_bytes, cancel_a_thread, wait_for_nothing, post,     meet,        fork_a_child, await_a_value, lock,
    await_an_event, receive_in_time, signal_a_thread,  queue_up, create_many, detach_one,   spin,          compute};

void make_region(chance &by, int depth) { in_regions[by.below(std::size(in_regions))](by, depth); }
void make_calls(chance &by, int depth) {
    if (depth < deepest && by.below(8) == 0) return make_region(by, depth + 1);
    in_threads[by.below(std::size(in_threads))](by, depth);
}

} // namespace

int main(int argc, char **argv) {
    constexpr int deeds = 40;
    witness_comity();
    struct sigaction action {};
    action.sa_handler = handle;
    action.sa_flags = SA_RESTART;
    sigaction(SIGUSR1, &action, nullptr);
    const chance seed(argc > 1 ? static_cast<unsigned>(atoi(argv[1])) : 1);
    const int threads = argc > 2 ? atoi(argv[2]) : 4;
    omp_set_max_active_levels(3);
    std::vector<std::thread> all;
    for (int i = 0; i < threads; ++i)
        all.emplace_back([own = seed.other(i + 1)]() mutable {
            omp_set_max_active_levels(3);
            for (int k = 0; k < deeds; ++k) make_calls(own, 0);
        });
    chance own = seed;
    for (int i = 0; i < deeds / 2; ++i) {
        make_calls(own, 0);
        make_region(own, 0);
    }
    for (auto &t : all) t.join();
    while (detached != 0) usleep(100);
    CHECK_EQUAL(cleaned_up, to_be_cancelled);
    return report() ? 1 : argc > 3 ? atoi(argv[3]) : 0;
}
