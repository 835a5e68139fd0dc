// POSIX threads, run twice: with the C library's, and with Comity's under the preload object.
#include "../../unit/sanitizers.hpp"
#include "start.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <unistd.h>

namespace {

using namespace std::chrono_literals;

bool are_comitys() { return std::strcmp(std::getenv("COMITY_EXPECTED_LIBRARY"), "libcomity_threads") == 0; }

timespec in(std::chrono::milliseconds ms, clockid_t clock = CLOCK_REALTIME) {
    timespec t{};
    clock_gettime(clock, &t);
    const long long ns = t.tv_nsec + ms.count() * 1'000'000LL;
    t.tv_sec += ns / 1'000'000'000;
    t.tv_nsec = ns % 1'000'000'000;
    return t;
}

} // namespace

TEST(threads, are_of_the_library_that_is_tested) {
    Dl_info info{};
    ASSERT_NE(0, dladdr(reinterpret_cast<void *>(&pthread_create), &info));
    EXPECT_NE(std::string::npos, std::string(info.dli_fname).find(std::getenv("COMITY_EXPECTED_LIBRARY")))
        << info.dli_fname;
}

// The witness: hundreds of threads, carried by a few kernel threads.
TEST(threads, are_comitys_and_not_the_kernels) {
    if (!are_comitys()) GTEST_SKIP();
    std::set<std::string> kernel_ids; // of those that carry them, which gettid does not tell
    std::mutex m;
    std::vector<std::thread> all;
    for (int i = 0; i < 500; ++i)
        all.emplace_back([&] {
            const std::lock_guard l(m);
            char own[64] = {};
            kernel_ids.insert(readlink("/proc/thread-self", own, sizeof own - 1) > 0 ? own : "unknown");
        });
    for (auto &t : all) t.join();
    EXPECT_EQ(0U, kernel_ids.count("unknown"));
    EXPECT_LE(kernel_ids.size(), 8U);
}

TEST(threads, give_their_results_to_who_joins) {
    for (long i = 0; i < 1000; ++i) {
        pthread_t t{};
        ASSERT_EQ(0, pthread_create(
                         &t, nullptr, [](void *p) { return p; }, reinterpret_cast<void *>(i)));
        void *result = nullptr;
        ASSERT_EQ(0, pthread_join(t, &result));
        EXPECT_EQ(i, reinterpret_cast<long>(result));
    }
}

TEST(threads, that_exit_in_the_middle_leave_their_frames) {
    struct guard {
        std::atomic<int> &n;
        ~guard() { ++n; }
    };
    std::atomic<int> left{0};
    auto f = [&] {
        guard outer{left};
        [&] {
            guard inner{left};
            pthread_exit(reinterpret_cast<void *>(7));
        }();
    };
    void *result = nullptr;
    ASSERT_EQ(0, pthread_join(start(f), &result));
    EXPECT_EQ(reinterpret_cast<void *>(7), result);
    EXPECT_EQ(2, left);
}

TEST(threads, have_identities) {
    pthread_t inside{};
    auto f = [&] { inside = pthread_self(); };
    const pthread_t t = start(f);
    ASSERT_EQ(0, pthread_join(t, nullptr));
    EXPECT_TRUE(pthread_equal(inside, t));
    EXPECT_FALSE(pthread_equal(inside, pthread_self()));
}

TEST(threads, that_join_themselves_or_each_other_are_refused) {
    if (thread_sanitizer) GTEST_SKIP() << "it ends a process that joins its first thread";
    EXPECT_EQ(EDEADLK, pthread_join(pthread_self(), nullptr));
    std::atomic<int> error{-1};
    auto f = [&] { error = pthread_join(pthread_self(), nullptr); };
    ASSERT_EQ(0, pthread_join(start(f), nullptr));
    EXPECT_EQ(EDEADLK, error);
}

