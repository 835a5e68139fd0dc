// What a thread says of itself is what was asked, by its own attributes or by the default ones.
#include "../../unit/sanitizers.hpp"
#include "start.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cfenv>
#include <csignal>
#include <cstdint>
#include <thread>
#include <vector>

#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <unistd.h>

namespace {

struct answer {
    std::size_t stack_size = 0, guard_size = 0;
    cpu_set_t cpus{};
    std::uintptr_t bottom = 0;
    bool here_is_on_it = false;
};

void *ask(void *into) {
    auto *a = static_cast<answer *>(into);
    pthread_attr_t own;
    if (pthread_getattr_np(pthread_self(), &own) != 0) return nullptr;
    void *bottom = nullptr;
    pthread_attr_getstack(&own, &bottom, &a->stack_size);
    pthread_attr_getguardsize(&own, &a->guard_size);
    pthread_attr_getaffinity_np(&own, sizeof a->cpus, &a->cpus);
    char here = 0;
    a->bottom = reinterpret_cast<std::uintptr_t>(bottom);
    a->here_is_on_it = &here > bottom && &here < static_cast<char *>(bottom) + a->stack_size;
    pthread_attr_destroy(&own);
    return into;
}

answer created_with(const pthread_attr_t *attributes) {
    answer a;
    pthread_t t;
    EXPECT_EQ(0, pthread_create(&t, attributes, ask, &a));
    EXPECT_EQ(0, pthread_join(t, nullptr));
    EXPECT_TRUE(a.here_is_on_it);
    EXPECT_EQ(0U, a.bottom % static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE)));
    return a;
}

// It has ended, and was joined.
pthread_t made_and_joined() {
    pthread_t t{};
    answer a;
    EXPECT_EQ(0, pthread_create(&t, nullptr, ask, &a));
    EXPECT_EQ(0, pthread_join(t, nullptr));
    return t;
}

struct attributes {
    pthread_attr_t a;
    attributes() { pthread_attr_init(&a); }
    ~attributes() { pthread_attr_destroy(&a); }
};

} // namespace

TEST(attributes, a_thread_is_told_the_stack_and_the_guard_that_it_asked_for) {
    attributes of;
    pthread_attr_setstacksize(&of.a, 1 << 20);
    EXPECT_EQ(std::size_t{1} << 20, created_with(&of.a).stack_size);
    const std::size_t guard = 16 * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    pthread_attr_setguardsize(&of.a, guard);
    EXPECT_EQ(guard, created_with(&of.a).guard_size);
}

TEST(attributes, a_thread_is_told_the_cpus_that_it_may_run_on) {
    const answer a = created_with(nullptr);
    cpu_set_t process;
    ASSERT_EQ(0, sched_getaffinity(0, sizeof process, &process));
    EXPECT_TRUE(CPU_EQUAL(&process, &a.cpus));
}

TEST(attributes, those_by_default_are_those_of_a_thread_without) {
    if (thread_sanitizer) GTEST_SKIP() << "it changes the attributes of threads";
    attributes before;
    ASSERT_EQ(0, pthread_getattr_default_np(&before.a));
    attributes of;
    const std::size_t guard = 3 * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    pthread_attr_setstacksize(&of.a, 3 << 20);
    pthread_attr_setguardsize(&of.a, guard);
    ASSERT_EQ(0, pthread_setattr_default_np(&of.a));
    const answer a = created_with(nullptr);
    EXPECT_EQ(0, pthread_setattr_default_np(&before.a));
    EXPECT_EQ(guard, a.guard_size);
    EXPECT_GE(std::size_t{3} << 20, a.stack_size);
    EXPECT_LE((std::size_t{3} << 20) - guard, a.stack_size);
}

