// What an order by descent needs of the scheduler: creators that give way to their children, the ends of threads, and
// the quota. README.md, "Depth-first".
#include "core/base.hpp"
#include "scheduler/policy/descent.hpp"
#include "scheduler/work_stealing.hpp"

#include <algorithm>
#include <mutex>

namespace comity::scheduler {

// A program's own thread goes on only on its own carrier, which its child would have. So where other harts could run
// something meanwhile, it leaves a child for each of them first; some for each, where it was away for long the last
// time: with one, a hart that is done first has nothing to do until the thread's own hart comes back to it. Not where
// children are short: to take them costs the others more than it gains.
constexpr unsigned children_ahead = 4;
constexpr std::uint64_t long_us = 20;

bool work_stealing::goes_first(const unit *u, const context *creator) noexcept {
    const unit *who = executed_by(creator);
    if (who && u->rank() < who->rank()) return false;
    if (!creator->home || alone()) return true;
    if (const std::uint64_t since = left_at_.exchange(0, std::memory_order_relaxed))
        was_away_for_long_.store(sys::ticks() - since > long_us * core::ticks_per_us(), std::memory_order_relaxed);
    const std::scoped_lock hold(work_of(creator->on)->lock);
    const policy *p = policy_.load(std::memory_order_relaxed);
    const unsigned others = most() - 1;
    const unsigned each = was_away_for_long_.load(std::memory_order_relaxed) ? children_ahead : 1;
    return p && p->by_descent && p->by_descent->waiting() >= each * others;
}

void work_stealing::gives_way(context *creator, unit *u) noexcept {
    slot &own = *work_of(core::current_carrier());
    if (creator->home) left_at_.store(sys::ticks(), std::memory_order_relaxed);
    own.lock.lock();
    policy *p = policy_.load(std::memory_order_relaxed);
    bool waits = false;
    if (descent *order = p ? p->by_descent : nullptr) {
        unit *const who = executed_by(creator);
        order->add(own.hart, u, who, true);
        const bool early = creator->home && !alone() && was_away_for_long_.load(std::memory_order_relaxed);
        waits = !affinity_of(creator) && (early ? order->line_up_early(own.hart, unit_of(creator), who, most() - 1)
                                                : order->line_up(own.hart, unit_of(creator), who, occasion::ready));
        if (waits) order->keep_for(own.hart);
        if (order->renews_at_creation) own.allowance.store(order->quota, std::memory_order_relaxed);
    } else {
        u->tracked = tracking::none;
    }
    own.lock.unlock();
    if (!waits) line_up(own, creator, occasion::ready);
    if (could_use_harts()) call_help(); // without a fence: as push_parent
}

void work_stealing::ends(unit *u) noexcept {
    const carrier *k = core::current_carrier();
    slot &s = slots[k && k->carried ? static_cast<unsigned>(k->carried->id) : harts];
    const std::scoped_lock hold(s.lock);
    const policy *p = policy_.load(std::memory_order_relaxed);
    if (p && p->by_descent)
        p->by_descent->end(u);
    else
        u->tracked = tracking::none;
}

// ---- The quota

namespace {

// For so many quotas at most a thread waits that allocates more at once.
constexpr std::uint64_t most_dummies = std::uint64_t{1} << 20;

struct delay {
    work_stealing *self;
    std::uint64_t dummies;
};

} // namespace

// On the transition context.
void work_stealing::wait_for_quota(context *c, void *wanted) {
    const delay d = *static_cast<delay *>(wanted); // on the stack of the context, which may go on at once
    carrier *k = core::current_carrier();
    d.self->line_up_delayed(*work_of(k), c, d.dummies);
    d.self->next(k);
}

// Nobody who waits would go first: the thread has its next quota at once, but for the turns to look elsewhere.
bool work_stealing::goes_on_with_quota(slot &own, const context *c) noexcept {
    if (!own.take_turn_at_home()) return false;
    const std::scoped_lock hold(own.lock);
    const policy *p = policy_.load(std::memory_order_relaxed);
    return p && p->by_descent && p->by_descent->is_next(own.hart, executed_by(c));
}

void work_stealing::charge(std::size_t bytes) noexcept {
    context *c = core::current_context();
    slot *own = work_of(c->on);
    const auto size = static_cast<std::uint64_t>(quota.load(std::memory_order_relaxed));
    own->allowance.store(size == 0 ? INT64_MAX : 0, std::memory_order_relaxed);
    if (size == 0 || c->owner != this || c == &c->on->transition) return;
    delay d{this, bytes > size ? std::min(bytes / size, most_dummies) : 0};
    if (d.dummies == 0 && goes_on_with_quota(*own, c))
        own->allowance.store(static_cast<std::int64_t>(size), std::memory_order_relaxed);
    else
        core::pause(c, wait_for_quota, &d);
    own = work_of(core::current_carrier());
    if (own && d.dummies == 0) own->spend(bytes);
}

} // namespace comity::scheduler
