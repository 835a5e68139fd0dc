// The children of a scheduler that want harts. They take turns: the newest stands first, the oldest is picked. So a
// child that comes and goes, as a nested region does, touches no line of another one's, and only who has nothing else
// to do walks.
#pragma once

#include "core/sched.hpp"
#include "core/spinlock.hpp"
#include "sys/own_count.hpp"

#include <atomic>

namespace comity::core {

class child_list {
public:
    // The child asked for harts. Any hart; the child cannot end meanwhile.
    COMITY_SHARED void add(sched *child) noexcept;
    // A child that is to be entered now, or null.
    sched *pick() noexcept { return empty() ? nullptr : pick_oldest(); }
    // The child ends. Afterwards nobody looks at it: pick reserves under the same lock.
    COMITY_SHARED void forget(sched *child) noexcept;

    bool empty() const noexcept { return count_.get() == 0; }
    // Does anybody else want harts? A hint.
    bool has_others(const sched *child) const noexcept { return count_.get() > (is_listed(child) ? 1U : 0U); }
    // The child may have got what it wanted.
    void drop_if_content(sched *child) noexcept;
    // Does a child want harts and have none?
    bool starves() noexcept { return !empty() && one_starves(); }

    // Around a fork: nobody changes the list, which is as it was afterwards.
    void before_fork() noexcept { lock_.lock(); }
    void after_fork() noexcept { lock_.unlock(); }
    // Instead of after_fork, in the child of the fork: an empty list, in which none of them stands.
    void drop_after_fork() noexcept;

private:
    static bool is_listed(const sched *child) noexcept { return child->listed.load(std::memory_order_relaxed); }
    COMITY_SHARED sched *pick_oldest() noexcept;
    bool one_starves() noexcept;
    void put_first(sched *child) noexcept;
    void take_out(sched *child) noexcept;

    spinlock lock_;
    sys::own_count<std::uint32_t> count_; // written under lock_
    sched *first_ = nullptr;              // under lock_, as are the links
};

} // namespace comity::core
