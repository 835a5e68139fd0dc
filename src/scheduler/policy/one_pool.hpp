// A policy that is one pool's order: whatever the occasion, a unit goes into the pool, and the pool says which is next.
#pragma once

#include "scheduler/policy/policy.hpp"

namespace comity::scheduler {

template <class Pool> class one_pool : public policy {
public:
    using policy::policy;
    bool push(unit *u, occasion) noexcept override { return pool_.push(u); }
    unit *pick() noexcept override { return pool_.pop(); }
    bool has_work() noexcept override { return !pool_.is_empty(); }

protected:
    Pool pool_;
};

} // namespace comity::scheduler
