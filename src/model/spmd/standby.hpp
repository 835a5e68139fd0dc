// Ranks that stand by: each waits for something that the other ranks of its region do soon, and its hart looks for that
// whenever it could run another rank. So nobody wakes them, and they stay where they are. README.md, "Standing by".
#pragma once

#include "core/context.hpp"
#include "core/spinlock.hpp"
#include "model/spmd/team.hpp"
#include "sys/fence.hpp"

#include <atomic>
#include <cstdint>

namespace comity::spmd {

class standby_list {
public:
    bool empty() const noexcept { return count_.load(std::memory_order_relaxed) == 0; }

    // The hart's own: the rank is off its stack. Afterwards it may go on at once. True: what it waits for had happened,
    // and nobody who looked before may have seen it here.
    bool push(standby &s) noexcept {
        s.next = nullptr;
        lock_.lock();
        (last_ ? last_->next : first_) = &s;
        last_ = &s;
        count(1);
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
        standby *before = nullptr;
        const bool found = find([&](const standby *s) { return is_over(*s, wanted); }, before) != nullptr;
        const std::uint32_t number = found ? taken_ + 1U : 0;
        lock_.unlock();
        return number;
    }

    // Around a fork, as for core::child_list.
    void before_fork() noexcept { lock_.lock(); }
    void after_fork() noexcept { lock_.unlock(); }
    void drop_after_fork() noexcept {
        first_ = last_ = nullptr;
        count_.store(0, std::memory_order_relaxed);
        lock_.unlock();
    }

private:
    template <class Wanted> static bool is_over(const standby &s, Wanted &wanted) noexcept {
        return s.over(s.arg) && wanted(s.who);
    }
    template <class Wanted> standby *find(Wanted wanted, standby *&before) const noexcept { // under lock_
        standby *s = first_;
        for (before = nullptr; s && !wanted(s); s = s->next) before = s;
        return s;
    }
    template <class Wanted> standby *pop_if(Wanted wanted) noexcept {
        if (empty()) return nullptr;
        lock_.lock();
        standby *before = nullptr;
        standby *const s = find(wanted, before);
        if (s) {
            (before ? before->next : first_) = s->next;
            if (last_ == s) last_ = before;
            ++taken_;
            count(-1U);
        }
        lock_.unlock();
        return s;
    }
    void count(std::uint32_t by) noexcept {
        count_.store(count_.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
    }

    core::spinlock lock_;
    std::uint16_t taken_ = 0;                    // under lock_: how many have been taken out
    std::atomic<std::uint32_t> count_{0};        // written under lock_
    standby *first_ = nullptr, *last_ = nullptr; // under lock_
};

} // namespace comity::spmd