TEST(attributes, a_mutex_with_which_somebody_waits_is_busy) {
    static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
    static bool waits, go;
    waits = go = false;
    pthread_t t;
    const auto wait = [](void *) -> void * {
        pthread_mutex_lock(&m);
        waits = true;
        while (!go) pthread_cond_wait(&c, &m);
        pthread_mutex_unlock(&m);
        return nullptr;
    };
    ASSERT_EQ(0, pthread_create(&t, nullptr, wait, nullptr));
    for (bool seen = false; !seen; sched_yield()) {
        pthread_mutex_lock(&m);
        seen = waits;
        pthread_mutex_unlock(&m);
    }
    EXPECT_EQ(EBUSY, pthread_mutex_destroy(&m));
    pthread_mutex_lock(&m);
    go = true;
    pthread_cond_signal(&c);
    pthread_mutex_unlock(&m);
    pthread_join(t, nullptr);
    EXPECT_EQ(0, pthread_mutex_destroy(&m));
}

TEST(attributes, a_priority_that_the_policy_has_not_is_refused) {
    attributes of;
    pthread_attr_setinheritsched(&of.a, PTHREAD_EXPLICIT_SCHED);
    pthread_attr_setschedpolicy(&of.a, SCHED_FIFO);
    sched_param p{};
    p.sched_priority = 1;
    ASSERT_EQ(0, pthread_attr_setschedparam(&of.a, &p));
    pthread_attr_setschedpolicy(&of.a, SCHED_OTHER);
    pthread_t t;
    answer a;
    EXPECT_EQ(EINVAL, pthread_create(&t, &of.a, ask, &a));
}

