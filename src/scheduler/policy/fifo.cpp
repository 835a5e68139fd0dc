// The oldest first.
#include "pool/array_queue.hpp"
#include "scheduler/policy/one_pool.hpp"

#include <new>

namespace comity::scheduler {

policy *make_fifo(const comity_scheduler_attr_t &, int &error) noexcept {
    return or_no_memory(new (std::nothrow) one_pool<pool::mpmc_fifo<unit>>(COMITY_SCHEDULER_FIFO), error);
}

} // namespace comity::scheduler
