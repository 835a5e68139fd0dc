// comity/sync.h: event, eventual, future, and the continuations that they call.
#include "comity/sync.h"

#include "sync/event.hpp"
#include "sync/eventual.hpp"
#include "sync/interface.hpp"

#include <cerrno>

using namespace comity;

namespace {

struct continuation : core::waiter {
    void (*fn)(void *) = nullptr;
    void *arg = nullptr;
};

sync::event &of(comity_event_t *e) noexcept { return sync::object<sync::event>(e); }
sync::eventual &of(comity_eventual_t *e) noexcept { return sync::object<sync::eventual>(e); }
sync::compartments &of(comity_future_t *f) noexcept { return sync::object<sync::compartments>(f); }
continuation &of(comity_continuation_t *c) noexcept { return sync::object<continuation>(c); }

int wait_for(sync::event &e, int64_t deadline) noexcept {
    return sync::wait_here([&e, deadline]() noexcept { return e.wait_until(deadline); });
}

int on_set(sync::event &e, comity_continuation_t *storage, void (*fn)(void *), void *arg) noexcept {
    auto *c = new (storage) continuation;
    c->fn = fn;
    c->arg = arg;
    c->call = [](core::waiter *w) noexcept {
        const auto *called = static_cast<continuation *>(w); // may be gone during the call
        called->fn(called->arg);
    };
    return e.call_when_set(*c);
}

template <class Value, class Out> void store(Value *value, Out *to) noexcept {
    if (to) *to = value;
}

} // namespace

extern "C" {

void comity_event_init(comity_event_t *e) { new (e) sync::event; }
void comity_event_fini(comity_event_t *e) {
    of(e).wait_until_left();
    sync::check_nobody_waits("comity_event_fini", of(e));
}
void comity_event_set(comity_event_t *e) { of(e).set(); }
void comity_event_reset(comity_event_t *e) { of(e).reset(); }
int comity_event_is_set(const comity_event_t *e) { return sync::object<sync::event>(e).is_set(); }
int comity_event_wait(comity_event_t *e) { return wait_for(of(e), sys::no_deadline); }
int comity_event_timedwait(comity_event_t *e, int64_t deadline) { return wait_for(of(e), deadline); }
int comity_event_on_set(comity_event_t *e, comity_continuation_t *c, void (*fn)(void *), void *arg) {
    return on_set(of(e), c, fn, arg);
}
int comity_event_forget(comity_event_t *e, comity_continuation_t *c) { return of(e).forget(of(c)); }

int comity_eventual_init(comity_eventual_t *e, size_t size) {
    void *memory = size ? ::operator new(size, std::nothrow) : nullptr;
    if (size && !memory) return ENOMEM;
    new (e) sync::eventual(memory, size);
    return 0;
}
void comity_eventual_fini(comity_eventual_t *e) {
    of(e).ready().wait_until_left();
    sync::check_nobody_waits("comity_eventual_fini", of(e).ready());
    ::operator delete(of(e).memory());
}
int comity_eventual_set(comity_eventual_t *e, const void *value, size_t size) {
    switch (of(e).set(value, size)) {
    case sync::eventual::result::too_large:
        return EINVAL;
    case sync::eventual::result::set_already:
        return EALREADY;
    case sync::eventual::result::done:
        break;
    }
    return 0;
}
int comity_eventual_wait(comity_eventual_t *e, void **value) {
    return comity_eventual_timedwait(e, value, COMITY_NO_DEADLINE);
}
int comity_eventual_timedwait(comity_eventual_t *e, void **value, int64_t deadline) {
    if (const int error = wait_for(of(e).ready(), deadline)) return error;
    store(of(e).memory(), value);
    return 0;
}
int comity_eventual_test(comity_eventual_t *e, void **value) {
    if (!of(e).ready().is_set()) return 0;
    store(of(e).memory(), value);
    return 1;
}
void comity_eventual_reset(comity_eventual_t *e) { of(e).reset(); }
int comity_eventual_on_set(comity_eventual_t *e, comity_continuation_t *c, void (*fn)(void *), void *arg) {
    return on_set(of(e).ready(), c, fn, arg);
}
int comity_eventual_forget(comity_eventual_t *e, comity_continuation_t *c) { return of(e).ready().forget(of(c)); }

int comity_future_init(comity_future_t *f, unsigned number, void (*full)(void **, unsigned, void *), void *arg) {
    if (number == 0) return EINVAL;
    auto **values = new (std::nothrow) void *[number] {};
    if (!values) return ENOMEM;
    new (f) sync::compartments(values, number, full, arg);
    return 0;
}
void comity_future_fini(comity_future_t *f) {
    of(f).ready().wait_until_left();
    sync::check_nobody_waits("comity_future_fini", of(f).ready());
    delete[] of(f).values();
}
int comity_future_set(comity_future_t *f, void *value) { return of(f).set(value) ? 0 : EALREADY; }
int comity_future_wait(comity_future_t *f, void ***values) {
    return comity_future_timedwait(f, values, COMITY_NO_DEADLINE);
}
int comity_future_timedwait(comity_future_t *f, void ***values, int64_t deadline) {
    if (const int error = wait_for(of(f).ready(), deadline)) return error;
    store(of(f).values(), values);
    return 0;
}
int comity_future_test(comity_future_t *f, void ***values) {
    if (!of(f).ready().is_set()) return 0;
    store(of(f).values(), values);
    return 1;
}
void comity_future_reset(comity_future_t *f) { of(f).reset(); }
int comity_future_on_set(comity_future_t *f, comity_continuation_t *c, void (*fn)(void *), void *arg) {
    return on_set(of(f).ready(), c, fn, arg);
}
int comity_future_forget(comity_future_t *f, comity_continuation_t *c) { return of(f).ready().forget(of(c)); }
}
