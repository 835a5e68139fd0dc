// Those who wait for the end of a barrier's phase, on one word: a stack of contexts and the phase that they are in.
// Protocol "Barrier": README.md.
#pragma once

#include "core/carrier.hpp"
#include "core/chaos.hpp"
#include "core/context.hpp"
#include "core/sched.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace comity::sync {

class crowd {
public:
    // The calling context, on a hart, waits for the end of `phase`, unless that is over. Switches.
    void wait(core::context *c, std::uint32_t phase) noexcept {
        waiting w{this, c, phase};
        core::sched *s = c->on->current_sched;
        const core::sched_hooks *hooks = s->hooks;
        if (hooks && hooks->switch_to_other && hooks->switch_to_other(s, c, left_behind, &w)) return;
        core::pause(c, park, &w);
    }
    // `phase` has begun: wakes those who are in earlier ones.
    void open(std::uint32_t phase) noexcept {
        std::uintptr_t head = head_.load(std::memory_order_relaxed);
        do
            if (lead(phase, head) <= 0) return;
        while (!head_.compare_exchange_weak(head, phase & tag, std::memory_order_acq_rel, // acq_rel[crowd]
                                            std::memory_order_relaxed));
        core::unblock_all(first_of(head));
    }

    bool empty() const noexcept { return !first_of(head_.load(std::memory_order_relaxed)); }

private:
    struct waiting {
        crowd *in;
        core::context *who;
        std::uint32_t phase;
    };
    // The lowest bits of a context's address, which are zero, hold those of the phase.
    static constexpr std::uintptr_t tag = alignof(core::context) - 1;
    static core::context *first_of(std::uintptr_t head) noexcept {
        return reinterpret_cast<core::context *>(head & ~tag);
    }
    // By how many phases `phase` is ahead of the word's.
    static int lead(std::uint32_t phase, std::uintptr_t head) noexcept {
        const int d = static_cast<int>((phase - head) & tag), all = static_cast<int>(tag) + 1;
        return d < all / 2 ? d : d - all;
    }
    // Off the context's stack. False: the phase is over, and what all did before they arrived is seen.
    bool push(core::context *c, std::uint32_t phase) noexcept {
        std::uintptr_t head = head_.load(std::memory_order_acquire), to = 0; // acquire[crowd]
        int ahead = 0;
        do {
            ahead = lead(phase, head);
            if (ahead < 0) return false;
            core::chaos_point();
            c->next = ahead == 0 ? first_of(head) : nullptr;
            to = reinterpret_cast<std::uintptr_t>(static_cast<void *>(c)) | (phase & tag);
        } while (!head_.compare_exchange_weak(head, to, std::memory_order_acq_rel, // acq_rel[crowd]
                                              std::memory_order_acquire));         // acquire[crowd]
        if (ahead > 0) core::unblock_all(first_of(head)); // whoever opened the phase has not been here yet
        return true;
    }
    // On the context that goes on instead.
    static void left_behind(void *argument) {
        const waiting w = *static_cast<waiting *>(argument);
        ++core::current_carrier()->count.blocks;
        if (!w.in->push(w.who, w.phase)) core::unblock(w.who);
    }
    // On the transition context.
    static void park(core::context *c, void *argument) {
        core::carrier *k = core::current_carrier();
        const waiting w = *static_cast<waiting *>(argument);
        if (w.in->push(c, w.phase)) core::block(k, c);
        core::resume(k, c);
    }

    std::atomic<std::uintptr_t> head_{0};
    [[maybe_unused]] std::byte apart_[56]; // the next crowd belongs to other harts
};

} // namespace comity::sync
