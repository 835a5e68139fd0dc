// Several threads at once, and joins that do not wait for ever.
#include "thread/interruption.hpp"

#include "sys/clock.hpp"

#include <cerrno>

using namespace comity;

extern "C" {

int comity_thread_create_many(comity_thread_t **threads, size_t n, const comity_thread_attr_t *attr,
                              void *(*fn)(void *), void *args, size_t size, size_t *made) {
    int error = 0;
    std::size_t i = 0;
    for (; i < n; ++i) {
        error = comity_thread_create(threads ? &threads[i] : nullptr, attr, fn, static_cast<char *>(args) + i * size);
        if (error != 0) break;
    }
    if (made) *made = i;
    return error;
}

// The newest first: those that have not started are at hand then.
int comity_thread_join_many(comity_thread_t *const *threads, size_t n, void **results) {
    if (!threads && n != 0) return EINVAL;
    int error = 0;
    for (std::size_t i = n; i-- > 0;) {
        if (!threads[i]) continue;
        const int e = comity_thread_join(threads[i], results ? &results[i] : nullptr);
        if (e == ECANCELED) return e;
        if (e != 0) error = e;
    }
    return error;
}

int comity_thread_tryjoin(comity_thread_t *handle, void **result) {
    const auto *t = static_cast<const thread *>(handle);
    if (!t) return EINVAL;
    if (t == own_thread()) return EDEADLK;
    if (!has_ended(t)) return is_detached(t) || is_freed(t) || t->is_prepared() ? EINVAL : EBUSY;
    return comity_thread_join(handle, result);
}

int comity_thread_timedjoin(comity_thread_t *handle, void **result, int64_t deadline) {
    auto *t = static_cast<thread *>(handle);
    for (;;) {
        const int error = comity_thread_tryjoin(handle, result);
        if (error != EBUSY) return error;
        if (t->join.get() >= end_word::looked_at) return EINVAL;
        if (const int cancelled = cancel_here()) return cancelled;
        if (sys::now_ns() >= deadline) return ETIMEDOUT;
        t->join.wait_until(deadline, thread_to_interrupt());
    }
}
}
