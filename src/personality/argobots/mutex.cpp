#include "personality/argobots/mutex.hpp"

#include "core/chaos.hpp"
#include "core/runtime.hpp"
#include "core/sched.hpp"
#include "personality/argobots/check.hpp"
#include "personality/argobots/schedulers.hpp"
#include "personality/argobots/work.hpp"
#include "sys/kernel_thread.hpp"

#include <new>

namespace comity::abt {

namespace {
constexpr unsigned spins = 60; // about as long as a short critical section
}

// Who calls: a work unit, or else a kernel thread by its context.
const void *mutex::caller() noexcept {
    if (thread *t = self()) return t;
    return core::adopt()->current;
}

bool mutex::lock_again() noexcept {
    if (!recursive() || owner_.load(std::memory_order_relaxed) != caller()) return false;
    ++depth_;
    return true;
}

void mutex::took() noexcept {
    if (recursive()) owner_.store(caller(), std::memory_order_relaxed);
}

bool mutex::try_lock() noexcept {
    if (lock_again()) return true;
    std::uint32_t expected = free_;
    if (!word_.compare_exchange_strong(expected, locked_, std::memory_order_acquire, // acquire[abt-mutex]
                                       std::memory_order_relaxed))
        return false;
    took();
    return true;
}

void mutex::lock() noexcept {
    std::uint32_t expected = free_;
    if (!word_.compare_exchange_strong(expected, locked_, std::memory_order_acquire, // acquire[abt-mutex]
                                       std::memory_order_relaxed)) {
        if (lock_again()) return;
        lock_slow();
    }
    took();
}

// Whoever has stood in the queue leaves the word at `waited for`: it may not know of others there.
void mutex::lock_slow() noexcept {
    for (;;) {
        for (unsigned i = 0; i < spins; ++i) {
            std::uint32_t expected = free_;
            if (word_.load(std::memory_order_relaxed) == free_ &&
                word_.compare_exchange_strong(expected, waited_for_, std::memory_order_acquire, // acquire[abt-mutex]
                                              std::memory_order_relaxed))
                return;
            sys::cpu_relax();
        }
        waiter w;
        w.prepare();
        queue_.lock.lock();
        if (word_.exchange(waited_for_, std::memory_order_acquire) == free_) { // acquire[abt-mutex]
            queue_.lock.unlock();
            return;
        }
        queue_.add(w);
        queue_.lock.unlock();
        core::chaos_point();
        w.wait();
    }
}

// There may be fewer harts than streams, so the holder's may wait for this one. In the end a ULT waits as for any
// mutex: the holder may stand in the same pool.
void mutex::spin_lock() noexcept {
    constexpr unsigned look_around = 256, patience = 2048;
    for (unsigned i = 1; !try_lock(); ++i) {
        sys::cpu_relax();
        if (i % look_around) continue;
        if (i >= patience && leaving_ult()) return lock();
        if (!own_thread())
            sys::yield_kernel_thread();
        else if (the_streams()->others_wait(core::current_carrier()))
            the_streams()->rotate();
    }
}

bool mutex::unlock() noexcept {
    if (word_.load(std::memory_order_relaxed) == free_) return false;
    if (recursive()) {
        if (owner_.load(std::memory_order_relaxed) != caller()) return false;
        if (depth_ != 0) {
            --depth_;
            return true;
        }
        owner_.store(nullptr, std::memory_order_relaxed);
    }
    std::uint32_t expected = locked_;
    if (word_.compare_exchange_strong(expected, free_, std::memory_order_release, // release[abt-mutex]
                                      std::memory_order_relaxed))
        return true;
    context_list woken;
    queue_.lock.lock();
    word_.store(free_, std::memory_order_release); // release[abt-mutex]
    queue_.signal_one(woken);
    queue_.lock.unlock();
    core::unblock_all(woken.first());
    return true;
}

void mutex::drain() noexcept {
    queue_.lock.lock();
    queue_.lock.unlock();
}

} // namespace comity::abt

using namespace comity::abt;

namespace {

struct mutex_attributes {
    bool recursive = false;
};
mutex_attributes *of(ABT_mutex_attr a) { return reinterpret_cast<mutex_attributes *>(a); }

int unlock(ABT_mutex m) {
    COMITY_CHECK(m, ABT_ERR_INV_MUTEX);
    return comity::abt::of(m)->unlock() ? ABT_SUCCESS : ABT_ERR_MUTEX;
}

} // namespace

