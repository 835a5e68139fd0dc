// The children of a scheduler that want harts. They take turns.
#pragma once

#include "core/sched.hpp"
#include "core/spinlock.hpp"

#include <atomic>

namespace comity::core {

class child_list {
public:
    // The child asked for harts. Any hart; the child cannot end meanwhile.
    void add(sched *child) noexcept {
        lock_.lock();
        if (!child->listed) {
            child->listed = true;
            child->next_wanting = first_;
            first_ = child;
            count_.store(count_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
        }
        lock_.unlock();
    }

    // A child that is to be entered now, or null.
    sched *pick() noexcept {
        if (empty()) return nullptr;
        lock_.lock();
        sched *found = nullptr;
        while (first_ && !found) {
            sched *child = first_;
            if (child->reserve()) found = child;
            if (!found || sched::wanted_of(child->account.load(std::memory_order_relaxed)) == 0) take_out(&first_);
        }
        lock_.unlock();
        return found;
    }

    // The child ends.
    void forget(sched *child) noexcept {
        lock_.lock();
        for (sched **at = &first_; *at; at = &(*at)->next_wanting)
            if (*at == child) {
                take_out(at);
                break;
            }
        lock_.unlock();
    }

    bool empty() const noexcept { return count_.load(std::memory_order_relaxed) == 0; }

private:
    void take_out(sched **at) noexcept {
        sched *child = *at;
        *at = child->next_wanting;
        child->listed = false;
        count_.store(count_.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
    }

    spinlock lock_;
    sched *first_ = nullptr;              // under lock_, as are the links
    std::atomic<std::uint32_t> count_{0}; // written under lock_
};

} // namespace comity::core
