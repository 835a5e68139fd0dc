#include "scheduler/scope_watch.hpp"

#include "core/base.hpp"
#include "core/displacement.hpp"
#include "core/spinlock.hpp"
#include "core/timer.hpp"
#include "scheduler/work_stealing.hpp"
#include "sys/clock.hpp"
#include "sys/kernel_thread.hpp"
#include "sys/message.hpp"
#include "sys/process.hpp"

#include <atomic>

namespace comity::scheduler {

namespace {

// A loop is left after looks_at_loop looks that found work; an own computation has ten times as long
// (displacement.cpp).
constexpr unsigned looks_at_loop = 5;
constexpr std::int64_t look_ns = 10'000'000, idle_look_ns = 50'000'000;

core::spinlock scopes_lock;
work_stealing *scopes = nullptr;   // under scopes_lock
std::atomic<bool> watching{false}; // written under scopes_lock; who sets it has next_look
core::timer next_look;

void look(core::timer *) noexcept;

// `watching` is the caller's. Without a kernel thread for timers there is no watch.
void look_in(std::int64_t ns) noexcept {
    next_look.at = sys::deadline_in(ns);
    next_look.serve = look;
    if (!core::arm(next_look)) watching.store(false, std::memory_order_relaxed);
}

void look(core::timer *) noexcept {
    constexpr unsigned most = 8; // the others at the next looks
    work_stealing *left_alone[most];
    unsigned n = 0;
    bool waits = false, over = true;
    const int here = sys::process_id();
    scopes_lock.lock();
    for (work_stealing *s = scopes; s; s = s->next_watched) {
        if (s->watched_in != here) continue;
        over = false;
        if (!s->has_waiting()) continue;
        waits = true;
        if (s->alone() || !s->could_use_harts() || n == most) continue;
        s->pin();
        left_alone[n++] = s;
    }
    if (over) watching.store(false, std::memory_order_relaxed);
    scopes_lock.unlock();
    while (n != 0) { // without the lock, which a fork takes as well
        work_stealing *s = left_alone[--n];
        s->call_others();
        s->unpin();
    }
    if (over) return;
    const bool is_one_hart = core::base().hart_count() == 1, left_waiting = waits;
    waits = is_one_hart && (waits || core::base().pressed());
    if (is_one_hart) (void)core::look_after_homes({core::watcher::scopes, looks_at_loop, waits});
    if (!is_one_hart && left_waiting) core::base().serve_from_sleepers(); // a keeper may have come after it asked
    look_in(waits ? look_ns : idle_look_ns);
}

void before_fork() noexcept { scopes_lock.lock(); }
void parent_after_fork() noexcept { scopes_lock.unlock(); }
void child_after_fork() noexcept {
    scopes_lock.unlock();
    if (!core::is_armed_in_child(next_look)) watching.store(false, std::memory_order_relaxed);
}

__attribute__((constructor)) void watch_forks() noexcept {
    if (!sys::at_fork(before_fork, parent_after_fork, child_after_fork))
        sys::warn("no memory to prepare for fork: a child process must not make threads of Comity's");
}

} // namespace

void watch_scope(work_stealing *s) noexcept {
    scopes_lock.lock();
    s->watched_in = sys::process_id();
    s->next_watched = scopes;
    s->previous_watched = nullptr;
    if (scopes) scopes->previous_watched = s;
    scopes = s;
    const bool begins = !watching.load(std::memory_order_relaxed);
    watching.store(true, std::memory_order_relaxed);
    scopes_lock.unlock();
    if (begins) look_in(look_ns);
}

void forget_scope(work_stealing *s) noexcept {
    if (s->watched_in == 0) return;
    scopes_lock.lock();
    (s->previous_watched ? s->previous_watched->next_watched : scopes) = s->next_watched;
    if (s->next_watched) s->next_watched->previous_watched = s->previous_watched;
    scopes_lock.unlock();
}

} // namespace comity::scheduler