extern "C" {

int ABT_mutex_create(ABT_mutex *made) {
    COMITY_CHECK_READY();
    auto *m = new (std::nothrow) mutex;
    COMITY_CHECK(m, ABT_ERR_MEM);
    *made = reinterpret_cast<ABT_mutex>(m);
    return ABT_SUCCESS;
}

int ABT_mutex_create_with_attr(ABT_mutex_attr attr, ABT_mutex *made) {
    COMITY_TRY(ABT_mutex_create(made));
    if (attr && of(attr)->recursive) comity::abt::of(*made)->make_recursive();
    return ABT_SUCCESS;
}

int ABT_mutex_free(ABT_mutex *m) {
    COMITY_CHECK(*m, ABT_ERR_INV_MUTEX);
    COMITY_CHECK(!comity::abt::of(*m)->is_locked(), ABT_ERR_MUTEX_LOCKED);
    comity::abt::of(*m)->drain();
    delete comity::abt::of(*m);
    *m = ABT_MUTEX_NULL;
    return ABT_SUCCESS;
}

int ABT_mutex_lock(ABT_mutex m) {
    COMITY_CHECK(m, ABT_ERR_INV_MUTEX);
    comity::abt::of(m)->lock();
    return ABT_SUCCESS;
}

// Priorities are not told apart, as in Argobots.
int ABT_mutex_lock_low(ABT_mutex m) { return ABT_mutex_lock(m); }
int ABT_mutex_lock_high(ABT_mutex m) { return ABT_mutex_lock(m); }

int ABT_mutex_trylock(ABT_mutex m) {
    COMITY_CHECK(m, ABT_ERR_INV_MUTEX);
    return comity::abt::of(m)->try_lock() ? ABT_SUCCESS : ABT_ERR_MUTEX_LOCKED;
}

int ABT_mutex_spinlock(ABT_mutex m) {
    COMITY_CHECK(m, ABT_ERR_INV_MUTEX);
    comity::abt::of(m)->spin_lock();
    return ABT_SUCCESS;
}

int ABT_mutex_unlock(ABT_mutex m) { return unlock(m); }
int ABT_mutex_unlock_se(ABT_mutex m) { return unlock(m); }
int ABT_mutex_unlock_de(ABT_mutex m) { return unlock(m); }

int ABT_mutex_equal(ABT_mutex a, ABT_mutex b, ABT_bool *result) {
    *result = a == b ? ABT_TRUE : ABT_FALSE;
    return ABT_SUCCESS;
}

int ABT_mutex_get_attr(ABT_mutex m, ABT_mutex_attr *made) {
    COMITY_CHECK(m, ABT_ERR_INV_MUTEX);
    COMITY_TRY(ABT_mutex_attr_create(made));
    of(*made)->recursive = comity::abt::of(m)->recursive();
    return ABT_SUCCESS;
}

int ABT_mutex_attr_create(ABT_mutex_attr *made) {
    COMITY_CHECK_READY();
    auto *a = new (std::nothrow) mutex_attributes;
    COMITY_CHECK(a, ABT_ERR_MEM);
    *made = reinterpret_cast<ABT_mutex_attr>(a);
    return ABT_SUCCESS;
}

int ABT_mutex_attr_free(ABT_mutex_attr *a) {
    COMITY_CHECK(*a, ABT_ERR_INV_MUTEX_ATTR);
    delete of(*a);
    *a = ABT_MUTEX_ATTR_NULL;
    return ABT_SUCCESS;
}

int ABT_mutex_attr_set_recursive(ABT_mutex_attr a, ABT_bool recursive) {
    COMITY_CHECK(a, ABT_ERR_INV_MUTEX_ATTR);
    of(a)->recursive = recursive != ABT_FALSE;
    return ABT_SUCCESS;
}

int ABT_mutex_attr_get_recursive(ABT_mutex_attr a, ABT_bool *recursive) {
    COMITY_CHECK(a, ABT_ERR_INV_MUTEX_ATTR);
    *recursive = of(a)->recursive ? ABT_TRUE : ABT_FALSE;
    return ABT_SUCCESS;
}
}
