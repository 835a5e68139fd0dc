// The C library's second names, which programs and libraries bind to as well. On Comity's threads and on the C
// library's.
#include "start.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <ctime>

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <sys/types.h>
#include <unistd.h>

namespace {

// Most are there for programs that were linked long ago, so only by their version.
void *find(const char *name) {
    void *f = dlsym(RTLD_DEFAULT, name);
    for (const char *version : {"GLIBC_2.2.5", "GLIBC_2.17"})
        if (!f) f = dlvsym(RTLD_DEFAULT, name, version);
    return f;
}
template <class Function> Function function(const char *name) { return reinterpret_cast<Function>(find(name)); }

struct pair {
    const char *first, *second;
};
constexpr std::array pairs{
    pair{"pthread_mutex_lock", "__pthread_mutex_lock"},
    pair{"pthread_mutex_trylock", "__pthread_mutex_trylock"},
    pair{"pthread_mutex_unlock", "__pthread_mutex_unlock"},
    pair{"pthread_mutex_init", "__pthread_mutex_init"},
    pair{"pthread_mutex_destroy", "__pthread_mutex_destroy"},
    pair{"pthread_rwlock_rdlock", "__pthread_rwlock_rdlock"},
    pair{"pthread_rwlock_wrlock", "__pthread_rwlock_wrlock"},
    pair{"pthread_rwlock_tryrdlock", "__pthread_rwlock_tryrdlock"},
    pair{"pthread_rwlock_trywrlock", "__pthread_rwlock_trywrlock"},
    pair{"pthread_rwlock_unlock", "__pthread_rwlock_unlock"},
    pair{"pthread_rwlock_init", "__pthread_rwlock_init"},
    pair{"pthread_rwlock_destroy", "__pthread_rwlock_destroy"},
    pair{"pthread_once", "__pthread_once"},
    pair{"pthread_key_create", "__pthread_key_create"},
    pair{"pthread_getspecific", "__pthread_getspecific"},
    pair{"pthread_setspecific", "__pthread_setspecific"},
    pair{"sched_yield", "__sched_yield"},
    pair{"nanosleep", "__nanosleep"},
    pair{"sigaction", "__sigaction"},
    pair{"sigsuspend", "__sigsuspend"},
    pair{"raise", "gsignal"},
    pair{"read", "__read"},
    pair{"write", "__write"},
    pair{"pread64", "__pread64"},
    pair{"pwrite64", "__pwrite64"},
    pair{"send", "__send"},
    pair{"connect", "__connect"},
    pair{"poll", "__poll"},
    pair{"select", "__select"},
    pair{"wait", "__wait"},
    pair{"waitpid", "__waitpid"},
};

TEST(names, are_of_the_same_function) {
    for (const pair &p : pairs) {
        void *second = find(p.second);
        if (second) {
            EXPECT_EQ(find(p.first), second) << p.second;
        }
    }
}

// What one name locks, the other one leaves, so that who sleeps is woken.
TEST(names, serve_the_same_objects) {
    using call = int (*)(pthread_mutex_t *);
    const auto lock = function<call>("__pthread_mutex_lock"), unlock = function<call>("__pthread_mutex_unlock");
    if (!lock || !unlock) GTEST_SKIP();
    pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    std::atomic<int> ended{0};
    pthread_mutex_lock(&m);
    auto one = [&] { lock(&m), pthread_mutex_unlock(&m), ++ended; };
    auto other = [&] { pthread_mutex_lock(&m), unlock(&m), ++ended; };
    const pthread_t a = start(one), b = start(other);
    const timespec moment{0, 20'000'000};
    nanosleep(&moment, nullptr);
    unlock(&m);
    pthread_join(a, nullptr);
    pthread_join(b, nullptr);
    EXPECT_EQ(2, ended);
}

std::atomic<int> destroyed{0};

TEST(names, of_keys_have_their_destructors_called) {
    const auto create = function<int (*)(pthread_key_t *, void (*)(void *))>("__pthread_key_create");
    if (!create) GTEST_SKIP();
    pthread_key_t key = 0;
    ASSERT_EQ(0, create(&key, [](void *) { ++destroyed; }));
    auto f = [&] { pthread_setspecific(key, &key); };
    pthread_join(start(f), nullptr);
    EXPECT_EQ(1, destroyed);
    pthread_key_delete(key);
}

struct cleanup { // _pthread_cleanup_buffer, which headers of today only declare
    void (*routine)(void *);
    void *arg;
    int cancel_type;
    cleanup *previous;
};

TEST(names, of_old_cleanup_handlers_have_them_called) {
    const auto push = function<void (*)(cleanup *, void (*)(void *), void *)>("_pthread_cleanup_push_defer");
    const auto pop = function<void (*)(cleanup *, int)>("_pthread_cleanup_pop_restore");
    if (!push || !pop) GTEST_SKIP();
    int called = 0, type = -1;
    auto f = [&] {
        cleanup outer{}, inner{};
        const auto count = [](void *n) { ++*static_cast<int *>(n); };
        pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, nullptr);
        push(&outer, count, &called);
        push(&inner, count, &called);
        pop(&inner, 1);
        pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &type);
        pthread_exit(nullptr);
    };
    pthread_join(start(f), nullptr);
    EXPECT_EQ(2, called);
    EXPECT_EQ(PTHREAD_CANCEL_DEFERRED, type); // the outer one's
}

// A program built with _FORTIFY_SOURCE calls this one. With one hart, the reader must have left it for the writer.
TEST(names, that_check_sizes_leave_the_hart) {
    const auto checked = function<ssize_t (*)(int, void *, std::size_t, std::size_t)>("__read_chk");
    ASSERT_TRUE(checked);
    int ends[2];
    ASSERT_EQ(0, pipe(ends));
    char got = 0;
    auto read_one = [&] { EXPECT_EQ(1, checked(ends[0], &got, 1, 1)); };
    const pthread_t reader = start(read_one);
    auto write_one = [&] { EXPECT_EQ(1, write(ends[1], "x", 1)); };
    const pthread_t writer = start(write_one);
    pthread_join(reader, nullptr);
    pthread_join(writer, nullptr);
    EXPECT_EQ('x', got);
    close(ends[0]);
    close(ends[1]);
}

} // namespace
