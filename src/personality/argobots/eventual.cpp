// The functions ABT_eventual_* and ABT_future_*: values that are waited for.
#include "core/sched.hpp"
#include "personality/argobots/check.hpp"
#include "personality/argobots/waiting.hpp"
#include "personality/argobots/work.hpp"
#include "sys/clock.hpp"

#include <cstring>
#include <new>

using namespace comity::abt;

namespace {

// All zero: not ready, without a buffer.
struct eventual {
    wait_queue queue;
    int size = 0;
    bool ready = false; // under the queue's lock, as is the buffer
    void *buffer = nullptr;
};
static_assert(sizeof(eventual) <= sizeof(ABT_eventual_memory));

struct future {
    wait_queue queue;
    std::uint32_t wanted = 0, set = 0; // compartments; under the queue's lock
    bool ready = false;
    void (*when_set)(void **) = nullptr;
    void **values = nullptr;
};

eventual *of(ABT_eventual e) { return reinterpret_cast<eventual *>(e); }
future *of(ABT_future f) { return reinterpret_cast<future *>(f); }

bool is_tasklet() {
    thread *t = self();
    return t && t->is_tasklet();
}

// Enters the queue unless the object is ready.
template <class Object> bool enter(Object *o, waiter &w) {
    w.prepare();
    o->queue.lock.lock();
    const bool wait = !o->ready;
    if (wait) o->queue.add(w);
    o->queue.lock.unlock();
    return wait;
}

template <class Object> bool is_ready(Object *o) {
    o->queue.lock.lock(); // also when it is: whoever set it may still be inside, and the caller about to free it
    const bool ready = o->ready;
    o->queue.lock.unlock();
    return ready;
}

} // namespace

