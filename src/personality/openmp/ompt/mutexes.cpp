// Locks, critical and ordered regions.
#include "personality/openmp/lock.hpp"
#include "personality/openmp/nest_lock.hpp"
#include "personality/openmp/ompt/data.hpp"

namespace comity::openmp::ompt {
namespace {

// There is one kind of lock: it spins a little, then waits in line.
constexpr unsigned waits_in_line = 2;

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

void acquire(mutex_kind kind, const void *what, unsigned hint, place at) noexcept {
    native_thread &n = mine();
    tell<event::mutex_acquire>(kind, hint, waits_in_line, id_of(what), at.caller);
    n.wait_id = id_of(what);
    n.state = waiting_for(kind);
}

void acquired(mutex_kind kind, const void *what, place at) noexcept {
    mine().state = thread_state::undefined;
    tell<event::mutex_acquired>(kind, id_of(what), at.caller);
}

void released(mutex_kind kind, const void *what, place at) noexcept {
    tell<event::mutex_released>(kind, id_of(what), at.caller);
}

void lock_made(mutex_kind kind, const void *what, unsigned hint, place at) noexcept {
    tell<event::lock_init>(kind, hint, waits_in_line, id_of(what), at.caller);
}

void lock_destroyed(mutex_kind kind, const void *what, place at) noexcept {
    tell<event::lock_destroy>(kind, id_of(what), at.caller);
}

void lock(word_lock &l, mutex_kind kind, unsigned hint, place at) noexcept {
    const inside in(at);
    acquire(kind, &l, hint, at);
    l.lock();
    acquired(kind, &l, at);
}

int test(word_lock &l, place at) noexcept {
    acquire(mutex_kind::test_lock, &l, 0, at);
    const bool taken = l.try_lock();
    if (taken)
        acquired(mutex_kind::test_lock, &l, at);
    else
        mine().state = thread_state::undefined;
    return taken;
}

void unlock(word_lock &l, mutex_kind kind, place at) noexcept {
    l.unlock();
    released(kind, &l, at);
}

void set(nest_lock &l, const void *variable, place at) noexcept {
    const inside in(at);
    acquire(mutex_kind::nest_lock, variable, 0, at);
    const bool again = l.is_mine();
    l.set();
    mine().state = thread_state::undefined;
    if (again)
        tell<event::nest_lock>(endpoint::begin, id_of(variable), at.caller);
    else
        acquired(mutex_kind::nest_lock, variable, at);
}

int test(nest_lock &l, const void *variable, place at) noexcept {
    acquire(mutex_kind::test_nest_lock, variable, 0, at);
    const int count = l.test();
    mine().state = thread_state::undefined;
    if (count == 1)
        acquired(mutex_kind::test_nest_lock, variable, at);
    else if (count > 1)
        tell<event::nest_lock>(endpoint::begin, id_of(variable), at.caller);
    return count;
}

void unset(nest_lock &l, const void *variable, place at) noexcept {
    if (l.unset())
        tell<event::nest_lock>(endpoint::end, id_of(variable), at.caller);
    else
        released(mutex_kind::nest_lock, variable, at);
}

} // namespace comity::openmp::ompt
