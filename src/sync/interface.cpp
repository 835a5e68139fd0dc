// The C interface (comity/sync.h): the objects live in the caller's storage. All zero is their initial state.
#include "comity/sync.h"

#include "sync/barrier.hpp"
#include "sync/condition.hpp"
#include "sync/event.hpp"
#include "sync/mutex.hpp"
#include "sys/message.hpp"

#include <cerrno>
#include <new>

using namespace comity;

namespace {

template <class Object, class Storage> Object &object(Storage *s) noexcept {
    static_assert(sizeof(Object) <= sizeof(Storage));
    static_assert(alignof(Object) <= alignof(Storage));
    return *std::launder(reinterpret_cast<Object *>(s));
}

sync::mutex &of(comity_mutex_t *m) noexcept { return object<sync::mutex>(m); }
sync::condition &of(comity_condition_t *c) noexcept { return object<sync::condition>(c); }
sync::barrier &of(comity_barrier_t *b) noexcept { return object<sync::barrier>(b); }
sync::event &of(comity_event_t *e) noexcept { return object<sync::event>(e); }

} // namespace

extern "C" {

void comity_mutex_init(comity_mutex_t *m) { new (m) sync::mutex; }
void comity_mutex_fini(comity_mutex_t *m) {
    if (of(m).is_locked()) sys::fatal("comity_mutex_fini", "the mutex is locked");
    of(m).wait_until_left();
}
void comity_mutex_lock(comity_mutex_t *m) { of(m).lock(); }
int comity_mutex_trylock(comity_mutex_t *m) { return of(m).try_lock(); }
void comity_mutex_unlock(comity_mutex_t *m) { of(m).unlock(); }

void comity_condition_init(comity_condition_t *c) { new (c) sync::condition; }
void comity_condition_fini(comity_condition_t *c) { of(c).wait_until_left(); }
void comity_condition_wait(comity_condition_t *c, comity_mutex_t *m) { of(c).wait(of(m)); }
void comity_condition_signal(comity_condition_t *c) { of(c).signal(); }
void comity_condition_broadcast(comity_condition_t *c) { of(c).broadcast(); }

int comity_barrier_init(comity_barrier_t *b, unsigned count) {
    if (count == 0) return EINVAL;
    new (b) sync::barrier(count);
    return 0;
}
void comity_barrier_fini(comity_barrier_t *b) { of(b).wait_until_left(); }
int comity_barrier_wait(comity_barrier_t *b) { return of(b).wait(); }

void comity_event_init(comity_event_t *e) { new (e) sync::event; }
void comity_event_fini(comity_event_t *e) { of(e).wait_until_left(); }
void comity_event_set(comity_event_t *e) { of(e).set(); }
void comity_event_reset(comity_event_t *e) { of(e).reset(); }
int comity_event_is_set(const comity_event_t *e) { return of(const_cast<comity_event_t *>(e)).is_set(); }
void comity_event_wait(comity_event_t *e) { of(e).wait(); }
}
