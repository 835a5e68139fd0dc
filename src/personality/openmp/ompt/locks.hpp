// The omp_*_lock functions of both ABIs, for a tool as well as without one. `variable`: the program's.
#pragma once

#include <new>

#include "personality/openmp/nest_lock.hpp"
#include "personality/openmp/ompt/hooks.hpp"

namespace comity::openmp::ompt {

[[gnu::always_inline]] inline void init_lock(void *variable, unsigned hint, call_site at) noexcept {
    new (variable) word_lock;
    tell_last([=](call_site p) { lock_made(mutex_kind::lock, variable, hint, p); }, at);
}
[[gnu::always_inline]] inline void destroy_lock(void *variable, call_site at) noexcept {
    tell_last([=](call_site p) { lock_destroyed(mutex_kind::lock, *static_cast<word_lock *>(variable), variable, p); },
              at);
}
[[gnu::always_inline]] inline void set_lock(word_lock *l, call_site at) noexcept {
    either([=](call_site p) { lock(*l, mutex_kind::lock, 0, p); }, [=] { l->lock(); }, at);
}
[[gnu::always_inline]] inline void unset_lock(word_lock *l, call_site at) noexcept {
    either([=](call_site p) { unlock(*l, mutex_kind::lock, p); }, [=] { l->unlock(); }, at);
}
[[gnu::always_inline]] inline int test_lock(word_lock *l, call_site at) noexcept {
    return either([=](call_site p) { return test(*l, p); }, [=] { return int{l->test()}; }, at);
}

// Of a nested lock that was made, or will be gone.
[[gnu::always_inline]] inline void nest_made(const void *variable, unsigned hint, call_site at) noexcept {
    tell_last([=](call_site p) { lock_made(mutex_kind::nest_lock, variable, hint, p); }, at);
}
[[gnu::always_inline]] inline void nest_destroyed(const nest_lock *l, const void *variable, call_site at) noexcept {
    tell_last([=](call_site p) { lock_destroyed(mutex_kind::nest_lock, l->word(), variable, p); }, at);
}
[[gnu::always_inline]] inline void set_nest(nest_lock *l, const void *variable, call_site at) noexcept {
    either([=](call_site p) { set(*l, variable, p); }, [=] { l->set(); }, at);
}
[[gnu::always_inline]] inline void unset_nest(nest_lock *l, const void *variable, call_site at) noexcept {
    either([=](call_site p) { unset(*l, variable, p); }, [=] { (void)l->unset(); }, at);
}
[[gnu::always_inline]] inline int test_nest(nest_lock *l, const void *variable, call_site at) noexcept {
    return either([=](call_site p) { return test(*l, variable, p); }, [=] { return l->test(); }, at);
}

} // namespace comity::openmp::ompt