TEST(threads, that_are_detached_cannot_be_joined) {
    std::atomic<bool> go{false}, gone{false};
    auto f = [&] {
        while (!go) sched_yield();
        gone = true;
    };
    const pthread_t t = start(f);
    EXPECT_EQ(0, pthread_detach(t));
    EXPECT_EQ(EINVAL, pthread_join(t, nullptr));
    EXPECT_EQ(EINVAL, pthread_detach(t));
    go = true;
    while (!gone) std::this_thread::sleep_for(1ms);
}

TEST(threads, can_be_joined_in_time_or_not) {
    std::atomic<bool> go{false};
    auto f = [&] {
        while (!go) std::this_thread::sleep_for(1ms);
    };
    const pthread_t t = start(f);
    EXPECT_EQ(EBUSY, pthread_tryjoin_np(t, nullptr));
    const timespec soon = in(20ms);
    EXPECT_EQ(ETIMEDOUT, pthread_timedjoin_np(t, nullptr, &soon));
    go = true;
    const timespec late = in(60s);
    EXPECT_EQ(0, pthread_timedjoin_np(t, nullptr, &late));
}

namespace {
thread_local int fresh = 7;
thread_local std::string of_cpp = "at first";
std::atomic<int> constructed{0}, destroyed{0};
struct counted {
    counted() { ++constructed; }
    ~counted() { ++destroyed; }
    int touched = 0;
};
thread_local counted object;
} // namespace

TEST(threads, have_thread_local_variables_of_their_own) {
    for (int i = 0; i < 200; ++i) {
        auto f = [&] {
            EXPECT_EQ(7, fresh);
            EXPECT_EQ("at first", of_cpp);
            EXPECT_EQ(0, errno);
            fresh = i;
            of_cpp = "something that does not fit into the object itself";
            errno = EINVAL;
            std::this_thread::yield();
            EXPECT_EQ(i, fresh);
            EXPECT_EQ(EINVAL, errno);
            object.touched = 1;
        };
        const pthread_t a = start(f), b = start(f);
        pthread_join(a, nullptr);
        pthread_join(b, nullptr);
    }
    EXPECT_EQ(400, constructed);
    EXPECT_EQ(400, destroyed);
    EXPECT_EQ(7, fresh);
}

// Those of a library that comes, goes and comes again while threads' storage goes from one to the next.
TEST(threads, have_variables_of_their_own_in_a_library_that_is_loaded_late) {
    static std::atomic<int> wrong{0};
    static int (*count)() = nullptr;
    wrong = 0;
    auto before = [] { wrong += std::exchange(fresh, 0) != 7; };
    auto after = [] { wrong += std::exchange(fresh, 0) != 7 || count() != 43 || count() != 44; };
    for (int round = 0; round < 3; ++round) {
        for (int i = 0; i < 20; ++i) pthread_join(start(before), nullptr);
        void *library = dlopen(LATE_LIBRARY, RTLD_NOW);
        ASSERT_NE(nullptr, library) << dlerror();
        count = reinterpret_cast<int (*)()>(dlsym(library, "late_global_dynamic"));
        ASSERT_NE(nullptr, count);
        for (int i = 0; i < 20; ++i) pthread_join(start(after), nullptr);
        ASSERT_EQ(0, dlclose(library));
    }
    EXPECT_EQ(0, wrong);
}

TEST(threads, destroy_the_values_of_their_keys_in_rounds) {
    static pthread_key_t first, second;
    static std::atomic<int> calls{0};
    ASSERT_EQ(0, pthread_key_create(&first, [](void *) {
                  ++calls;
                  pthread_setspecific(second, &calls);
              }));
    ASSERT_EQ(0, pthread_key_create(&second, [](void *) { ++calls; }));
    for (int i = 0; i < 10; ++i) {
        auto f = [] {
            EXPECT_EQ(nullptr, pthread_getspecific(first));
            EXPECT_EQ(nullptr, pthread_getspecific(second));
            pthread_setspecific(first, &calls);
        };
        ASSERT_EQ(0, pthread_join(start(f), nullptr));
    }
    EXPECT_EQ(20, calls);
    pthread_key_delete(first);
    pthread_key_delete(second);
}