// A thread with such a guard is the C library's.
TEST(attributes, a_thread_that_joins_one_of_the_c_librarys_can_be_cancelled) {
    attributes of;
    pthread_attr_setguardsize(&of.a, 16 * static_cast<std::size_t>(sysconf(_SC_PAGESIZE)));
    std::atomic<bool> go{false};
    auto sleeps = [&] {
        while (!go) usleep(1000);
    };
    const pthread_t child = start(sleeps, &of.a);
    for (const bool timed : {false, true}) {
        std::atomic<bool> joins{false};
        auto join = [&] {
            joins = true;
            const timespec far{time_t{1} << 33, 0};
            timed ? pthread_timedjoin_np(child, nullptr, &far) : pthread_join(child, nullptr);
        };
        const pthread_t joiner = start(join);
        while (!joins) sched_yield();
        if (timed) usleep(20'000); // it sleeps by then
        EXPECT_EQ(0, pthread_cancel(joiner));
        void *result = nullptr;
        EXPECT_EQ(0, pthread_join(joiner, &result));
        EXPECT_EQ(PTHREAD_CANCELED, result);
    }
    const timespec past{1, 0};
    EXPECT_EQ(ETIMEDOUT, pthread_timedjoin_np(child, nullptr, &past));
    go = true;
    EXPECT_EQ(0, pthread_join(child, nullptr));
}

TEST(attributes, a_thread_that_was_joined_has_none) {
    const pthread_t t = made_and_joined();
    int policy = 0;
    sched_param p{};
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    EXPECT_EQ(ESRCH, pthread_getschedparam(t, &policy, &p));
    EXPECT_EQ(ESRCH, pthread_setschedparam(t, SCHED_OTHER, &p));
    EXPECT_EQ(ESRCH, pthread_setschedprio(t, 0));
    clockid_t clock = 0;
    EXPECT_EQ(ESRCH, pthread_getcpuclockid(t, &clock));
}

// It has a kernel thread of its own from then on, and sleeps and waits on that.
TEST(attributes, a_thread_gives_itself_a_policy_for_real_time_and_back) {
    std::atomic<int> set{-1}, raised{-1};
    std::array<int, 3> policies{}, priorities{};
    auto f = [&] {
        const auto note = [&](unsigned i) {
            sched_param p{};
            EXPECT_EQ(0, pthread_getschedparam(pthread_self(), &policies.at(i), &p));
            priorities.at(i) = p.sched_priority;
        };
        sched_param p{}, none{};
        p.sched_priority = 3;
        set = pthread_setschedparam(pthread_self(), SCHED_RR, &p);
        if (set != 0) return;
        usleep(100);
        note(0);
        raised = pthread_setschedprio(pthread_self(), 4);
        auto g = [] { usleep(100); };
        pthread_join(start(g), nullptr);
        note(1);
        EXPECT_EQ(EINVAL, pthread_setschedprio(pthread_self(), 1000));
        EXPECT_EQ(0, pthread_setschedparam(pthread_self(), SCHED_OTHER, &none));
        note(2);
    };
    for (int i = 0; i < 3; ++i) {
        pthread_join(start(f), nullptr);
        if (set == EPERM) GTEST_SKIP() << "no privilege for real time";
        EXPECT_EQ(0, set);
        EXPECT_EQ(0, raised);
        EXPECT_EQ((std::array{SCHED_RR, SCHED_RR, SCHED_OTHER}), policies);
        EXPECT_EQ((std::array{3, 4, 0}), priorities);
    }
}

TEST(attributes, a_thread_with_a_policy_for_real_time_is_cancelled_in_a_sleep) {
    std::atomic<int> set{-1};
    auto f = [&] {
        sched_param p{};
        p.sched_priority = 3;
        set = pthread_setschedparam(pthread_self(), SCHED_FIFO, &p);
        while (set == 0) sleep(1);
    };
    const pthread_t t = start(f);
    while (set == -1) usleep(100);
    pthread_cancel(t);
    void *result = nullptr;
    pthread_join(t, &result);
    if (set == EPERM) GTEST_SKIP() << "no privilege for real time";
    EXPECT_EQ(PTHREAD_CANCELED, result);
}

// Without attributes, or with those that say so.
TEST(attributes, a_policy_for_real_time_is_inherited) {
    sched_param p{}, none{};
    p.sched_priority = 3;
    if (const int error = pthread_setschedparam(pthread_self(), SCHED_FIFO, &p)) {
        ASSERT_EQ(EPERM, error);
        GTEST_SKIP() << "no privilege for real time";
    }
    attributes inheriting;
    pthread_attr_setinheritsched(&inheriting.a, PTHREAD_INHERIT_SCHED);
    for (const pthread_attr_t *a :
         {static_cast<const pthread_attr_t *>(nullptr), static_cast<const pthread_attr_t *>(&inheriting.a)}) {
        int policy = -1;
        sched_param found{};
        auto f = [&] { pthread_getschedparam(pthread_self(), &policy, &found); };
        pthread_join(start(f, a), nullptr);
        EXPECT_EQ(SCHED_FIFO, policy);
        EXPECT_EQ(3, found.sched_priority);
    }
    EXPECT_EQ(0, pthread_setschedparam(pthread_self(), SCHED_OTHER, &none));
    int policy = -1;
    auto f = [&] { pthread_getschedparam(pthread_self(), &policy, &none); };
    pthread_join(start(f), nullptr);
    EXPECT_EQ(SCHED_OTHER, policy);
}

// A thread that binds itself: nobody else is bound with it, nor who comes after it.
TEST(attributes, cpus_may_be_set_by_a_thread_for_itself) {
    cpu_set_t process, one;
    ASSERT_EQ(0, sched_getaffinity(0, sizeof process, &process));
    if (CPU_COUNT(&process) < 2) GTEST_SKIP() << "there is one CPU only";
    CPU_ZERO(&one);
    for (int i = 0; CPU_COUNT(&one) == 0; ++i)
        if (CPU_ISSET(i, &process)) CPU_SET(i, &one);
    for (const bool by_schedulers_call : {false, true}) {
        auto binds = [&] {
            const int error = by_schedulers_call ? sched_setaffinity(0, sizeof one, &one)
                                                 : pthread_setaffinity_np(pthread_self(), sizeof one, &one);
            EXPECT_EQ(0, error);
            for (int i = 0; i < 20; ++i) {
                usleep(100);
                cpu_set_t found;
                EXPECT_EQ(0, pthread_getaffinity_np(pthread_self(), sizeof found, &found));
                EXPECT_TRUE(CPU_EQUAL(&one, &found));
            }
            if (!by_schedulers_call) return;
            EXPECT_EQ(0, sched_setaffinity(0, sizeof process, &process));
            cpu_set_t found;
            EXPECT_EQ(0, sched_getaffinity(0, sizeof found, &found));
            EXPECT_TRUE(CPU_EQUAL(&process, &found));
        };
        auto looks = [&] {
            for (int i = 0; i < 20; ++i) {
                usleep(100);
                cpu_set_t found;
                EXPECT_EQ(0, sched_getaffinity(0, sizeof found, &found));
                EXPECT_TRUE(CPU_EQUAL(&process, &found));
            }
        };
        const pthread_t other = start(looks), t = start(binds);
        pthread_join(t, nullptr);
        pthread_join(other, nullptr);
        pthread_join(start(looks), nullptr);
        looks();
    }
}

// As the kernel has it: a thread begins with the modes of its creator, whoever ran before on the same hart.
TEST(attributes, floating_point_modes_are_the_creators) {
    const int before = fegetround();
    auto leaves_another = [] { fesetround(FE_DOWNWARD); };
    int seen = -1;
    auto looks = [&seen] {
        usleep(100);
        seen = fegetround();
    };
    for (const int mode : {FE_TONEAREST, FE_UPWARD, FE_TOWARDZERO}) {
        fesetround(mode);
        for (int i = 0; i < 20; ++i) {
            const pthread_t other = start(leaves_another), t = start(looks);
            pthread_join(t, nullptr);
            pthread_join(other, nullptr);
            EXPECT_EQ(mode, seen);
        }
    }
    fesetround(before);
}

// numpy asks for them after it has waited for Python's lock.
TEST(attributes, floating_point_flags_stay_with_a_thread_that_waits) {
    constexpr int flags = FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW | FE_UNDERFLOW;
    constexpr int threads = 8, rounds = 200;
    std::atomic<int> wrong{0};
    auto works = [&wrong](int i) {
        const int mine = i % 2 == 0 ? 0 : FE_INVALID | FE_DIVBYZERO;
        volatile double zero = 0, sink = 0;
        for (int round = 0; round < rounds; ++round) {
            feclearexcept(FE_ALL_EXCEPT);
            if (mine != 0) {
                sink = zero / zero;
                sink = 1 / zero;
            }
            round % 20 == 0 ? static_cast<void>(usleep(100)) : static_cast<void>(sched_yield());
            if (fetestexcept(flags) != mine) ++wrong;
        }
        static_cast<void>(sink);
    };
    std::vector<std::thread> all;
    for (int i = 0; i < threads; ++i) all.emplace_back(works, i);
    for (std::thread &t : all) t.join();
    EXPECT_EQ(wrong, 0);
}

TEST(attributes, floating_point_flags_at_the_start_are_the_creators) {
    auto leaves_flags = [] {
        volatile double zero = 0, sink = zero / zero;
        static_cast<void>(sink);
    };
    int seen = -1;
    auto looks = [&seen] { seen = fetestexcept(FE_INVALID | FE_DIVBYZERO); };
    for (const int flags : {0, FE_DIVBYZERO}) {
        feclearexcept(FE_ALL_EXCEPT);
        feraiseexcept(flags);
        for (int i = 0; i < 20; ++i) {
            pthread_join(start(leaves_flags), nullptr);
            pthread_join(start(looks), nullptr);
            EXPECT_EQ(flags, seen);
        }
    }
    feclearexcept(FE_ALL_EXCEPT);
}

// Each thread's CPUs are its own, whoever asks.
TEST(attributes, cpus_of_another_thread_are_those_it_has) {
    cpu_set_t process, one, found;
    ASSERT_EQ(0, sched_getaffinity(0, sizeof process, &process));
    if (CPU_COUNT(&process) < 2) GTEST_SKIP() << "there is one CPU only";
    CPU_ZERO(&one);
    for (int i = 0; CPU_COUNT(&one) == 0; ++i)
        if (CPU_ISSET(i, &process)) CPU_SET(i, &one);
    const auto cpus_of = [&found](pthread_t t) {
        CPU_ZERO(&found);
        EXPECT_EQ(0, pthread_getaffinity_np(t, sizeof found, &found));
        pthread_attr_t a;
        cpu_set_t by_attribute;
        EXPECT_EQ(0, pthread_getattr_np(t, &a));
        EXPECT_EQ(0, pthread_attr_getaffinity_np(&a, sizeof by_attribute, &by_attribute));
        EXPECT_TRUE(CPU_EQUAL(&found, &by_attribute));
        pthread_attr_destroy(&a);
    };
    std::atomic<int> stage{0};
    const auto until = [&stage](int n) {
        while (stage < n) usleep(100);
    };
    auto binds = [&] {
        EXPECT_EQ(0, pthread_setaffinity_np(pthread_self(), sizeof one, &one));
        stage = 1;
        until(3);
    };
    auto waits = [&] { until(3); };
    const pthread_t bound = start(binds), other = start(waits);
    until(1);
    cpus_of(bound);
    EXPECT_TRUE(CPU_EQUAL(&one, &found));
    auto asks = [&] { // bound itself, of one that is not
        EXPECT_EQ(0, pthread_setaffinity_np(pthread_self(), sizeof one, &one));
        cpus_of(other);
        EXPECT_TRUE(CPU_EQUAL(&process, &found));
        EXPECT_EQ(EINVAL, pthread_getaffinity_np(other, 0, &found));
    };
    pthread_join(start(asks), nullptr);
    stage = 3;
    pthread_join(bound, nullptr);
    pthread_join(other, nullptr);
}

TEST(attributes, a_name_is_set_and_found_by_the_kernels_call_too) {
    auto f = [] {
        char name[16] = "";
        EXPECT_EQ(0, prctl(PR_SET_NAME, "one-of-its-own, cut"));
        EXPECT_EQ(0, pthread_getname_np(pthread_self(), name, sizeof name));
        EXPECT_STREQ("one-of-its-own,", name);
        EXPECT_EQ(0, pthread_setname_np(pthread_self(), "another"));
        usleep(100);
        EXPECT_EQ(0, prctl(PR_GET_NAME, name));
        EXPECT_STREQ("another", name);
    };
    pthread_join(start(f), nullptr);
}

TEST(attributes, a_readers_writer_lock_that_is_held_may_be_destroyed) {
    pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
    pthread_rwlock_wrlock(&l);
    EXPECT_EQ(0, pthread_rwlock_destroy(&l));
}

#if __GLIBC_PREREQ(2, 32)
TEST(attributes, a_mask_is_the_threads_own) {
    attributes of;
    sigset_t wanted, found;
    sigemptyset(&wanted);
    sigaddset(&wanted, SIGUSR2);
    ASSERT_EQ(0, pthread_attr_setsigmask_np(&of.a, &wanted));
    pthread_t t{};
    ASSERT_EQ(0, pthread_create(
                     &t, &of.a,
                     [](void *to) -> void * {
                         return pthread_sigmask(SIG_SETMASK, nullptr, static_cast<sigset_t *>(to)), nullptr;
                     },
                     &found));
    pthread_join(t, nullptr);
    EXPECT_EQ(1, sigismember(&found, SIGUSR2));
    EXPECT_EQ(0, sigismember(&found, SIGUSR1));
}
#endif
