// Locks, critical and ordered regions.
#include "personality/openmp/check.hpp"
#include "personality/openmp/lock.hpp"
#include "personality/openmp/nest_lock.hpp"
#include "personality/openmp/ompt/data.hpp"

namespace comity::openmp::ompt {
namespace {

// There is one kind of lock: it spins a little, then waits in line.
constexpr unsigned waits_in_line = 2;

// The regions among them, not the locks.
bool to_construct(mutex_kind kind, check::construct &found) noexcept {
    switch (kind) {
    case mutex_kind::critical:
        found = check::construct::critical;
        return true;
    case mutex_kind::atomic:
        found = check::construct::atomic;
        return true;
    case mutex_kind::ordered:
        found = check::construct::ordered;
        return true;
    default:
        return false;
    }
}

// What goes into a lock's word.
std::uint32_t holder_of(mutex_kind kind) noexcept { return check::on && kind == mutex_kind::lock ? check::owner() : 0; }

std::uint64_t id_of(const void *what) noexcept { return reinterpret_cast<std::uintptr_t>(what); }

thread_state waiting_for(mutex_kind kind) noexcept {
    switch (kind) {
    case mutex_kind::critical:
        return thread_state::wait_critical;
    case mutex_kind::atomic:
        return thread_state::wait_atomic;
    case mutex_kind::ordered:
        return thread_state::wait_ordered;
    default:
        return thread_state::wait_lock;
    }
}

} // namespace

void acquire(mutex_kind kind, const void *what, unsigned hint, call_site at) noexcept {
    if (check::construct c{}; check::on && to_construct(kind, c)) check::may_enter(c, what, at.caller);
    native_thread &n = mine();
    tell<event::mutex_acquire>(kind, hint, waits_in_line, id_of(what), at.caller);
    n.wait_id = id_of(what);
    n.state = waiting_for(kind);
}

void acquired(mutex_kind kind, const void *what, call_site at) noexcept {
    if (check::construct c{}; check::on && to_construct(kind, c)) check::entered(c, what, at.caller);
    mine().state = thread_state::undefined;
    tell<event::mutex_acquired>(kind, id_of(what), at.caller);
}

void released(mutex_kind kind, const void *what, call_site at) noexcept {
    if (check::construct c{}; check::on && to_construct(kind, c)) check::left(c);
    tell<event::mutex_released>(kind, id_of(what), at.caller);
}

void lock_made(mutex_kind kind, const void *what, unsigned hint, call_site at) noexcept {
    tell<event::lock_init>(kind, hint, waits_in_line, id_of(what), at.caller);
}

void lock_destroyed(mutex_kind kind, const word_lock &l, const void *what, call_site at) noexcept {
    if (check::on)
        check::may_destroy(l, kind == mutex_kind::lock ? "omp_destroy_lock" : "omp_destroy_nest_lock", at.caller);
    tell<event::lock_destroy>(kind, id_of(what), at.caller);
}

void lock(word_lock &l, mutex_kind kind, unsigned hint, call_site at) noexcept {
    const inside in(at);
    if (check::on && kind == mutex_kind::lock) check::may_set(l, at.caller);
    acquire(kind, &l, hint, at);
    l.lock(holder_of(kind));
    acquired(kind, &l, at);
}

int test(word_lock &l, call_site at) noexcept {
    acquire(mutex_kind::test_lock, &l, 0, at);
    const bool taken = l.test(holder_of(mutex_kind::lock));
    if (taken)
        acquired(mutex_kind::test_lock, &l, at);
    else
        mine().state = thread_state::undefined;
    return taken;
}

void unlock(word_lock &l, mutex_kind kind, call_site at) noexcept {
    if (check::on && kind == mutex_kind::lock) check::may_unset(l, at.caller);
    l.unlock();
    released(kind, &l, at);
}

void set(nest_lock &l, const void *variable, call_site at) noexcept {
    const inside in(at);
    if (check::on) check::may_set(l, at.caller);
    acquire(mutex_kind::nest_lock, variable, 0, at);
    const bool again = l.is_mine();
    l.set(holder_of(mutex_kind::lock));
    mine().state = thread_state::undefined;
    if (again)
        tell<event::nest_lock>(endpoint::begin, id_of(variable), at.caller);
    else
        acquired(mutex_kind::nest_lock, variable, at);
}

int test(nest_lock &l, const void *variable, call_site at) noexcept {
    acquire(mutex_kind::test_nest_lock, variable, 0, at);
    const int count = l.test(holder_of(mutex_kind::lock));
    mine().state = thread_state::undefined;
    if (count == 1)
        acquired(mutex_kind::test_nest_lock, variable, at);
    else if (count > 1)
        tell<event::nest_lock>(endpoint::begin, id_of(variable), at.caller);
    return count;
}

void unset(nest_lock &l, const void *variable, call_site at) noexcept {
    if (check::on) check::may_unset(l, at.caller);
    if (l.unset())
        tell<event::nest_lock>(endpoint::end, id_of(variable), at.caller);
    else
        released(mutex_kind::nest_lock, variable, at);
}

} // namespace comity::openmp::ompt