// ---- Cancellation

namespace {
template <class Wait> void expect_cancelled(Wait wait) {
    std::atomic<bool> inside{false};
    std::atomic<int> left{0};
    struct guard {
        std::atomic<int> &n;
        ~guard() { ++n; }
    };
    auto f = [&] {
        guard g{left};
        inside = true;
        wait();
        ADD_FAILURE() << "it was not cancelled";
    };
    const pthread_t t = start(f);
    while (!inside) std::this_thread::sleep_for(1ms);
    std::this_thread::sleep_for(2ms);
    EXPECT_EQ(0, pthread_cancel(t));
    void *result = nullptr;
    ASSERT_EQ(0, pthread_join(t, &result));
    EXPECT_EQ(PTHREAD_CANCELED, result);
    EXPECT_EQ(1, left);
}
} // namespace

TEST(cancellation, ends_a_thread_at_each_place_where_it_may) {
    expect_cancelled([] {
        for (;;) {
            pthread_testcancel();
            sched_yield();
        }
    });
    expect_cancelled([] { sleep(1000); });
    expect_cancelled([] {
        sem_t s;
        sem_init(&s, 0, 0);
        sem_wait(&s);
    });
    expect_cancelled([] {
        sem_t s;
        sem_init(&s, 0, 0);
        const timespec t = in(1000s);
        sem_timedwait(&s, &t);
    });
}

TEST(cancellation, of_a_waiter_at_a_condition_leaves_the_mutex_locked_for_its_handlers) {
    pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t c = PTHREAD_COND_INITIALIZER;
    expect_cancelled([&] {
        pthread_mutex_lock(&m);
        struct guard {
            pthread_mutex_t &m;
            ~guard() { EXPECT_EQ(0, pthread_mutex_unlock(&m)); }
        } g{m};
        for (;;) pthread_cond_wait(&c, &m);
    });
    EXPECT_EQ(0, pthread_mutex_trylock(&m));
    pthread_mutex_unlock(&m);
    EXPECT_EQ(0, pthread_cond_destroy(&c));
}

TEST(cancellation, waits_while_it_is_disabled) {
    std::atomic<int> step{0};
    auto f = [&] {
        int before = -1;
        EXPECT_EQ(0, pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before));
        EXPECT_EQ(PTHREAD_CANCEL_ENABLE, before);
        step = 1;
        while (step != 2) std::this_thread::sleep_for(1ms);
        pthread_testcancel();
        step = 3;
        pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, nullptr);
        pthread_testcancel();
        step = 4;
    };
    const pthread_t t = start(f);
    while (step != 1) std::this_thread::sleep_for(1ms);
    EXPECT_EQ(0, pthread_cancel(t));
    step = 2;
    void *result = nullptr;
    pthread_join(t, &result);
    EXPECT_EQ(PTHREAD_CANCELED, result);
    EXPECT_EQ(3, step);
}

extern "C" void run_handlers_in_c(void (*middle)(void), int *order); // threads_in_c.c

TEST(cancellation, runs_handlers_of_c_code_newest_first) {
    int order[4] = {};
    auto f = [&] { run_handlers_in_c([] { pthread_exit(nullptr); }, order); };
    ASSERT_EQ(0, pthread_join(start(f), nullptr));
    EXPECT_EQ(2, order[0]);
    EXPECT_EQ(1, order[1]);
    EXPECT_EQ(2, order[3]);
}

// ---- Objects

