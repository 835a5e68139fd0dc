// What a thread says of itself is what was asked, by its own attributes or by the default ones.
#include <gtest/gtest.h>

#include <cerrno>
#include <csignal>

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

namespace {

struct answer {
    std::size_t stack_size = 0, guard_size = 0;
    cpu_set_t cpus{};
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
    return a;
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
