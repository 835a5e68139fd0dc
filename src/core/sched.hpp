// The tree of schedulers (Pan, figure 5-6).
#pragma once

#include "comity/core.h"
#include "core/carrier.hpp"

#include <atomic>
#include <cstdint>

namespace comity::sys {
struct interruption;
}

namespace comity::core {

struct sched;

struct unit_hooks; // pool/unit.hpp

enum class fork_stage : std::uint8_t { before, parent, child };

// What Comity's own schedulers tell the layers above beyond the seven callbacks. Others have none.
struct sched_hooks {
    // Is there anything else that the calling hart could run for this scheduler? A waiting context then blocks at once
    // instead of spinning.
    bool (*other_work)(sched *self) noexcept;
    // Stops the calling context and goes on with another one of this scheduler on the same hart, without the detour
    // over the transition context; after(arg) runs when the caller is off its stack. False: there is none. May be null.
    bool (*switch_to_other)(sched *self, context *from, arch::after_fn after, void *arg) noexcept;
    // unblock for a list (by context::next) of contexts of this scheduler.
    void (*unblock_all)(sched *self, context *first) noexcept;
    const unit_hooks *units = nullptr; // schedulers of units
    // Lets others of this scheduler run on the hart of the calling context; false: there are none. May switch.
    bool (*yield)(sched *self, context *c) noexcept = nullptr;
    // The context, which ran on the calling hart and was stopped, is about to be promoted; false: it cannot be.
    // `slice`: where it was stopped at the end of a time slice, anywhere; null: in a loop or a sleep outside Comity's
    // code.
    bool (*displaced)(sched *self, context *c, const sys::interruption *slice) noexcept = nullptr;
    // What the carrier's hart has of the scheduler, for carrier::work; null: nothing.
    void *(*work_of)(sched *self, const carrier *k) noexcept = nullptr;
    // The thread of the program whose native context registered the scheduler ends, and has not unregistered it. May
    // switch. Null: the hart is lost.
    void (*registrant_ends)(sched *self) noexcept = nullptr;
    // Around a fork by a context below the scheduler: nobody else changes its queues from `before` to `parent` or, in
    // the child, to `child`, where no other hart is left. May be null.
    void (*around_fork)(sched *self, fork_stage stage, const carrier *k) noexcept = nullptr;
    // Does a context of this scheduler that is woken stay with the hart that woke it, for a while at least? Null: no.
    bool (*keeps_woken)(const sched *self) noexcept = nullptr;
    // A hart that is in the scheduler or below it waits in place, and does not come to what is queued for it: another
    // one is called. Any code on that hart; never switches. Null: nothing stands in a hart's own queue.
    void (*hart_is_held)(sched *self) noexcept = nullptr;
};

// Lives in the 128 bytes of comity_sched.
struct alignas(64) sched {
    const comity_sched_callbacks_t *callbacks;
    sched *parent;
    context *registrant; // the context that registered it, and must unregister it
    std::uint64_t magic;
    const sched_hooks *hooks; // may be null
    sched *next_wanting;      // link in the parent's list of those that want harts (child_list), under its lock
    std::atomic<bool> listed; // in that list; written under its lock
    const comity_sched_callbacks_t *callbacks_of_program; // of one that the program has written: callbacks.hpp
    // Its own cache line, for what stands above is read by every hart, and this is written whenever one comes or goes.
    // One word, so that "take one of the wanted and count it in" cannot miss an unregister (README.md, "Unregister's
    // wait"):
    //   bits 0–14   pins: short borrowings by somebody who holds no hart of it; lowest, so that they count for nothing
    //               where whole words are compared
    //   bit  15     closing: the registrant waits for the last hart to leave
    //   bits 16–47  harts in this scheduler and below it
    //   bits 48–63  harts that it asked its parent for
    alignas(64) std::atomic<std::uint64_t> account;

    static constexpr std::uint64_t one_pin = 1, closing = std::uint64_t{1} << 15, one_hart = std::uint64_t{1} << 16,
                                   one_wanted = std::uint64_t{1} << 48;
    static std::uint32_t harts_of(std::uint64_t a) noexcept { return static_cast<std::uint32_t>(a >> 16); }
    static std::uint32_t wanted_of(std::uint64_t a) noexcept { return static_cast<std::uint32_t>(a >> 48); }
    static std::uint32_t pins_of(std::uint64_t a) noexcept { return static_cast<std::uint32_t>(a) & 0x7fff; }

