// Threads that are created for another scheduler than the caller's. README.md, "From outside".
#include "thread/descent.hpp"
#include "thread/prepare.hpp"

#include "comity/pool.h"
#include "core/runtime.hpp"

#include <cerrno>

namespace comity {

using core::carrier;

namespace {

unit_scheduler *unwrap(struct comity_scheduler *s) noexcept { return reinterpret_cast<unit_scheduler *>(s); }

// The caller holds a hart, whose counts nobody else writes, whatever scheduler it works for.
void count_created(unit_scheduler *s, const carrier *k) noexcept { s->slots[k->carried->id].add_created(); }
void count_ended(unit_scheduler *s, const carrier *k) noexcept { s->slots[k->carried->id].add_ended(); }

int hand_over(thread *t, unit_scheduler *s, comity_pool_t *pool, const carrier *k) noexcept {
    if (t->is_extended()) announce_affinity(t);
    if (s->goes_by_descent()) track(t);
    count_created(s, k);
    if (pool) {
        if (const int error = comity_pool_push(pool, reinterpret_cast<comity_unit_t *>(static_cast<unit *>(t)))) {
            count_ended(s, k);
            return error;
        }
    }
    s->hooks->units->accept(s, pool ? nullptr : t);
    return 0;
}

int launch_under(thread *t, unit_scheduler *s, comity_pool_t *pool) noexcept {
    carrier *k = core::enter_comity();
    t->owner = s;
    const int error = hand_over(t, s, pool, k);
    core::leave_comity(k, core::next_use::not_known);
    if (error != 0) put_back_prepared(t);
    return error;
}

// Prepares a thread. The caller holds a hart.
int prepare_under(unit_scheduler *s, thread *&made, const comity_thread_attr_t &a, void *(*fn)(void *),
                  carrier *k) noexcept {
    hart_cache &cache = own_cache(k);
    thread *t = cache.descriptors.pop();
    if (!t && !(t = make_descriptors(cache))) return ENOMEM;
    made = t;
    return equip(t, s, a, fn, k);
}

int bad_scheduler(struct comity_scheduler *s, const comity_pool_t *pool) noexcept {
    if (!s) return EINVAL;
    const core::unit_hooks *units = unwrap(s)->hooks->units;
    if (!units->accept) return ENOTSUP;
    return pool && !units->takes_from(unwrap(s), pool) ? EINVAL : 0;
}

} // namespace
} // namespace comity

using namespace comity;

extern "C" {

int comity_thread_create_under(struct comity_scheduler *scheduler, struct comity_pool *pool, comity_thread_t **out,
                               const comity_thread_attr_t *attr, void *(*fn)(void *), void *arg) {
    const comity_thread_attr_t &a = attr ? *attr : default_attributes;
    if (!fn || !is_possible(a) || (!out && !a.detached)) return EINVAL;
    if (const int error = bad_scheduler(scheduler, pool)) return error;
    unit_scheduler *s = unwrap(scheduler);
    carrier *k = core::enter_comity();
    thread *t = nullptr;
    int error = prepare_under(s, t, a, fn, k);
    if (error == 0) {
        t->value = arg;
        if (out) *out = t; // before it runs
        if ((error = hand_over(t, s, pool, k))) dispose(t, k);
    }
    core::leave_comity(k, core::next_use::not_known);
    return error;
}

int comity_thread_prepare_under(struct comity_scheduler *scheduler, comity_thread_t **out,
                                const comity_thread_attr_t *attr, void *(*fn)(void *), void **data) {
    const comity_thread_attr_t &a = attr ? *attr : default_attributes;
    if (!fn || !out || !is_possible(a)) return EINVAL;
    if (const int error = bad_scheduler(scheduler, nullptr)) return error;
    carrier *k = core::enter_comity();
    thread *t = nullptr;
    const int error = prepare_under(unwrap(scheduler), t, a, fn, k);
    core::leave_comity(k);
    if (error != 0) return error;
    hand_out_prepared(t, a.unwinds, out, data);
    return 0;
}

int comity_thread_launch_under(comity_thread_t *handle, struct comity_scheduler *scheduler, struct comity_pool *pool) {
    if (const int error = bad_scheduler(scheduler, pool)) return error;
    thread *t = take_prepared(handle);
    return t ? launch_under(t, unwrap(scheduler), pool) : EINVAL;
}
}
