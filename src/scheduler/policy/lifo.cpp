// The newest first. Who yields would be the newest himself and so never let anybody go first: those who yield stand
// behind all others, in the order in which they came.
#include "pool/array_queue.hpp"
#include "pool/stack.hpp"
#include "scheduler/policy/policy.hpp"

#include <new>

namespace comity::scheduler {

namespace {

class lifo : public policy {
public:
    lifo() noexcept : policy(COMITY_SCHEDULER_LIFO) {}
    bool push(unit *u, occasion why) noexcept override {
        return why == occasion::yielded ? behind_.push(u) : newest_.push(u);
    }
    unit *pick() noexcept override {
        unit *u = newest_.pop();
        return u ? u : behind_.pop();
    }
    bool has_work() noexcept override { return !newest_.is_empty() || !behind_.is_empty(); }

private:
    pool::stack<unit> newest_;
    pool::mpmc_fifo<unit> behind_;
};

} // namespace

policy *make_lifo(const comity_scheduler_attr_t &, int &error) noexcept {
    return or_no_memory(new (std::nothrow) lifo, error);
}

} // namespace comity::scheduler
