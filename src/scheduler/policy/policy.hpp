// In which order the units of a scheduler run, where that is not work stealing's: a policy keeps the units and picks
// the next one. It knows neither harts nor threads, and nothing of how harts come and go; the scheduler asks it in
// turn. One file for each.
#pragma once

#include "comity/scheduler.h"
#include "core/unit.hpp"

#include <cerrno>
#include <cstdint>

struct comity_pool;

namespace comity::scheduler {

class descent; // descent.hpp

enum class occasion : std::uint8_t {
    created = COMITY_OCCASION_CREATED,
    ready = COMITY_OCCASION_READY,
    yielded = COMITY_OCCASION_YIELDED,
};

// push, pick and has_work may be called by many at the same time, with the lock of a scheduler's slot: they are short,
// and neither switch nor come back to the scheduler.
class policy {
public:
    explicit policy(comity_scheduler_kind_t k) noexcept : kind(k) {}
    virtual ~policy() = default;
    policy(const policy &) = delete;
    policy &operator=(const policy &) = delete;

    // False: it cannot, for want of memory.
    virtual bool push(unit *u, occasion why) noexcept = 0;
    // Null only if it holds nothing, or all it holds are units whose push has not returned yet.
    virtual unit *pick() noexcept = 0;
    virtual bool has_work() noexcept = 0;
    // May it pick what others put into this pool?
    virtual bool takes_from(const comity_pool *) noexcept { return false; }

    const comity_scheduler_kind_t kind;
    descent *by_descent = nullptr; // the same policy, if it goes by who created whom
};

using policy_maker = policy *(*)(const comity_scheduler_attr_t &, int &error) noexcept;
policy *make_fifo(const comity_scheduler_attr_t &a, int &error) noexcept;
policy *make_lifo(const comity_scheduler_attr_t &a, int &error) noexcept;
policy *make_priority(const comity_scheduler_attr_t &a, int &error) noexcept;
policy *make_random(const comity_scheduler_attr_t &a, int &error) noexcept;
policy *make_pools(const comity_scheduler_attr_t &a, int &error) noexcept;
policy *make_user(const comity_scheduler_attr_t &a, int &error) noexcept;
policy *make_space_efficient(const comity_scheduler_attr_t &a, int &error) noexcept;
policy *make_df_deques(const comity_scheduler_attr_t &a, int &error) noexcept;

// By the attributes' kind. Null without an error: work stealing, which needs none. On any thread.
policy *make_policy(const comity_scheduler_attr_t &a, int &error) noexcept;

// `p`, or null and ENOMEM.
inline policy *or_no_memory(policy *p, int &error) noexcept {
    if (!p) error = ENOMEM;
    return p;
}

} // namespace comity::scheduler
