// Ranks that stand by: each waits for something that the other ranks of its region do soon, and its hart looks for that
// whenever it could run another rank. So nobody wakes them, and they stay where they are. README.md, "Standing by".
#pragma once

#include "core/context.hpp"
#include "core/spinlock.hpp"
#include "model/spmd/team.hpp"

#include <atomic>
#include <cstdint>

namespace comity::spmd {

class standby_list {
public:
    bool empty() const noexcept { return count_.load(std::memory_order_relaxed) == 0; }
    // The first one, if what it waits for has happened. Another hart may take it at once.
    const standby *first_over() noexcept {
        if (empty()) return nullptr;
        lock_.lock();
        const standby *s = first_ && first_->over(first_->arg) ? first_ : nullptr;
        lock_.unlock();
        return s;
    }
    bool has_over() noexcept { return first_over() != nullptr; }

    // The hart's own: the rank is off its stack.
    void push(standby &s) noexcept {
        s.next = nullptr;
        lock_.lock();
        (last_ ? last_->next : first_) = &s;
        last_ = &s;
        count(1);
        lock_.unlock();
    }
    // The first one, if what it waits for has happened (`only_over`); null: there is none.
    standby *pop(bool only_over) noexcept {
        if (empty()) return nullptr;
        lock_.lock();
        standby *s = first_;
        if (s && only_over && !s->over(s->arg)) s = nullptr;
        if (s) take_out(nullptr, s);
        lock_.unlock();
        return s;
    }
    // Takes out the first for which wanted(context) is true, if what it waits for has happened. All wait for the same,
    // or for what happens later than what those before them wait for.
    template <class Wanted> standby *pop_if(Wanted wanted) noexcept {
        if (empty()) return nullptr;
        standby *found = nullptr;
        lock_.lock();
        for (standby *s = first_, *before = nullptr; s && s->over(s->arg); before = s, s = s->next) {
            if (!wanted(s->who)) continue;
            take_out(before, s);
            found = s;
            break;
        }
        lock_.unlock();
        return found;
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
    void take_out(standby *before, const standby *s) noexcept {
        (before ? before->next : first_) = s->next;
        if (last_ == s) last_ = before;
        count(-1U);
    }
    void count(std::uint32_t by) noexcept {
        count_.store(count_.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
    }

    core::spinlock lock_;
    std::atomic<std::uint32_t> count_{0};         // written under lock_
    standby *first_ = nullptr, *last_ = nullptr; // under lock_
};

} // namespace comity::spmd
