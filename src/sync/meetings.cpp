// comity/sync.h: semaphore, barrier, latch, once.
#include "comity/sync.h"

#include "sync/barrier.hpp"
#include "sync/interface.hpp"
#include "sync/latch.hpp"
#include "sync/once.hpp"
#include "sync/semaphore.hpp"
#include "sys/message.hpp"

#include <cerrno>

using namespace comity;

namespace {

sync::semaphore &of(comity_semaphore_t *s) noexcept { return sync::object<sync::semaphore>(s); }
sync::barrier &of(comity_barrier_t *b) noexcept { return sync::object<sync::barrier>(b); }
sync::latch &of(comity_latch_t *l) noexcept { return sync::object<sync::latch>(l); }
sync::once &of(comity_once_t *o) noexcept { return sync::object<sync::once>(o); }

sync::barrier::arrival checked(const char *call, sync::barrier::arrival a) noexcept {
    if (!a.valid) sys::fatal(call, "all members have dropped out of the barrier");
    return a;
}

static_assert(COMITY_SEMAPHORE_MAX == sync::semaphore::most && COMITY_BARRIER_MAX == sync::barrier::most);

} // namespace

extern "C" {

int comity_semaphore_init(comity_semaphore_t *s, unsigned value) {
    if (value > sync::semaphore::most) return EINVAL;
    new (s) sync::semaphore(value);
    return 0;
}
void comity_semaphore_fini(comity_semaphore_t *s) {
    of(s).wait_until_left();
    sync::check_nobody_waits("comity_semaphore_fini", of(s));
}
int comity_semaphore_wait(comity_semaphore_t *s) { return comity_semaphore_timedwait(s, sys::no_deadline); }
int comity_semaphore_timedwait(comity_semaphore_t *s, int64_t deadline) {
    return sync::wait_here([=]() noexcept { return of(s).acquire_until(deadline); });
}
int comity_semaphore_trywait(comity_semaphore_t *s) { return of(s).try_acquire(); }
int comity_semaphore_post(comity_semaphore_t *s) { return comity_semaphore_post_many(s, 1); }
int comity_semaphore_post_many(comity_semaphore_t *s, unsigned n) { return of(s).release(n) ? 0 : EOVERFLOW; }
unsigned comity_semaphore_value(const comity_semaphore_t *s) { return sync::object<sync::semaphore>(s).value(); }

int comity_barrier_init(comity_barrier_t *b, unsigned number) {
    if (number == 0 || number > sync::barrier::most) return EINVAL;
    new (b) sync::barrier(number);
    return 0;
}
void comity_barrier_fini(comity_barrier_t *b) {
    of(b).wait_until_left();
    sync::check_nobody_waits("comity_barrier_fini", of(b));
}
int comity_barrier_wait(comity_barrier_t *b) {
    const auto arrived = checked("comity_barrier_wait", of(b).arrive());
    if (!arrived.last) of(b).wait(arrived.phase);
    return arrived.last;
}
unsigned comity_barrier_arrive(comity_barrier_t *b) { return checked("comity_barrier_arrive", of(b).arrive()).phase; }
int comity_barrier_wait_phase(comity_barrier_t *b, unsigned phase, int64_t deadline) {
    return sync::late_unless(of(b).wait_until(phase, deadline));
}
void comity_barrier_drop(comity_barrier_t *b) { static_cast<void>(checked("comity_barrier_drop", of(b).drop())); }
int comity_barrier_resize(comity_barrier_t *b, unsigned number) {
    if (number == 0 || number > sync::barrier::most) return EINVAL;
    of(b).resize(number);
    return 0;
}

void comity_latch_init(comity_latch_t *l, unsigned count) { new (l) sync::latch(count); }
void comity_latch_fini(comity_latch_t *l) {
    of(l).wait_until_left();
    sync::check_nobody_waits("comity_latch_fini", of(l));
}
int comity_latch_count_down(comity_latch_t *l, unsigned n) { return of(l).count_down(n) ? 0 : EINVAL; }
int comity_latch_is_open(const comity_latch_t *l) { return sync::object<sync::latch>(l).is_open(); }
int comity_latch_wait(comity_latch_t *l) { return comity_latch_timedwait(l, sys::no_deadline); }
int comity_latch_timedwait(comity_latch_t *l, int64_t deadline) {
    return sync::wait_here([=]() noexcept { return of(l).wait_until(deadline); });
}

void comity_once(comity_once_t *o, void (*fn)(void *), void *arg) {
    if (!of(o).begin()) return;
    fn(arg);
    of(o).end(true);
}
int comity_once_begin(comity_once_t *o) { return of(o).begin(); }
void comity_once_end(comity_once_t *o, int done) {
    if (!of(o).is_under_way()) sys::fatal("comity_once_end", "no thread has begun");
    of(o).end(done != 0);
}
void comity_once_fini(comity_once_t *o) {
    of(o).wait_until_left();
    sync::check_nobody_waits("comity_once_fini", of(o));
}
}