    bool registered() const noexcept { return magic == registered_magic; }
    // Takes one of the wanted harts: from then on it counts as granted. False: it wants none.
    bool reserve() noexcept;
    // Raises what it wants to at least n, so that a parent's reserve succeeds.
    COMITY_SHARED void want(std::uint32_t n) noexcept;
    void want_none() noexcept;
    // Keeps the scheduler from ending during a few instructions; to be taken while it certainly exists.
    void pin() noexcept { account.fetch_add(one_pin, std::memory_order_acq_rel); }   // acq_rel[account]
    void unpin() noexcept { account.fetch_sub(one_pin, std::memory_order_acq_rel); } // acq_rel[account]

    static constexpr std::uint64_t registered_magic = 0x636f6d6974790001; // "comity", 1
};
static_assert(sizeof(sched) <= sizeof(comity_sched));

// Makes `s` the scheduler for which the carrier's hart works. The carrier holds one.
inline void become(carrier *k, sched *s) noexcept {
    k->current_sched = s;
    *k->work_slot = k->work = s->hooks && s->hooks->work_of ? s->hooks->work_of(s, k) : nullptr;
}

inline comity_sched_t *handle(sched *s) noexcept { return reinterpret_cast<comity_sched_t *>(s); }
inline sched *unwrap(comity_sched_t *s) noexcept { return reinterpret_cast<sched *>(s); }
inline context *unwrap(comity_context_t *c) noexcept { return static_cast<context *>(c); }

// What the C functions of the same names do, with the carrier at hand. enter: `child` is reserved.
COMITY_SHARED void register_sched(sched *s, const comity_sched_callbacks_t *callbacks) noexcept;
COMITY_SHARED void unregister_sched(const char *call) noexcept;
// For a registrant that lost its hart after it registered (promotion). It has given back nothing, so the harts in `s`
// are its own: those that are there have nothing to do, and are waited for.
COMITY_SHARED void unregister_without_hart(sched *s) noexcept;
// For the schedulers in which the carrier's hart is, the innermost first; null, or a carrier without a hart: none. In
// the child they have no other hart.
void schedulers_around_fork(const carrier *k, fork_stage stage) noexcept;
// Waits until nobody is in `s` but the caller, with `own` harts (0 or one_hart), and closes it.
void end_sched(sched *s, std::uint64_t own) noexcept;
[[noreturn]] COMITY_SHARED void enter(carrier *k, sched *child) noexcept;
[[noreturn]] COMITY_SHARED void yield(carrier *k) noexcept;
// Leaves the current scheduler, a root, although it has work, for somebody else who waits: it wants a hart again.
[[noreturn]] COMITY_SHARED void give_way(carrier *k) noexcept;
// Leaves the current scheduler if more than `most` (at least 1) harts are in it and below it; else returns.
// `leaves_work`: then one is wanted, so that a hart which stays looks again before it goes.
void leave_surplus(carrier *k, std::uint32_t most, bool leaves_work) noexcept;
[[noreturn]] COMITY_SHARED void block(carrier *k, context *c) noexcept;
COMITY_SHARED void unblock(context *c) noexcept;
// Lets other contexts of the caller's scheduler run on this hart; false: there are none, or it holds no hart, or
// threads of the program are starved of harts, for which those that yield to each other may wait. Any thread, any
// context. May switch.
COMITY_SHARED bool let_others_run() noexcept;
// May the native context of this adopted carrier go on, in `s` or a scheduler below it?
COMITY_SHARED bool home_ready(const carrier *k, const sched *s) noexcept;
// Then: it goes on, with the hart that `s`, the current scheduler, has here.
[[noreturn]] COMITY_SHARED void go_home(carrier *k, sched *s) noexcept;
// sched_hooks::unblock_all of a scheduler with lists: ready(list, n) gets those that any hart may run in one list, and
// each that runs on its own thread only, which cannot stand in a list that others take from, by itself.
template <class Ready> void unblock_in_lists(context *first, Ready ready) noexcept {
    context_list list;
    unsigned n = 0;
    for (context *next; first; first = next) {
        next = first->next;
        if (first->home) {
            ready(context_list(first), 1);
            continue;
        }
        list.push_back(first);
        ++n;
    }
    if (n) ready(list, n);
}
// unblock for a list (by context::next) of contexts of any schedulers.
COMITY_SHARED void unblock_all(context *first) noexcept;

} // namespace comity::core
