// The newest first. Who yields would be the newest himself and so never let anybody go first: those who yield stand
// behind all others, in the order in which they came. Whom others overtake has a turn all the same (others_turn.hpp).
#include "core/spinlock.hpp"
#include "scheduler/policy/others_turn.hpp"
#include "scheduler/policy/policy.hpp"
#include "sys/linked_list.hpp"
#include "sys/own_count.hpp"

#include <mutex>
#include <new>
#include <utility>

namespace comity::scheduler {

namespace {

class lifo : public policy {
public:
    lifo() noexcept : policy(COMITY_SCHEDULER_LIFO) {}

    bool push(unit *u, occasion why) noexcept override {
        const std::scoped_lock hold(lock_);
        if (why == occasion::yielded) {
            yielded_.push_back(u);
        } else {
            newest_.push_front(u);
        }
        ++waiting_;
        return true;
    }

    unit *pick() noexcept override {
        const std::scoped_lock hold(lock_);
        unit *u = others_.has_come() ? take_overtaken() : nullptr;
        if (!u) u = newest_.pop_front();
        if (!u) u = overtaken_.pop_front();
        if (!u) u = yielded_.pop_front();
        if (u) --waiting_;
        return u;
    }

    bool has_work() noexcept override { return waiting_.get() != 0; }

private:
    // By turns of those who have yielded and of the others. All others have had one before newer ones are among them.
    unit *take_overtaken() noexcept {
        owes_yielded_ = !owes_yielded_;
        if (!yielded_.empty() && owes_yielded_) return yielded_.pop_front();
        if (overtaken_.empty()) std::swap(newest_, overtaken_);
        return overtaken_.pop_front();
    }

    core::spinlock lock_;                       // of all below
    sys::linked_list<unit> newest_, overtaken_; // the newest ones first; who is overtaken is older than the others
    sys::linked_list<unit> yielded_;
    bool owes_yielded_ = false;
    others_turn others_;
    sys::own_count<unsigned> waiting_; // a hint for those who have not the lock
};

} // namespace

policy *make_lifo(const comity_scheduler_attr_t &, int &error) noexcept {
    return or_no_memory(new (std::nothrow) lifo, error);
}

} // namespace comity::scheduler