TEST(objects, mutexes_know_their_types) {
    pthread_mutexattr_t a;
    pthread_mutexattr_init(&a);
    pthread_mutex_t m;
    pthread_mutexattr_settype(&a, PTHREAD_MUTEX_ERRORCHECK);
    ASSERT_EQ(0, pthread_mutex_init(&m, &a));
    EXPECT_EQ(0, pthread_mutex_lock(&m));
    EXPECT_EQ(EDEADLK, pthread_mutex_lock(&m));
    EXPECT_EQ(EBUSY, pthread_mutex_trylock(&m));
    auto others = [&] {
        EXPECT_EQ(EPERM, pthread_mutex_unlock(&m));
        EXPECT_EQ(EBUSY, pthread_mutex_trylock(&m));
        const timespec soon = in(5ms);
        EXPECT_EQ(ETIMEDOUT, pthread_mutex_timedlock(&m, &soon));
    };
    pthread_join(start(others), nullptr);
    EXPECT_EQ(EBUSY, pthread_mutex_destroy(&m));
    EXPECT_EQ(0, pthread_mutex_unlock(&m));
    EXPECT_EQ(EPERM, pthread_mutex_unlock(&m));
    EXPECT_EQ(0, pthread_mutex_destroy(&m));

    pthread_mutexattr_settype(&a, PTHREAD_MUTEX_RECURSIVE);
    ASSERT_EQ(0, pthread_mutex_init(&m, &a));
    for (int i = 0; i < 3; ++i) EXPECT_EQ(0, i == 1 ? pthread_mutex_trylock(&m) : pthread_mutex_lock(&m));
    for (int i = 0; i < 3; ++i) EXPECT_EQ(0, pthread_mutex_unlock(&m));
    EXPECT_EQ(EPERM, pthread_mutex_unlock(&m));
    pthread_mutex_destroy(&m);
    pthread_mutexattr_destroy(&a);

    pthread_mutex_t initialised = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
    EXPECT_EQ(0, pthread_mutex_lock(&initialised));
    EXPECT_EQ(0, pthread_mutex_lock(&initialised));
}

TEST(objects, mutexes_of_the_c_librarys_kinds_still_work) {
    for (int kind = 0; kind < 3; ++kind) {
        pthread_mutexattr_t a;
        pthread_mutexattr_init(&a);
        if (kind == 0) pthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_SHARED);
        if (kind == 1) pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);
        if (kind == 2) pthread_mutexattr_setprotocol(&a, PTHREAD_PRIO_INHERIT);
        pthread_mutex_t m;
        ASSERT_EQ(0, pthread_mutex_init(&m, &a));
        EXPECT_EQ(0, pthread_mutex_lock(&m));
        EXPECT_EQ(EBUSY, pthread_mutex_trylock(&m));
        EXPECT_EQ(0, pthread_mutex_unlock(&m));
        EXPECT_EQ(0, pthread_mutex_destroy(&m));
    }
}

TEST(objects, mutexes_exclude) {
    pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    long counter = 0;
    auto f = [&] {
        for (int i = 0; i < 20000; ++i) {
            pthread_mutex_lock(&m);
            const long seen = counter;
            if (i % 64 == 0) sched_yield();
            counter = seen + 1;
            pthread_mutex_unlock(&m);
        }
    };
    std::vector<pthread_t> all;
    for (int i = 0; i < 8; ++i) all.push_back(start(f));
    for (const pthread_t t : all) pthread_join(t, nullptr);
    EXPECT_EQ(160000, counter);
}

TEST(objects, a_mutex_may_be_freed_by_who_locks_it_last) {
    struct counted_object {
        std::mutex m;
        int references = 2;
    };
    for (int i = 0; i < 2000; ++i) {
        auto *o = new counted_object;
        auto release = [o] {
            o->m.lock();
            const bool last = --o->references == 0;
            o->m.unlock();
            if (last) {
                std::memset(static_cast<void *>(o), 0x5a, sizeof *o);
                delete o;
            }
        };
        std::thread a(release), b(release);
        a.join();
        b.join();
    }
}

