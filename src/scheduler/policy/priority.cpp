// The highest priority first, and the oldest within it.
#include "pool/priority.hpp"
#include "pool/array_queue.hpp"
#include "scheduler/policy/one_pool.hpp"

#include <new>

namespace comity::scheduler {

policy *make_priority(const comity_scheduler_attr_t &, int &error) noexcept {
    using levels = pool::shared_priority<pool::mpmc_fifo<unit>>;
    return or_no_memory(new (std::nothrow) one_pool<levels>(COMITY_SCHEDULER_PRIORITY), error);
}

} // namespace comity::scheduler
