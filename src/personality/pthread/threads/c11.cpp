// C11's names for threads, mutexes, conditions, keys and once: the same objects, other results.
#include "personality/pthread/threads/thread.hpp"

#include <cstdlib>

#include <threads.h>

namespace {

int result_of(int error) noexcept {
    switch (error) {
    case 0:
        return thrd_success;
    case ENOMEM:
        return thrd_nomem;
    case ETIMEDOUT:
        return thrd_timedout;
    case EBUSY:
        return thrd_busy;
    default:
        return thrd_error;
    }
}

pthread_mutex_t *in(mtx_t *m) noexcept { return reinterpret_cast<pthread_mutex_t *>(m); }
pthread_cond_t *in(cnd_t *c) noexcept { return reinterpret_cast<pthread_cond_t *>(c); }
static_assert(sizeof(mtx_t) == sizeof(pthread_mutex_t) && sizeof(cnd_t) == sizeof(pthread_cond_t));
static_assert(sizeof(once_flag) == sizeof(pthread_once_t) && sizeof(thrd_t) == sizeof(pthread_t));

// What the function of a C11 thread is called with; it returns an int.
struct start {
    thrd_start_t fn;
    void *arg;
};

void *call(void *argument) {
    const start s = *static_cast<start *>(argument);
    std::free(argument);
    const comity::posix::programs_below function;
    return reinterpret_cast<void *>(static_cast<std::intptr_t>(s.fn(s.arg)));
}

} // namespace

// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): glibc's names are reserved ones

COMITY_INTERPOSED int thrd_create(thrd_t *t, thrd_start_t fn, void *arg) {
    auto *s = static_cast<start *>(std::malloc(sizeof(start)));
    if (!s) return thrd_nomem;
    *s = {fn, arg};
    const int error = pthread_create(t, nullptr, call, s);
    if (error != 0) std::free(s);
    return result_of(error == EAGAIN ? ENOMEM : error);
}
// By another name here, as <threads.h> may define it, too.
COMITY_INTERPOSED int own_thrd_equal(thrd_t a, thrd_t b) __asm__("thrd_equal");
int own_thrd_equal(thrd_t a, thrd_t b) { return a == b; }
COMITY_INTERPOSED thrd_t thrd_current() { return pthread_self(); }
COMITY_INTERPOSED int thrd_sleep(const timespec *time, timespec *left) {
    const int error = clock_nanosleep(CLOCK_REALTIME, 0, time, left);
    return error == 0 ? 0 : error == EINTR ? -1 : -2;
}
COMITY_INTERPOSED void thrd_yield() { sched_yield(); }
COMITY_INTERPOSED void thrd_exit(int result) {
    pthread_exit(reinterpret_cast<void *>(static_cast<std::intptr_t>(result)));
}
COMITY_INTERPOSED int thrd_detach(thrd_t t) { return result_of(pthread_detach(t)); }
COMITY_INTERPOSED int thrd_join(thrd_t t, int *result) {
    void *value = nullptr;
    const int error = pthread_join(t, &value);
    if (error == 0 && result) *result = static_cast<int>(reinterpret_cast<std::intptr_t>(value));
    return result_of(error);
}

COMITY_INTERPOSED int mtx_init(mtx_t *m, int type) {
    if (type & ~(mtx_timed | mtx_recursive)) return thrd_error;
    pthread_mutexattr_t a;
    pthread_mutexattr_init(&a);
    pthread_mutexattr_settype(&a, type & mtx_recursive ? PTHREAD_MUTEX_RECURSIVE : PTHREAD_MUTEX_NORMAL);
    const int error = pthread_mutex_init(in(m), &a);
    pthread_mutexattr_destroy(&a);
    return result_of(error);
}
COMITY_INTERPOSED int mtx_lock(mtx_t *m) { return result_of(pthread_mutex_lock(in(m))); }
COMITY_INTERPOSED int mtx_timedlock(mtx_t *m, const timespec *time) {
    return result_of(pthread_mutex_timedlock(in(m), time));
}
COMITY_INTERPOSED int mtx_trylock(mtx_t *m) { return result_of(pthread_mutex_trylock(in(m))); }
COMITY_INTERPOSED int mtx_unlock(mtx_t *m) { return result_of(pthread_mutex_unlock(in(m))); }
COMITY_INTERPOSED void mtx_destroy(mtx_t *m) { pthread_mutex_destroy(in(m)); }

COMITY_INTERPOSED int cnd_init(cnd_t *c) { return result_of(pthread_cond_init(in(c), nullptr)); }
COMITY_INTERPOSED int cnd_signal(cnd_t *c) { return result_of(pthread_cond_signal(in(c))); }
COMITY_INTERPOSED int cnd_broadcast(cnd_t *c) { return result_of(pthread_cond_broadcast(in(c))); }
COMITY_INTERPOSED int cnd_wait(cnd_t *c, mtx_t *m) { return result_of(pthread_cond_wait(in(c), in(m))); }
COMITY_INTERPOSED int cnd_timedwait(cnd_t *c, mtx_t *m, const timespec *time) {
    return result_of(pthread_cond_timedwait(in(c), in(m), time));
}
COMITY_INTERPOSED void cnd_destroy(cnd_t *c) { pthread_cond_destroy(in(c)); }

COMITY_INTERPOSED int tss_create(tss_t *key, tss_dtor_t destroy) { return result_of(pthread_key_create(key, destroy)); }
COMITY_INTERPOSED void tss_delete(tss_t key) { pthread_key_delete(key); }
COMITY_INTERPOSED void call_once(once_flag *flag, void (*fn)()) {
    pthread_once(reinterpret_cast<pthread_once_t *>(flag), fn);
}

// NOLINTEND(readability-inconsistent-declaration-parameter-name)