TEST(objects, a_wait_at_a_condition_ends_in_time) {
    pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    pthread_condattr_t a;
    pthread_condattr_init(&a);
    for (const clockid_t clock : {CLOCK_REALTIME, CLOCK_MONOTONIC}) {
        pthread_condattr_setclock(&a, clock);
        pthread_cond_t c;
        ASSERT_EQ(0, pthread_cond_init(&c, &a));
        auto f = [&] {
            pthread_mutex_lock(&m);
            const timespec soon = in(10ms, clock);
            EXPECT_EQ(ETIMEDOUT, pthread_cond_timedwait(&c, &m, &soon));
            timespec now{};
            clock_gettime(clock, &now);
            EXPECT_TRUE(now.tv_sec > soon.tv_sec || (now.tv_sec == soon.tv_sec && now.tv_nsec >= soon.tv_nsec));
            const timespec bad{0, 1'000'000'000};
            EXPECT_EQ(EINVAL, pthread_cond_timedwait(&c, &m, &bad));
            pthread_mutex_unlock(&m);
        };
        pthread_join(start(f), nullptr);
        EXPECT_EQ(0, pthread_cond_destroy(&c));
    }
}

TEST(objects, a_condition_wakes_one_or_all) {
    pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t c = PTHREAD_COND_INITIALIZER, back = PTHREAD_COND_INITIALIZER;
    int waiting = 0, woken = 0, permits = 0;
    auto f = [&] {
        pthread_mutex_lock(&m);
        ++waiting;
        pthread_cond_signal(&back);
        while (permits == 0) pthread_cond_wait(&c, &m);
        --permits;
        ++woken;
        pthread_cond_signal(&back);
        pthread_mutex_unlock(&m);
    };
    std::vector<pthread_t> all;
    for (int i = 0; i < 20; ++i) all.push_back(start(f));
    pthread_mutex_lock(&m);
    while (waiting != 20) pthread_cond_wait(&back, &m);
    permits = 1;
    pthread_cond_signal(&c);
    while (woken != 1) pthread_cond_wait(&back, &m);
    permits = 19;
    pthread_cond_broadcast(&c);
    while (woken != 20) pthread_cond_wait(&back, &m);
    pthread_mutex_unlock(&m);
    for (const pthread_t t : all) pthread_join(t, nullptr);
    EXPECT_EQ(0, pthread_cond_destroy(&c));
    EXPECT_EQ(0, pthread_cond_destroy(&back));
}

TEST(objects, semaphores_count) {
    sem_t s, back;
    ASSERT_EQ(0, sem_init(&s, 0, 3));
    ASSERT_EQ(0, sem_init(&back, 0, 0));
    int value = -1;
    EXPECT_EQ(0, sem_getvalue(&s, &value));
    EXPECT_EQ(3, value);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(0, sem_trywait(&s));
    EXPECT_EQ(-1, sem_trywait(&s));
    EXPECT_EQ(EAGAIN, errno);
    const timespec soon = in(5ms);
    EXPECT_EQ(-1, sem_timedwait(&s, &soon));
    EXPECT_EQ(ETIMEDOUT, errno);
    auto f = [&] {
        for (int i = 0; i < 1000; ++i) {
            sem_wait(&s);
            sem_post(&back);
        }
    };
    std::vector<pthread_t> all;
    for (int i = 0; i < 4; ++i) all.push_back(start(f));
    for (int i = 0; i < 4000; ++i) sem_post(&s);
    for (int i = 0; i < 4000; ++i) sem_wait(&back);
    for (const pthread_t t : all) pthread_join(t, nullptr);
    sem_init(&s, 0, SEM_VALUE_MAX);
    EXPECT_EQ(-1, sem_post(&s));
    EXPECT_EQ(EOVERFLOW, errno);
    EXPECT_EQ(0, sem_destroy(&s));
    EXPECT_EQ(0, sem_destroy(&back));
}

TEST(objects, readers_share_and_writers_do_not) {
    pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
    EXPECT_EQ(0, pthread_rwlock_rdlock(&l));
    EXPECT_EQ(0, pthread_rwlock_rdlock(&l));
    EXPECT_EQ(EBUSY, pthread_rwlock_trywrlock(&l));
    auto writer = [&] {
        const timespec soon = in(5ms);
        EXPECT_EQ(ETIMEDOUT, pthread_rwlock_timedwrlock(&l, &soon));
        EXPECT_EQ(0, pthread_rwlock_tryrdlock(&l));
        EXPECT_EQ(0, pthread_rwlock_unlock(&l));
    };
    pthread_join(start(writer), nullptr);
    EXPECT_EQ(0, pthread_rwlock_unlock(&l));
    EXPECT_EQ(0, pthread_rwlock_unlock(&l));
    EXPECT_EQ(0, pthread_rwlock_wrlock(&l));
    EXPECT_EQ(EDEADLK, pthread_rwlock_wrlock(&l));
    EXPECT_EQ(EDEADLK, pthread_rwlock_rdlock(&l));
    EXPECT_EQ(0, pthread_rwlock_unlock(&l));
    for (const int kind : {PTHREAD_RWLOCK_PREFER_READER_NP, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP}) {
        pthread_rwlockattr_t a;
        pthread_rwlockattr_init(&a);
        pthread_rwlockattr_setkind_np(&a, kind);
        pthread_rwlock_t m;
        ASSERT_EQ(0, pthread_rwlock_init(&m, &a));
        long x = 0, y = 0;
        auto f = [&] {
            for (int i = 0; i < 2000; ++i) {
                if (i % 8 == 0) {
                    pthread_rwlock_wrlock(&m);
                    ++x;
                    if (i % 64 == 0) sched_yield();
                    ++y;
                } else {
                    pthread_rwlock_rdlock(&m);
                    EXPECT_EQ(x, y);
                    if (i % 64 == 1) sched_yield();
                }
                pthread_rwlock_unlock(&m);
            }
        };
        std::vector<pthread_t> all;
        for (int i = 0; i < 6; ++i) all.push_back(start(f));
        for (const pthread_t t : all) pthread_join(t, nullptr);
        EXPECT_EQ(6 * 250, x);
        EXPECT_EQ(0, pthread_rwlock_destroy(&m));
    }
}

TEST(objects, barriers_let_one_be_the_last) {
    pthread_barrier_t b;
    ASSERT_EQ(0, pthread_barrier_init(&b, nullptr, 7));
    EXPECT_EQ(EINVAL, pthread_barrier_init(&b, nullptr, 0));
    std::atomic<int> serial{0}, wrong{0};
    std::atomic<int> phase[7]{};
    auto f = [&](int me) {
        for (int i = 0; i < 300; ++i) {
            phase[me] = i;
            if (pthread_barrier_wait(&b) == PTHREAD_BARRIER_SERIAL_THREAD) ++serial;
            for (auto &p : phase) wrong += p < i;
            pthread_barrier_wait(&b);
        }
    };
    std::vector<std::thread> all;
    for (int i = 0; i < 7; ++i) all.emplace_back(f, i);
    for (auto &t : all) t.join();
    EXPECT_EQ(300, serial);
    EXPECT_EQ(0, wrong);
    EXPECT_EQ(0, pthread_barrier_destroy(&b));
}

TEST(objects, once_is_once_also_after_an_exception) {
    static pthread_once_t o = PTHREAD_ONCE_INIT;
    static std::atomic<int> calls{0};
    std::vector<std::thread> all;
    for (int i = 0; i < 10; ++i)
        all.emplace_back([] {
            pthread_once(&o, [] {
                std::this_thread::sleep_for(5ms);
                ++calls;
            });
            EXPECT_EQ(1, calls);
        });
    for (auto &t : all) t.join();
    std::once_flag flag;
    int tries = 0;
    for (int i = 0; i < 3; ++i) {
        try {
            std::call_once(flag, [&] {
                if (++tries < 2) throw std::runtime_error("the first time");
            });
        } catch (const std::runtime_error &) {
        }
    }
    EXPECT_EQ(2, tries);
}

TEST(objects, spin_locks_let_their_holder_go_on) {
    pthread_spinlock_t l;
    ASSERT_EQ(0, pthread_spin_init(&l, PTHREAD_PROCESS_PRIVATE));
    long n = 0;
    auto f = [&] {
        for (int i = 0; i < 500; ++i) {
            pthread_spin_lock(&l);
            const long seen = n;
            if (i % 16 == 0) sched_yield();
            n = seen + 1;
            pthread_spin_unlock(&l);
        }
    };
    std::vector<pthread_t> all;
    for (int i = 0; i < 4; ++i) all.push_back(start(f));
    for (const pthread_t t : all) pthread_join(t, nullptr);
    EXPECT_EQ(2000, n);
    pthread_spin_destroy(&l);
}

// ---- Names and attributes

TEST(properties, names_and_attributes_are_told) {
    auto f = [] {
        EXPECT_EQ(0, pthread_setname_np(pthread_self(), "a-name"));
        char name[16];
        EXPECT_EQ(0, pthread_getname_np(pthread_self(), name, sizeof name));
        EXPECT_STREQ("a-name", name);
        EXPECT_EQ(ERANGE, pthread_setname_np(pthread_self(), "sixteen-and-more"));
        EXPECT_EQ(ERANGE, pthread_getname_np(pthread_self(), name, 3));
        pthread_attr_t a;
        ASSERT_EQ(0, pthread_getattr_np(pthread_self(), &a));
        void *bottom = nullptr;
        std::size_t size = 0;
        ASSERT_EQ(0, pthread_attr_getstack(&a, &bottom, &size));
        char here = 0;
        EXPECT_GT(&here, static_cast<char *>(bottom));
        EXPECT_LT(&here, static_cast<char *>(bottom) + size);
        pthread_attr_destroy(&a);
        int policy = -1;
        sched_param p{};
        EXPECT_EQ(0, pthread_getschedparam(pthread_self(), &policy, &p));
        EXPECT_EQ(SCHED_OTHER, policy);
        EXPECT_EQ(0, pthread_setschedparam(pthread_self(), policy, &p));
    };
    pthread_join(start(f), nullptr);
}

TEST(properties, a_large_stack_is_given) {
    pthread_attr_t a;
    pthread_attr_init(&a);
    ASSERT_EQ(0, pthread_attr_setstacksize(&a, 32 << 20));
    auto f = [] {
        volatile char large[24 << 20];
        large[0] = 1;
        large[sizeof large - 1] = 2;
        EXPECT_EQ(3, large[0] + large[sizeof large - 1]);
    };
    pthread_join(start(f, &a), nullptr);
    pthread_attr_destroy(&a);
}

TEST(properties, a_thread_that_wants_its_own_processor_gets_a_kernel_thread) {
    pthread_attr_t a;
    pthread_attr_init(&a);
    cpu_set_t cpus;
    sched_getaffinity(0, sizeof cpus, &cpus);
    int first = 0;
    while (!CPU_ISSET(first, &cpus)) ++first;
    CPU_ZERO(&cpus);
    CPU_SET(first, &cpus);
    ASSERT_EQ(0, pthread_attr_setaffinity_np(&a, sizeof cpus, &cpus));
    std::mutex m;
    long here = 0;
    auto f = [&] {
        const std::lock_guard l(m);
        here = sched_getcpu();
    };
    pthread_join(start(f, &a), nullptr);
    EXPECT_EQ(first, here);
    pthread_attr_destroy(&a);
}
