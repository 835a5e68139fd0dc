// The newest first. Who yields would be the newest himself and so never let anybody go first: those who yield stand
// behind all others, in the order in which they came. Whom others overtake has a turn all the same (others_turn.hpp).
#include "core/spinlock.hpp"
#include "scheduler/policy/others_turn.hpp"
#include "scheduler/policy/policy.hpp"

#include <atomic>
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
            u->next = nullptr;
            (yielded_ ? last_yielded_->next : yielded_) = u;
            last_yielded_ = u;
        } else {
            u->next = std::exchange(newest_, u);
        }
        waiting_.store(waiting_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
        return true;
    }

    unit *pick() noexcept override {
        const std::scoped_lock hold(lock_);
        unit *u = others_.has_come() ? take_overtaken() : nullptr;
        if (!u) u = take(newest_);
        if (!u) u = take(overtaken_);
        if (!u) u = take(yielded_);
        if (u) waiting_.store(waiting_.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
        return u;
    }

    bool has_work() noexcept override { return waiting_.load(std::memory_order_relaxed) != 0; }

private:
    static unit *take(unit *&first) noexcept { return first ? std::exchange(first, first->next) : nullptr; }

    // By turns of those who have yielded and of the others. All others have had one before newer ones are among them.
    unit *take_overtaken() noexcept {
        owes_yielded_ = !owes_yielded_;
        if (yielded_ && owes_yielded_) return take(yielded_);
        if (!overtaken_) std::swap(newest_, overtaken_);
        return take(overtaken_);
    }

    core::spinlock lock_;                           // of all below, which are lists by unit::next
    unit *newest_ = nullptr, *overtaken_ = nullptr; // the newest ones first; who is overtaken is older than the others
    unit *yielded_ = nullptr, *last_yielded_ = nullptr;
    bool owes_yielded_ = false;
    others_turn others_;
    std::atomic<unsigned> waiting_{0}; // a hint for those who have not the lock
};

} // namespace

policy *make_lifo(const comity_scheduler_attr_t &, int &error) noexcept {
    return or_no_memory(new (std::nothrow) lifo, error);
}

} // namespace comity::scheduler
