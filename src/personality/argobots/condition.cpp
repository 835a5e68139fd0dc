// The functions ABT_cond_*. A signal wakes the one who has waited longest, and nobody wakes without one.
#include "core/sched.hpp"
#include "personality/argobots/check.hpp"
#include "personality/argobots/mutex.hpp"
#include "personality/argobots/work.hpp"
#include "sys/clock.hpp"

#include <new>

using namespace comity::abt;

namespace {

struct condition {
    wait_queue queue;
    ABT_mutex with = nullptr; // of those who wait; under the queue's lock
};
static_assert(sizeof(condition) <= sizeof(ABT_cond_memory));

condition *of(ABT_cond c) { return reinterpret_cast<condition *>(c); }

// Enters the queue, and then lets go of the mutex: a signal that comes after that finds the waiter.
int enter(condition *c, ABT_mutex m, waiter &w) {
    w.prepare();
    c->queue.lock.lock();
    const bool right = c->queue.empty() || c->with == m;
    if (right) {
        c->with = m;
        c->queue.add(w);
    }
    c->queue.lock.unlock();
    COMITY_CHECK(right, ABT_ERR_INV_MUTEX);
    ABT_mutex_unlock(m);
    return ABT_SUCCESS;
}

int check(ABT_cond c, ABT_mutex m) {
    COMITY_CHECK(c, ABT_ERR_INV_COND);
    COMITY_CHECK(m, ABT_ERR_INV_MUTEX);
    return ABT_SUCCESS;
}

} // namespace

extern "C" {

int ABT_cond_create(ABT_cond *made) {
    COMITY_CHECK_READY();
    auto *c = new (std::nothrow) condition;
    COMITY_CHECK(c, ABT_ERR_MEM);
    *made = reinterpret_cast<ABT_cond>(c);
    return ABT_SUCCESS;
}

int ABT_cond_free(ABT_cond *h) {
    COMITY_CHECK(*h, ABT_ERR_INV_COND);
    condition *c = of(*h);
    c->queue.lock.lock(); // whoever signalled last has left, then
    const bool waited_for = !c->queue.empty();
    c->queue.lock.unlock();
    COMITY_CHECK(!waited_for, ABT_ERR_COND);
    delete c;
    *h = ABT_COND_NULL;
    return ABT_SUCCESS;
}

int ABT_cond_wait(ABT_cond h, ABT_mutex m) {
    COMITY_TRY(check(h, m));
    thread *t = self();
    COMITY_CHECK(!t || !t->is_tasklet(), ABT_ERR_COND);
    waiter w;
    COMITY_TRY(enter(of(h), m, w));
    w.wait();
    return ABT_mutex_lock(m);
}

int ABT_cond_timedwait(ABT_cond h, ABT_mutex m, const struct timespec *abstime) {
    COMITY_TRY(check(h, m));
    waiter w;
    COMITY_TRY(enter(of(h), m, w));
    const wake_up how = w.wait_until(comity::sys::deadline_of(CLOCK_REALTIME, *abstime));
    if (how == wake_up::timed_out) {
        of(h)->queue.lock.lock();
        of(h)->queue.remove(w);
        of(h)->queue.lock.unlock();
    }
    ABT_mutex_lock(m);
    return how == wake_up::timed_out ? ABT_ERR_COND_TIMEDOUT : ABT_SUCCESS;
}

int ABT_cond_signal(ABT_cond h) {
    COMITY_CHECK(h, ABT_ERR_INV_COND);
    context_list woken;
    of(h)->queue.lock.lock();
    of(h)->queue.signal_one(woken);
    of(h)->queue.lock.unlock();
    comity::core::unblock_all(woken.first());
    return ABT_SUCCESS;
}

int ABT_cond_broadcast(ABT_cond h) {
    COMITY_CHECK(h, ABT_ERR_INV_COND);
    context_list woken;
    of(h)->queue.lock.lock();
    of(h)->queue.signal_all(woken);
    of(h)->queue.lock.unlock();
    comity::core::unblock_all(woken.first());
    return ABT_SUCCESS;
}
}
