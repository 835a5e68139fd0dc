// A library that starts threads in its constructor and waits for them: the one who loads it holds the dynamic linker's
// lock meanwhile, so none of the threads may need that. (OpenBLAS in a numpy that Python imports is like this.)
#include <atomic>
#include <ctime>

#include <pthread.h>
#include <semaphore.h>

extern "C" {
__attribute__((visibility("default"))) int ended_in_constructor = 0;
}

namespace {

// A library with such variables is one that Comity looks at when it is loaded itself, before this constructor has run.
thread_local volatile int of_each_thread = 0;

void *use_everything(void *) {
    of_each_thread = 1;
    pthread_key_t key{};
    pthread_key_create(&key, nullptr);
    pthread_setspecific(key, &key);
    pthread_key_delete(key);
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
    pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
    pthread_mutex_lock(&mutex);
    pthread_cond_signal(&condition);
    timespec soon{};
    clock_gettime(CLOCK_REALTIME, &soon);
    pthread_cond_timedwait(&condition, &mutex, &soon);
    pthread_mutex_unlock(&mutex);
    pthread_rwlock_rdlock(&rwlock);
    pthread_rwlock_unlock(&rwlock);
    sem_t semaphore;
    sem_init(&semaphore, 0, 1);
    sem_wait(&semaphore);
    sem_destroy(&semaphore);
    pthread_barrier_t barrier;
    pthread_barrier_init(&barrier, nullptr, 1);
    pthread_barrier_wait(&barrier);
    pthread_barrier_destroy(&barrier);
    const timespec short_time{0, 1000};
    nanosleep(&short_time, nullptr);
    int before = 0;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    pthread_setcancelstate(before, &before);
    pthread_testcancel();
    char name[16] = "";
    pthread_getname_np(pthread_self(), name, sizeof name);
    std::atomic_ref(ended_in_constructor).fetch_add(1);
    return nullptr;
}

__attribute__((constructor)) void start() {
    constexpr int n = 4;
    pthread_t threads[n];
    for (pthread_t &t : threads) pthread_create(&t, nullptr, use_everything, nullptr);
    for (const pthread_t t : threads) pthread_join(t, nullptr);
}

} // namespace
