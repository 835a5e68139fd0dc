// The C interface's objects live in the caller's storage.
#pragma once

#include "core/runtime.hpp"
#include "sync/wait_list.hpp"
#include "sys/message.hpp"
#include "thread/extension.hpp"

#include <cerrno>
#include <new>

namespace comity::sync {

template <class Object, class Storage> Object &object(Storage *s) noexcept {
    static_assert(sizeof(Object) <= sizeof(Storage));
    static_assert(alignof(Object) <= alignof(Storage));
    return *std::launder(reinterpret_cast<Object *>(s));
}
template <class Object, class Storage> const Object &object(const Storage *s) noexcept {
    return object<Object>(const_cast<Storage *>(s));
}

// For *_fini, after wait_until_left: who waits for it would wait for ever. In the child of a fork those may be threads
// of the parent's.
template <class Object> void check_nobody_waits(const char *call, Object &o) noexcept {
    if (o.is_waited_for() && !core::is_forked_child()) sys::fatal(call, "a thread waits for it");
}

inline int late_unless(bool done) noexcept { return done ? 0 : ETIMEDOUT; }

// What a function that is a cancellation point does first, unless it always waits and nobody should be kept waiting for
// a lock meanwhile (conditions); in a thread that was cancelled and does not unwind by itself it does not return.
inline int before_wait() noexcept {
    const comity::thread *t = own_thread();
    return t && t->is_extended() ? cancel_here() : 0;
}
// And what it makes of the wait's end.
inline int after_wait(wait_end end) noexcept {
    if (end == wait_end::done) return 0;
    return end == wait_end::late ? ETIMEDOUT : cancel_here();
}
// The two together. Wait returns a wait_end.
template <class Wait> int wait_here(Wait &&wait) noexcept {
    if (const int cancelled = before_wait()) return cancelled;
    return after_wait(wait());
}

} // namespace comity::sync
