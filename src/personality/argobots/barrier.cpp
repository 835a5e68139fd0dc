// The functions ABT_barrier_* and ABT_xstream_barrier_*; at the latter whole streams wait.
#include "core/sched.hpp"
#include "personality/argobots/check.hpp"
#include "personality/argobots/waiting.hpp"
#include "personality/argobots/work.hpp"

#include <new>

using namespace comity::abt;

namespace {

struct barrier {
    explicit barrier(std::uint32_t n) : wanted(n) {}
    wait_queue queue;
    std::uint32_t wanted, arrived = 0; // under the queue's lock
};

barrier *of(ABT_barrier b) { return reinterpret_cast<barrier *>(b); }
barrier *of(ABT_xstream_barrier b) { return reinterpret_cast<barrier *>(b); }

void arrive(barrier *b, bool in_place) {
    waiter w;
    context_list woken;
    w.prepare();
    b->queue.lock.lock();
    const bool last = ++b->arrived == b->wanted;
    if (last) {
        b->arrived = 0;
        b->queue.signal_all(woken);
    } else {
        b->queue.add(w);
    }
    b->queue.lock.unlock();
    if (last)
        comity::core::unblock_all(woken.first());
    else if (in_place)
        w.wait_in_place();
    else
        w.wait();
}

template <class Handle> int make(std::uint32_t n, Handle *made) {
    COMITY_CHECK_READY();
    COMITY_CHECK(n > 0, ABT_ERR_INV_ARG);
    auto *b = new (std::nothrow) barrier(n);
    COMITY_CHECK(b, ABT_ERR_MEM);
    *made = reinterpret_cast<Handle>(b);
    return ABT_SUCCESS;
}

void destroy_barrier(barrier *b) {
    b->queue.lock.lock(); // the last one to arrive has left, then
    b->queue.lock.unlock();
    delete b;
}

} // namespace

extern "C" {

int ABT_barrier_create(uint32_t n, ABT_barrier *made) { return make(n, made); }

int ABT_barrier_reinit(ABT_barrier b, uint32_t n) {
    COMITY_CHECK(b, ABT_ERR_INV_BARRIER);
    COMITY_CHECK(n > 0, ABT_ERR_INV_ARG);
    of(b)->queue.lock.lock();
    const bool waited_for = !of(b)->queue.empty();
    if (!waited_for) of(b)->wanted = n;
    of(b)->queue.lock.unlock();
    return waited_for ? ABT_ERR_BARRIER : ABT_SUCCESS;
}

int ABT_barrier_free(ABT_barrier *b) {
    COMITY_CHECK(*b, ABT_ERR_INV_BARRIER);
    destroy_barrier(of(*b));
    *b = ABT_BARRIER_NULL;
    return ABT_SUCCESS;
}

int ABT_barrier_wait(ABT_barrier b) {
    COMITY_CHECK(b, ABT_ERR_INV_BARRIER);
    thread *t = self();
    COMITY_CHECK(!t || !t->is_tasklet(), ABT_ERR_BARRIER);
    arrive(of(b), false);
    return ABT_SUCCESS;
}

int ABT_barrier_get_num_waiters(ABT_barrier b, uint32_t *n) {
    COMITY_CHECK(b, ABT_ERR_INV_BARRIER);
    *n = of(b)->wanted;
    return ABT_SUCCESS;
}

int ABT_xstream_barrier_create(uint32_t n, ABT_xstream_barrier *made) { return make(n, made); }

int ABT_xstream_barrier_free(ABT_xstream_barrier *b) {
    COMITY_CHECK(*b, ABT_ERR_INV_XSTREAM_BARRIER);
    destroy_barrier(of(*b));
    *b = ABT_XSTREAM_BARRIER_NULL;
    return ABT_SUCCESS;
}

int ABT_xstream_barrier_wait(ABT_xstream_barrier b) {
    COMITY_CHECK(b, ABT_ERR_INV_XSTREAM_BARRIER);
    arrive(of(b), true);
    return ABT_SUCCESS;
}
}