extern "C" {

int ABT_eventual_create(int nbytes, ABT_eventual *made) {
    COMITY_CHECK_READY();
    COMITY_CHECK(nbytes >= 0, ABT_ERR_INV_ARG);
    auto *e = new (std::nothrow) eventual;
    COMITY_CHECK(e, ABT_ERR_MEM);
    if (nbytes > 0) {
        e->size = nbytes;
        e->buffer = ::operator new(static_cast<std::size_t>(nbytes), std::nothrow);
        if (!e->buffer) {
            delete e;
            return ABT_ERR_MEM;
        }
    }
    *made = reinterpret_cast<ABT_eventual>(e);
    return ABT_SUCCESS;
}

int ABT_eventual_free(ABT_eventual *e) {
    COMITY_CHECK(*e, ABT_ERR_INV_EVENTUAL);
    is_ready(of(*e)); // whoever set it has left, then
    ::operator delete(of(*e)->buffer);
    delete of(*e);
    *e = ABT_EVENTUAL_NULL;
    return ABT_SUCCESS;
}

int ABT_eventual_wait(ABT_eventual e, void **value) {
    COMITY_CHECK(e, ABT_ERR_INV_EVENTUAL);
    COMITY_CHECK(!is_tasklet(), ABT_ERR_EVENTUAL);
    if (!is_ready(of(e))) {
        waiter w;
        if (enter(of(e), w)) w.wait();
    }
    if (value) *value = of(e)->buffer;
    return ABT_SUCCESS;
}

int ABT_eventual_timedwait(ABT_eventual h, void **value, const struct timespec *abstime) {
    COMITY_CHECK(h, ABT_ERR_INV_EVENTUAL);
    COMITY_CHECK(!is_tasklet(), ABT_ERR_EVENTUAL);
    eventual *e = of(h);
    waiter w;
    if (enter(e, w) && w.wait_until(comity::sys::deadline_of(CLOCK_REALTIME, *abstime)) == wake_up::timed_out) {
        e->queue.lock.lock();
        e->queue.remove(w);
        e->queue.lock.unlock();
        return ABT_ERR_COND_TIMEDOUT;
    }
    if (value) *value = e->buffer;
    return ABT_SUCCESS;
}

int ABT_eventual_test(ABT_eventual e, void **value, ABT_bool *ready) {
    COMITY_CHECK(e, ABT_ERR_INV_EVENTUAL);
    const bool is = is_ready(of(e));
    if (is && value) *value = of(e)->buffer;
    *ready = is ? ABT_TRUE : ABT_FALSE;
    return ABT_SUCCESS;
}

int ABT_eventual_set(ABT_eventual h, void *value, int nbytes) {
    COMITY_CHECK(h, ABT_ERR_INV_EVENTUAL);
    COMITY_CHECK(nbytes >= 0, ABT_ERR_INV_ARG);
    eventual *e = of(h);
    COMITY_CHECK(nbytes <= e->size, ABT_ERR_INV_EVENTUAL);
    context_list woken;
    e->queue.lock.lock();
    const bool was_ready = e->ready;
    if (!was_ready) {
        if (nbytes > 0 && value) std::memcpy(e->buffer, value, static_cast<std::size_t>(nbytes));
        e->ready = true;
        e->queue.signal_all(woken);
    }
    e->queue.lock.unlock();
    comity::core::unblock_all(woken.first());
    return was_ready ? ABT_ERR_EVENTUAL : ABT_SUCCESS;
}

int ABT_eventual_reset(ABT_eventual h) {
    COMITY_CHECK(h, ABT_ERR_INV_EVENTUAL);
    of(h)->queue.lock.lock();
    of(h)->ready = false;
    of(h)->queue.lock.unlock();
    return ABT_SUCCESS;
}

int ABT_future_create(uint32_t compartments, void (*when_set)(void **), ABT_future *made) {
    COMITY_CHECK_READY();
    auto *f = new (std::nothrow) future;
    COMITY_CHECK(f, ABT_ERR_MEM);
    f->wanted = compartments;
    f->ready = compartments == 0;
    f->when_set = when_set;
    f->values = new (std::nothrow) void *[compartments + std::size_t{1}] {};
    if (!f->values) {
        delete f;
        return ABT_ERR_MEM;
    }
    *made = reinterpret_cast<ABT_future>(f);
    return ABT_SUCCESS;
}

int ABT_future_free(ABT_future *f) {
    COMITY_CHECK(*f, ABT_ERR_INV_FUTURE);
    is_ready(of(*f)); // whoever set it has left, then
    delete[] of(*f)->values;
    delete of(*f);
    *f = ABT_FUTURE_NULL;
    return ABT_SUCCESS;
}

int ABT_future_wait(ABT_future f) {
    COMITY_CHECK(f, ABT_ERR_INV_FUTURE);
    COMITY_CHECK(!is_tasklet(), ABT_ERR_FUTURE);
    waiter w;
    if (!is_ready(of(f)) && enter(of(f), w)) w.wait();
    return ABT_SUCCESS;
}

int ABT_future_test(ABT_future f, ABT_bool *ready) {
    COMITY_CHECK(f, ABT_ERR_INV_FUTURE);
    *ready = is_ready(of(f)) ? ABT_TRUE : ABT_FALSE;
    return ABT_SUCCESS;
}

int ABT_future_set(ABT_future h, void *value) {
    COMITY_CHECK(h, ABT_ERR_INV_FUTURE);
    future *f = of(h);
    f->queue.lock.lock();
    const bool full = f->set >= f->wanted;
    if (!full) f->values[f->set++] = value;
    const bool last = !full && f->set == f->wanted;
    f->queue.lock.unlock();
    COMITY_CHECK(!full, ABT_ERR_FUTURE);
    if (!last) return ABT_SUCCESS;
    if (f->when_set) f->when_set(f->values); // nobody else changes it now
    context_list woken;
    f->queue.lock.lock();
    f->ready = true;
    f->queue.signal_all(woken);
    f->queue.lock.unlock();
    comity::core::unblock_all(woken.first());
    return ABT_SUCCESS;
}

int ABT_future_reset(ABT_future h) {
    COMITY_CHECK(h, ABT_ERR_INV_FUTURE);
    future *f = of(h);
    f->queue.lock.lock();
    f->set = 0;
    f->ready = f->wanted == 0;
    f->queue.lock.unlock();
    return ABT_SUCCESS;
}
}
