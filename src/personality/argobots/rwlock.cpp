// The functions ABT_rwlock_*. Readers come in while no writer is inside; whoever leaves last lets those in that wait,
// in order of arrival.
#include "core/sched.hpp"
#include "personality/argobots/check.hpp"
#include "personality/argobots/waiting.hpp"
#include "personality/argobots/work.hpp"

#include <new>

using namespace comity::abt;

namespace {

struct rw_waiter : waiter {
    bool writes = false;
};

struct rwlock {
    wait_queue queue;
    std::uint32_t readers = 0; // inside; under the queue's lock
    bool writer = false;       // the same
};

rwlock *of(ABT_rwlock l) { return reinterpret_cast<rwlock *>(l); }

int lock(ABT_rwlock h, bool writes) {
    COMITY_CHECK(h, ABT_ERR_INV_RWLOCK);
    thread *t = self();
    COMITY_CHECK(!t || !t->is_tasklet(), ABT_ERR_RWLOCK);
    rwlock *l = of(h);
    l->queue.lock.lock();
    if (!l->writer && (!writes || l->readers == 0)) {
        if (writes)
            l->writer = true;
        else
            ++l->readers;
        l->queue.lock.unlock();
        return ABT_SUCCESS;
    }
    l->queue.lock.unlock();
    rw_waiter w;
    w.writes = writes;
    w.prepare();
    l->queue.lock.lock();
    bool in = !l->writer && (!writes || l->readers == 0); // it may have become free meanwhile
    if (!in)
        l->queue.add(w);
    else if (writes)
        l->writer = true;
    else
        ++l->readers;
    l->queue.lock.unlock();
    if (!in) w.wait(); // whoever lets us in counts us
    return ABT_SUCCESS;
}

// Nobody is inside, under the queue's lock: lets the first writer in, or the readers up to the next one.
void admit(rwlock *l, context_list &woken) {
    while (waiter *first = l->queue.first()) {
        if (static_cast<rw_waiter *>(first)->writes) {
            if (l->readers != 0) return;
            l->writer = true;
            l->queue.signal_one(woken);
            return;
        }
        ++l->readers;
        l->queue.signal_one(woken);
    }
}

} // namespace

extern "C" {

int ABT_rwlock_create(ABT_rwlock *made) {
    COMITY_CHECK_READY();
    auto *l = new (std::nothrow) rwlock;
    COMITY_CHECK(l, ABT_ERR_MEM);
    *made = reinterpret_cast<ABT_rwlock>(l);
    return ABT_SUCCESS;
}

int ABT_rwlock_free(ABT_rwlock *h) {
    COMITY_CHECK(*h, ABT_ERR_INV_RWLOCK);
    rwlock *l = of(*h);
    l->queue.lock.lock(); // whoever unlocked it last has left, then
    const bool used = l->writer || l->readers != 0 || !l->queue.empty();
    l->queue.lock.unlock();
    COMITY_CHECK(!used, ABT_ERR_RWLOCK);
    delete l;
    *h = ABT_RWLOCK_NULL;
    return ABT_SUCCESS;
}

int ABT_rwlock_rdlock(ABT_rwlock l) { return lock(l, false); }
int ABT_rwlock_wrlock(ABT_rwlock l) { return lock(l, true); }

int ABT_rwlock_unlock(ABT_rwlock h) {
    COMITY_CHECK(h, ABT_ERR_INV_RWLOCK);
    rwlock *l = of(h);
    context_list woken;
    l->queue.lock.lock();
    const bool locked = l->writer || l->readers != 0;
    if (l->writer)
        l->writer = false;
    else if (l->readers != 0)
        --l->readers;
    if (l->readers == 0) admit(l, woken);
    l->queue.lock.unlock();
    comity::core::unblock_all(woken.first());
    return locked ? ABT_SUCCESS : ABT_ERR_RWLOCK;
}
}
