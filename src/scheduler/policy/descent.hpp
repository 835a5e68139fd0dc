// Orders that go by who created whom. Beyond what a policy is told, they learn which unit is whose child, when a thread
// that is `tracked` ends, and for whom a context goes on; README.md, "Depth-first".
#pragma once

#include "scheduler/policy/policy.hpp"

#include <cstddef>
#include <cstdint>

namespace comity::scheduler {

// As those of a policy, the functions may be called by many at the same time, with the lock of a scheduler's slot.
// `who`: the unit of the thread that is meant; null: none that the order would know.
class descent : public policy {
public:
    descent(comity_scheduler_kind_t k, std::size_t quota_of_dispatch) noexcept
        : policy(k), quota(static_cast<std::int64_t>(quota_of_dispatch)) {
        by_descent = this;
    }

    // `creator` has created u. starts: it runs at once, in the caller's hands; else it waits. False: no memory; then u
    // has no position, and waits nowhere.
    virtual bool add(unit *u, unit *creator, bool starts) noexcept = 0;
    // u may go on for `who`. `dummies`: so often nothing is run in its stead first. False: no memory.
    virtual bool line_up(unit *u, unit *who, occasion why, std::uint64_t dummies) noexcept = 0;
    // What `hart` has just put in, and will come for in a moment: if it is the next one, others leave it alone so long.
    virtual void keep_for(unsigned hart) noexcept = 0;
    // As pick, for `hart`. Also null if the next one is kept for another: `again` says until when, in ticks, else 0.
    virtual unit *pick_for(unsigned hart, std::uint64_t &again) noexcept = 0;
    // A thread ends that is tracked.
    virtual void end(unit *u) noexcept = 0;
    // Would nothing else be picked than `who`, if it waited?
    virtual bool is_next(const unit *who) noexcept = 0;
    // How many units wait; a hint.
    virtual unsigned waiting() const noexcept = 0;
    // Another policy comes: nobody has a position any more. With the locks of all slots; what waits is picked next.
    virtual void retire() noexcept = 0;

    bool push(unit *u, occasion why) noexcept override {
        return why == occasion::created ? add(u, nullptr, false) : line_up(u, nullptr, why, 0);
    }

    const std::int64_t quota; // how many bytes a thread may allocate from being picked until it waits its turn again
};

} // namespace comity::scheduler
