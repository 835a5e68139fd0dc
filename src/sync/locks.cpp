// comity/sync.h: mutexes, readers-writer lock, condition. All zero is their initial state.
#include "comity/sync.h"

#include "sync/condition.hpp"
#include "sync/interface.hpp"
#include "sync/mutex.hpp"
#include "sync/recursive_mutex.hpp"
#include "sync/rwlock.hpp"
#include "sys/message.hpp"

#include <cerrno>

using namespace comity;

namespace {

sync::mutex &of(comity_mutex_t *m) noexcept { return sync::object<sync::mutex>(m); }
sync::recursive_mutex &of(comity_recursive_mutex_t *m) noexcept { return sync::object<sync::recursive_mutex>(m); }
sync::rwlock &of(comity_rwlock_t *l) noexcept { return sync::object<sync::rwlock>(l); }
sync::condition &of(comity_condition_t *c) noexcept { return sync::object<sync::condition>(c); }

int error_of(sync::recursive_mutex::result r, int late) noexcept {
    using result = sync::recursive_mutex::result;
    switch (r) {
    case result::too_deep:
        return EAGAIN;
    case result::late:
        return late;
    case result::not_owner:
        return EPERM;
    case result::done:
        break;
    }
    return 0;
}

} // namespace

extern "C" {

void comity_mutex_init(comity_mutex_t *m) { new (m) sync::mutex; }
void comity_mutex_fini(comity_mutex_t *m) {
    if (of(m).is_locked()) sys::fatal("comity_mutex_fini", "the mutex is locked");
    of(m).wait_until_left();
}
void comity_mutex_lock(comity_mutex_t *m) { of(m).lock(); }
int comity_mutex_trylock(comity_mutex_t *m) { return of(m).try_lock(); }
int comity_mutex_timedlock(comity_mutex_t *m, int64_t deadline) {
    return sync::late_unless(of(m).lock_until(deadline));
}
void comity_mutex_unlock(comity_mutex_t *m) { of(m).unlock(); }

void comity_recursive_mutex_init(comity_recursive_mutex_t *m) { new (m) sync::recursive_mutex; }
void comity_recursive_mutex_fini(comity_recursive_mutex_t *m) {
    if (of(m).is_locked()) sys::fatal("comity_recursive_mutex_fini", "the mutex is locked");
    of(m).wait_until_left();
}
int comity_recursive_mutex_lock(comity_recursive_mutex_t *m) { return error_of(of(m).lock_until(sys::no_deadline), 0); }
int comity_recursive_mutex_trylock(comity_recursive_mutex_t *m) { return error_of(of(m).try_lock(), EBUSY); }
int comity_recursive_mutex_timedlock(comity_recursive_mutex_t *m, int64_t deadline) {
    return error_of(of(m).lock_until(deadline), ETIMEDOUT);
}
int comity_recursive_mutex_unlock(comity_recursive_mutex_t *m) { return error_of(of(m).unlock(), 0); }

void comity_rwlock_init(comity_rwlock_t *l) { new (l) sync::rwlock; }
void comity_rwlock_fini(comity_rwlock_t *l) {
    if (of(l).is_locked()) sys::fatal("comity_rwlock_fini", "the lock is locked");
    of(l).wait_until_left();
}
void comity_rwlock_rdlock(comity_rwlock_t *l) { of(l).lock_shared_until(sys::no_deadline); }
void comity_rwlock_wrlock(comity_rwlock_t *l) { of(l).lock_until(sys::no_deadline); }
int comity_rwlock_tryrdlock(comity_rwlock_t *l) { return of(l).try_lock_shared(); }
int comity_rwlock_trywrlock(comity_rwlock_t *l) { return of(l).try_lock(); }
int comity_rwlock_timedrdlock(comity_rwlock_t *l, int64_t deadline) {
    return sync::late_unless(of(l).lock_shared_until(deadline));
}
int comity_rwlock_timedwrlock(comity_rwlock_t *l, int64_t deadline) {
    return sync::late_unless(of(l).lock_until(deadline));
}
void comity_rwlock_rdunlock(comity_rwlock_t *l) {
    if (!of(l).unlock_shared()) sys::fatal("comity_rwlock_rdunlock", "the lock is not locked for reading");
}
void comity_rwlock_wrunlock(comity_rwlock_t *l) {
    if (!of(l).unlock()) sys::fatal("comity_rwlock_wrunlock", "the lock is not locked for writing");
}

void comity_condition_init(comity_condition_t *c) { new (c) sync::condition; }
void comity_condition_fini(comity_condition_t *c) {
    of(c).wait_until_left();
    sync::check_nobody_waits("comity_condition_fini", of(c));
}
int comity_condition_wait(comity_condition_t *c, comity_mutex_t *m) {
    return comity_condition_timedwait(c, m, sys::no_deadline);
}
int comity_condition_timedwait(comity_condition_t *c, comity_mutex_t *m, int64_t deadline) {
    return sync::after_wait(of(c).wait_until(of(m), deadline));
}
uint32_t comity_condition_prepare(const comity_condition_t *c) { return sync::object<sync::condition>(c).prepare(); }
int comity_condition_wait_prepared(comity_condition_t *c, uint32_t prepared, int64_t deadline) {
    return sync::after_wait(of(c).wait_prepared(prepared, deadline));
}
void comity_condition_signal(comity_condition_t *c) { of(c).signal(); }
void comity_condition_broadcast(comity_condition_t *c) { of(c).broadcast(); }
}
