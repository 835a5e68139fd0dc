// Orders that go by who created whom. Beyond what a policy is told, they learn which unit is whose child, when a thread
// that is `tracked` ends, and for whom a context goes on; README.md, "Depth-first".
#pragma once

#include "scheduler/policy/policy.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace comity::scheduler {

// What a hart runs next.
struct choice {
    unit *u = nullptr;   // null: nothing, or
    bool kept = false;   // the next one is, for another hart, for a moment
    bool renews = false; // does the hart's quota begin anew?
};

// As those of a policy, the functions may be called by many at the same time, with the lock of a scheduler's slot:
// `hart` is its number, that of no hart for those who have none. `who`: the unit of the thread that is meant; null:
// none that the order would know.
class descent : public policy {
public:
    descent(comity_scheduler_kind_t k, std::size_t quota_of_dispatch, bool renews) noexcept
        : policy(k), quota(static_cast<std::int64_t>(quota_of_dispatch)), renews_at_creation(renews) {
        by_descent = this;
    }

    // `creator` has created u. starts: it runs at once, in the caller's hands; else it waits. False: no memory; then u
    // has no position, and waits nowhere.
    virtual bool add(unsigned hart, unit *u, unit *creator, bool starts) noexcept = 0;
    // u may go on for `who`. False: no memory.
    virtual bool line_up(unsigned hart, unit *u, unit *who, occasion why) noexcept = 0;
    // The same for a creator who can go on on its own hart only: before `left` of those ready that stand left of his
    // place, for once, so that he has created more before other harts have none.
    virtual bool line_up_early(unsigned hart, unit *u, unit *who, unsigned) noexcept {
        return line_up(hart, u, who, occasion::ready);
    }
    // The same for one whose quota is used up. `dummies`: so often nothing is run in its stead first.
    virtual bool line_up_delayed(unsigned hart, unit *u, unit *who, std::uint64_t dummies) noexcept = 0;
    // What `hart` has just put in, and will come for in a moment: if it is the next one, others leave it alone so long.
    virtual void keep_for(unsigned hart) noexcept = 0;
    // As pick, for `hart`.
    virtual choice pick_for(unsigned hart) noexcept = 0;
    // A thread ends that is tracked.
    virtual void end(unit *u) noexcept = 0;
    // Does nothing wait that goes before `who`, which `hart` executes?
    virtual bool is_next(unsigned hart, const unit *who) noexcept = 0;
    // How many units wait; a hint.
    virtual unsigned waiting() const noexcept = 0;
    // Another policy comes: nobody has a position any more. With the locks of all slots; what waits is picked next.
    virtual void retire() noexcept = 0;

    bool push(unit *, occasion) noexcept override { return false; } // it must be known by whom: add, line_up

    const std::int64_t quota; // so many bytes a hart's threads may allocate from one renewal to the next
    const bool renews_at_creation;
};

// A creator, or its child, that another hart takes costs both harts more than a short thread does. So it is left to its
// own hart for as long as that; but for one in so many, or threads that are all short would stay on one hart.
inline constexpr std::uint64_t kept_us = 1;
inline constexpr unsigned offers_to_all = 32;

// Bytes. A thread that allocates less between two waits is never made to wait for it.
inline constexpr std::size_t usual_quota = 50'000;

inline std::size_t quota_of(const comity_scheduler_attr_t &a) noexcept {
    return a.quota == 0 ? usual_quota : std::min<std::size_t>(a.quota, INT64_MAX / 2);
}

} // namespace comity::scheduler
