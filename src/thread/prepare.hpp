// How a thread begins, for the caller's scheduler (thread.cpp) and for another one (under.cpp).
#pragma once

#include "thread/extension.hpp"
#include "thread/own_storage.hpp"
#include "thread/technique/technique.hpp"

namespace comity {

// Makes a thread of a fresh descriptor. Whatever can fail for want of memory fails here, but for the context that lazy
// techniques take at the start; then the descriptor is given back. The attributes are valid; k: the calling carrier,
// which holds a hart. Returns 0 or an error number.
inline int equip(thread *t, unit_scheduler *s, const comity_thread_attr_t &a, void *(*fn)(void *),
                 core::carrier *k) noexcept {
    dress(t, s, a, fn);
    int error = a.own_tls && a.own_tls != storage_of_creator ? begin_with_own_storage(t) : 0;
    if (error == 0 && a.hart_count != 0) error = set_affinity(t, a.harts, a.hart_count);
    if (error == 0 && (!how(t).eager || (t->c = take_context(t, k, error)))) return 0;
    if (t->is_extended()) free_extension(t);
    give_back_descriptor(t, k);
    return error;
}

// The thread stands between its two steps: its function will get `*data`, which the caller fills in.
inline void hand_out_prepared(thread *t, int unwinds, comity_thread_t **out, void **data) noexcept {
    static_assert(thread::prepared_marks(1) == (thread::that_is_prepared | thread::that_unwinds) &&
                  thread::prepared_marks(COMITY_THREAD_UNWINDS_CXX) ==
                      (thread::that_is_prepared | thread::that_unwinds | thread::that_drops_results));
    t->value = t->rest().data;
    t->add_marks(thread::prepared_marks(unwinds));
    if (data) *data = t->rest().data;
    *out = t;
}

// The second step. Null: it is no thread, or not one that stands between the two.
inline thread *take_prepared(comity_thread_t *handle) noexcept {
    auto *t = static_cast<thread *>(handle);
    if (!t || !t->is_prepared()) [[unlikely]]
        return nullptr;
    t->take_marks(thread::that_is_prepared);
    return t;
}
// It could not be launched.
inline void put_back_prepared(thread *t) noexcept { t->add_marks(thread::that_is_prepared); }

} // namespace comity
