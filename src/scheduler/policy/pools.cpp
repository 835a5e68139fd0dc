// Over pools of the user's: the first one that is not empty gives the next unit. Who yields goes to the last one, so
// that with two pools nobody waits for him.
#include "pool/pool.hpp"
#include "scheduler/policy/policy.hpp"

#include <algorithm>
#include <memory>
#include <new>

namespace comity::scheduler {

namespace {

class pools : public policy {
public:
    pools(std::unique_ptr<comity_pool *[]> all, std::size_t n) noexcept
        : policy(COMITY_SCHEDULER_POOLS), all_(std::move(all)), count_(n) {}
    bool push(unit *u, occasion why) noexcept override {
        return pool::push(all_[why == occasion::yielded ? count_ - 1 : 0], u) == 0;
    }
    unit *pick() noexcept override {
        for (std::size_t i = 0; i < count_; ++i)
            if (unit *u = pool::pop(all_[i])) return u;
        return nullptr;
    }
    bool has_work() noexcept override {
        for (std::size_t i = 0; i < count_; ++i)
            if (!all_[i]->f->is_empty(all_[i])) return true;
        return false;
    }
    bool takes_from(const comity_pool *pool) noexcept override {
        return std::find(all_.get(), all_.get() + count_, pool) != all_.get() + count_;
    }

private:
    std::unique_ptr<comity_pool *[]> all_;
    std::size_t count_;
};

bool valid(const comity_scheduler_attr_t &a) noexcept {
    if (!a.pools || a.pool_count == 0) return false;
    for (std::size_t i = 0; i < a.pool_count; ++i)
        if (!a.pools[i] || a.pools[i]->who != pool::access::mpmc) return false;
    return true;
}

} // namespace

policy *make_pools(const comity_scheduler_attr_t &a, int &error) noexcept {
    if (!valid(a)) {
        error = EINVAL;
        return nullptr;
    }
    std::unique_ptr<comity_pool *[]> all(new (std::nothrow) comity_pool *[a.pool_count]);
    for (std::size_t i = 0; all && i < a.pool_count; ++i) all[i] = a.pools[i];
    return or_no_memory(all ? new (std::nothrow) pools(std::move(all), a.pool_count) : nullptr, error);
}

} // namespace comity::scheduler
