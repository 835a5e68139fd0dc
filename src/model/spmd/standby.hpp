// Ranks that stand by: each waits for something that the other ranks of its region do soon, and its hart looks for that
// whenever it could run another rank. So nobody wakes them, and they stay where they are. README.md, "Standing by".
#pragma once

#include "core/context.hpp"
#include "core/spinlock.hpp"
#include "model/spmd/team.hpp"
#include "sys/fence.hpp"
#include "sys/linked_list.hpp"

#include <cstdint>

namespace comity::spmd {

class standby_list {
public:
    bool empty() const noexcept { return list_.empty(); }

    // The hart's own: the rank is off its stack. Afterwards it may go on at once. True: what it waits for had happened,
    // and nobody who looked before may have seen it here.
    bool push(standby &s) noexcept {
        lock_.lock();
        list_.push_back(&s);
        sys::store_load_fence(std::memory_order_seq_cst); // seq_cst[team-leave], as call_for_standbys
        const bool is_over = s.over(s.arg);
        lock_.unlock();
        return is_over;
    }
    // Takes the first one out; null: there is none.
    standby *pop() noexcept {
        return pop_if([](const standby *) { return true; });
    }
    // The first one for which what it waits for has happened, and that is wanted(context).
    template <class Wanted> standby *pop_over(Wanted wanted) noexcept {
        return pop_if([&](const standby *s) { return is_over(*s, wanted); });
    }
    // Is there such a one? If so, a number that changes whenever one is taken out; else 0, also while others are here.
    template <class Wanted> std::uint32_t find_over(Wanted wanted) noexcept {
        if (empty() || !lock_.try_lock()) return 0;
        const bool found = list_.find_if([&](const standby *s) { return is_over(*s, wanted); }) != nullptr;
        const std::uint32_t number = found ? taken_ + 1U : 0;
        lock_.unlock();
        return number;
    }

    // Around a fork, as for core::child_list.
    void before_fork() noexcept { lock_.lock(); }
    void after_fork() noexcept { lock_.unlock(); }
    void drop_after_fork() noexcept {
        list_.clear();
        lock_.unlock();
    }

private:
    template <class Wanted> static bool is_over(const standby &s, Wanted &wanted) noexcept {
        return s.over(s.arg) && wanted(s.who);
    }
    template <class Wanted> standby *pop_if(Wanted wanted) noexcept {
        if (empty()) return nullptr;
        lock_.lock();
        standby *const s = list_.take_if(wanted);
        if (s) ++taken_;
        lock_.unlock();
        return s;
    }

    // First, so that the others lie in its padding: a hart's slot has 24 bytes for all.
    [[no_unique_address]] sys::counted_list<standby> list_; // under lock_; empty: anybody
    core::spinlock lock_;
    std::uint16_t taken_ = 0; // under lock_: how many have been taken out
};

} // namespace comity::spmd
