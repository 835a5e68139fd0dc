#include "personality/pthread/threads/habit.hpp"

#include "core/base.hpp"
#include "core/carrier.hpp"
#include "core/displacement.hpp"
#include "core/promotion.hpp"
#include "core/runtime.hpp"
#include "core/tls/block.hpp"
#include "personality/pthread/threads/vfork.hpp"
#include "sys/clock.hpp"

#include <algorithm>

namespace comity::posix {

bool is_away() noexcept {
    const core::context *c = current_thread ? core::current_context() : nullptr;
    return c && !c->on->carried;
}

namespace habit {
namespace {

// What is computed between two sleeps: little; and so much that it should be done with a hart.
constexpr std::uint64_t brief_us = 50, long_us = 1000;
constexpr int most_sleeps = 8, sleeps_to_leave = 3, forgotten_by_long = 3;
// So many waits at objects in a row, without a sleep in a call, are better done on the harts.
constexpr int most_waits = 16;

std::uint64_t computed_us(const thread &t) noexcept {
    return (sys::ticks() - t.habit.slept_until) / core::ticks_per_us();
}

void note_long(sleeping_habit &h, std::uint64_t us) noexcept {
    if (us >= brief_us && core::base().pressed())
        h.sleeps = 0; // others wait for the core that it takes
    else if (us >= long_us)
        h.sleeps = std::max(h.sleeps - forgotten_by_long, 0);
}

} // namespace

bool begins_sleep(thread &t) noexcept {
    sleeping_habit &h = t.habit;
    const std::uint64_t us = computed_us(t);
    if (us < brief_us) h.sleeps = std::min(h.sleeps + 1, most_sleeps);
    note_long(h, us);
    return h.sleeps > 0;
}

void ends_sleep(thread &t) noexcept {
    t.habit.slept_until = sys::ticks();
    t.habit.waits = 0;
}

bool makes_call_away(thread &t) noexcept {
    if (is_away()) return t.habit.sleeps > 0;
    if (t.habit.sleeps < sleeps_to_leave || computed_us(t) >= brief_us || in_vforked_child()) return false;
    // Of the threads beyond the first thousand each would need one more kernel thread.
    return core::has_own_kernel_thread(core::current_context()->tls) && leave_hart();
}

wait_for_input begins_wait(thread &t) noexcept {
    const std::uint64_t us = computed_us(t);
    note_long(t.habit, us);
    return {core::long_searches(), us < brief_us};
}

void ends_wait(thread &t, wait_for_input w) noexcept {
    sleeping_habit &h = t.habit;
    // While harts are busy it is cheaper to wait for them than for a kernel thread.
    const bool was_idle = w.searches != core::long_searches();
    if (!was_idle || w.was_brief) h.sleeps = std::clamp(h.sleeps + (was_idle ? 1 : -1), 0, most_sleeps);
    ends_sleep(t);
}

bool before_wait() noexcept {
    if (is_away()) {
        sleeping_habit &h = current_thread->habit;
        note_long(h, computed_us(*current_thread));
        if (h.sleeps != 0 && ++h.waits <= most_waits) return true;
    }
    come_home();
    return false;
}

void after_wait() noexcept { current_thread->habit.slept_until = sys::ticks(); }

} // namespace habit
} // namespace comity::posix
