// Threads that say who runs next, or where they themselves do.
#include "thread/extension.hpp"

#include "core/base.hpp"

#include <cerrno>

namespace comity {

using core::carrier;
using core::context;

namespace {

// The calling thread's context and the scheduler's slot for its hart, if that scheduler can do what is asked of it.
struct caller {
    unit_scheduler::slot *work = nullptr;
    context *c = nullptr;
    carrier *k = nullptr;
};
int find_caller(caller &p) noexcept {
    p.k = core::current_carrier();
    p.work = p.k ? work_of(p.k) : nullptr;
    if (!p.work) return EPERM;
    p.c = p.k->current;
    if (p.c == &p.k->transition || p.c->owner != p.work->owner) return EPERM;
    const core::unit_hooks *hooks = p.work->owner->hooks->units;
    return hooks->yield_to && hooks->put_on ? 0 : ENOTSUP;
}

// On the transition context: once the caller is put on a hart it may be resumed, and its stack gone.
void go_to_unit(context *c, void *t) {
    carrier *k = core::current_carrier();
    auto *u = static_cast<thread *>(t);
    unit_scheduler *s = work_of(k)->owner;
    s->hooks->units->put_on(s, c, work_of(k)->hart);
    u->run(u, k);
    s->hooks->units->next(s, core::current_carrier());
}
void go_to_hart(context *c, void *hart) {
    carrier *k = core::current_carrier();
    unit_scheduler *s = work_of(k)->owner;
    s->hooks->units->put_on(s, c, static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(hart)));
    s->hooks->units->next(s, k);
}

// What a thread that is created for a hart keeps in its descriptor until it is there.
struct destination {
    void *(*fn)(void *);
    void *arg;
    unsigned hart;
};
static_assert(sizeof(destination) <= COMITY_THREAD_DATA);

void *run_there(void *data) {
    const destination to = *static_cast<destination *>(data);
    comity_thread_migrate(static_cast<int>(to.hart));
    return to.fn(to.arg);
}

} // namespace

} // namespace comity

using namespace comity;

extern "C" {

int comity_thread_yield_to(comity_thread_t *handle) {
    auto *t = static_cast<thread *>(handle);
    if (!t) return EINVAL;
    if (t == own_thread()) return 0;
    if (has_ended(t) || is_freed(t)) return ESRCH;
    caller p;
    if (const int error = find_caller(p)) return error;
    if (t->owner != p.work->owner) return EINVAL;
    if (p.work->fresh.pop_if(t)) {
        core::pause(p.c, go_to_unit, t);
        return 0;
    }
    return p.work->owner->hooks->units->yield_to(p.work->owner, p.c, t) ? 0 : EBUSY;
}

int comity_thread_migrate(int hart) {
    if (hart < 0 || hart >= comity_hart_count()) return EINVAL;
    caller p;
    if (const int error = find_caller(p)) return error;
    if (p.c->home) return EPERM;
    if (const hart_set *set = p.work->owner->affinity_of(p.c); set && !set->has(static_cast<unsigned>(hart)))
        return EINVAL;
    if (p.work->hart != static_cast<unsigned>(hart))
        core::pause(p.c, go_to_hart, reinterpret_cast<void *>(static_cast<std::uintptr_t>(hart)));
    return 0;
}

int comity_thread_create_to(int hart, comity_thread_t **out, const comity_thread_attr_t *attr, void *(*fn)(void *),
                            void *arg) {
    if (hart < 0 || hart >= comity_hart_count() || !fn || (!out && !(attr && attr->detached))) return EINVAL;
    if (attr && attr->technique == COMITY_TECHNIQUE_STACKLESS) return EINVAL;
    comity_thread_t *t = nullptr;
    void *data = nullptr;
    if (const int error = comity_thread_prepare(&t, attr, run_there, &data)) return error;
    *static_cast<destination *>(data) = {fn, arg, static_cast<unsigned>(hart)};
    if (out) *out = t; // before it runs: child-first it may be over when launch returns
    const int error = comity_thread_launch(t);
    if (error != 0) comity_thread_discard(t);
    return error;
}
}
