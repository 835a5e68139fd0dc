// Schedulers of units: the seam between what can be started (thread, fork) and what decides when. Neither knows the
// other. A unit that was started and stopped is a context, which its scheduler keeps by context::next.
#pragma once

#include "core/sched.hpp"
#include "core/spinlock.hpp"
#include "core/unit.hpp"
#include "pool/deque.hpp"
#include "sys/linked_list.hpp"
#include "sys/own_count.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>

struct comity_pool;

namespace comity {

struct unit_scheduler;

namespace core {

struct unit_hooks {
    // A fresh unit of the calling hart, for whose order the deque is not. False: no memory.
    bool (*push)(unit_scheduler *self, unit *u) noexcept;
    // There is a new unit, and harts that do not know of it.
    void (*call_help)(unit_scheduler *self) noexcept;
    // What the hart does next; on the transition context.
    void (*next)(unit_scheduler *self, carrier *k) noexcept;
    // `c` lets the context that runs `what` (context::runs) go on, and stands behind others. False: it is not among
    // those that the calling hart would go on with. Switches. May be null: the scheduler cannot look for one.
    bool (*yield_to)(unit_scheduler *self, context *c, const void *what) noexcept = nullptr;
    // As yield_units, but a fresh unit of the hart's begins first, if there is one. May be null.
    void (*yield_to_fresh)(unit_scheduler *self, context *c) noexcept = nullptr;
    // The context, which is off its stack, may go on, best on the hart with this number. May be null.
    void (*put_on)(unit_scheduler *self, context *c, unsigned hart) noexcept = nullptr;
    // A fresh unit from somebody who works for another scheduler, and may hold no hart; null: it is in one of the
    // scheduler's pools already. The scheduler lives meanwhile. May be null.
    void (*accept)(unit_scheduler *self, unit *u) noexcept = nullptr;
    // Does it run what stands in this pool? Any thread; the scheduler lives meanwhile. Null where accept is.
    bool (*takes_from)(unit_scheduler *self, const comity_pool *pool) noexcept = nullptr;
    // The hart has taken from its own queues as often as it may before it looks beyond them. True: a look has found
    // nothing there, so it may go on so. False: the scheduler's loop has to look. May be null.
    bool (*sees_nothing_beyond)(unit_scheduler *self, carrier *k) noexcept = nullptr;
    // The next three where units run by descent (unit_scheduler::quota). The calling context has created u, which is
    // `tracked`: shall u run at once, and the context wait?
    bool (*goes_first)(unit_scheduler *self, const unit *u, const context *creator) noexcept = nullptr;
    // It does: u is about to run on the calling hart, and the context is off its stack.
    void (*gives_way)(unit_scheduler *self, context *creator, unit *u) noexcept = nullptr;
    // u is about to end, or could not start, and is `tracked`. Any thread.
    void (*ends)(unit_scheduler *self, unit *u) noexcept = nullptr;
    // Does anything wait for a hart of the scheduler's? Any thread; the scheduler lives meanwhile. May be null.
    bool (*has_waiting)(unit_scheduler *self) noexcept = nullptr;
    // In the child of a fork, on the one hart that it has there: what waits never goes on, nor is it waited for. So
    // many units live. May be null.
    void (*forget_all)(unit_scheduler *self, unsigned living) noexcept = nullptr;
};

} // namespace core

// A set of harts, by their numbers.
class hart_set {
public:
    static constexpr unsigned most = 1024;
    bool has(unsigned hart) const noexcept { return hart < most && (words_[hart / 64] >> (hart % 64) & 1) != 0; }
    void add(unsigned hart) noexcept { words_[hart / 64] |= std::uint64_t{1} << (hart % 64); }

private:
    std::uint64_t words_[most / 64] = {};
};

// A scheduler that takes units. Its sched::hooks->units is not null.
struct unit_scheduler : core::sched {
    // So often a hart takes from its own queues before it looks beyond them.
    static constexpr unsigned turns_at_home = 16;
    // What a hart has of the scheduler.
    struct alignas(64) slot {
        slot(unit_scheduler *s, unsigned n, bool shared) : owner(s), hart(n), fresh(shared) {}
        unit_scheduler *const owner;
        const unsigned hart;     // its number
        void *cache = nullptr;   // what the layer of threads keeps for the hart; null: not known here. The hart's
        pool::deque<unit> fresh; // units that have not started, and parents that started a child first
        // How many units were created and how many have ended on this hart; written by the hart. For the end of the
        // scheduler: it may end when the sums agree, with `ended` read first.
        std::atomic<std::uint64_t> created{0}, ended{0};
        std::atomic<unsigned> turns{0}; // how often the hart chose what to run; written by it
        unsigned ready_turn = 0;        // at which turn a context that was ready went on; the hart's
        std::uint64_t entered_at = 0;   // ticks; the hart's
        unsigned wait_us = 1;           // how long the hart waits before it looks into an order again; the hart's
        static constexpr unsigned least_patience_us = 100;
        unsigned patience_us = least_patience_us; // for how long it leaves contexts of other harts to them; the hart's
        std::uint64_t took_at = 0; // ticks: when it took one, if it has not looked for one since; the hart's
        // By descent: how many bytes the hart's thread may still allocate; the hart's.
        std::atomic<std::int64_t> allowance{0};
        alignas(64) core::spinlock lock;
        sys::counted_list<core::context> ready; // may go on; under lock; size, empty: anybody
        // How many of these have an affinity: not every hart may take them. Written under lock.
        sys::own_count<std::uint32_t> kept;
        // Is the hart in the scheduler or below it? Written by whoever holds the hart ("Affinity":
        // src/scheduler/README.md).
        std::atomic<bool> here{false};

        // The newest fresh unit, if this function runs it; else null, and it stays.
        [[gnu::always_inline]] unit *pop_if_run_by(void (*run)(unit *, core::carrier *) noexcept) noexcept {
            return fresh.take_if([run](const unit *u) { return u->run == run; });
        }
        [[gnu::always_inline]] unsigned take_turn() noexcept {
            const unsigned turn = turns.load(std::memory_order_relaxed) + 1;
            turns.store(turn, std::memory_order_relaxed);
            return turn;
        }
        // The next turn; 0: it is one to look beyond the own queues. The scheduler's loop alone counts those, or it
        // would miss them.
        [[gnu::always_inline]] unsigned take_turn_at_home() noexcept {
            const unsigned turn = turns.load(std::memory_order_relaxed) + 1;
            if (turn % turns_at_home == 0) return 0;
            turns.store(turn, std::memory_order_relaxed);
            return turn;
        }
        // The same for several turns. False: one of them is to look beyond the own queues, and the ones before it are
        // counted.
        [[gnu::always_inline]] bool take_turns_at_home(unsigned n) noexcept {
            const unsigned before = turns.load(std::memory_order_relaxed), last = before | (turns_at_home - 1);
            turns.store(n <= last - before ? before + n : last, std::memory_order_relaxed);
            return n <= last - before;
        }
        // A context that was ready goes on.
        [[gnu::always_inline]] void note_ready() noexcept { ready_turn = turns.load(std::memory_order_relaxed); }
        // At this turn: has none gone on for long?
        bool owes_ready(unsigned turn) const noexcept { return turn - ready_turn >= 4; }
        // True: less than nothing is left of the allowance.
        bool spend(std::size_t bytes) noexcept {
            const std::int64_t left = allowance.load(std::memory_order_relaxed) -
                                      static_cast<std::int64_t>(bytes < INT64_MAX / 2 ? bytes : INT64_MAX / 2);
            allowance.store(left, std::memory_order_relaxed);
            return left < 0;
        }
        void add_created() noexcept { sys::add_one(created); }
        void add_ended() noexcept { sys::add_one(ended); } // release[unit-ended]
    };
    slot *slots = nullptr; // one for each hart, and one for those who have none
    unsigned harts = 0;    // how many there are
    // At most so many shall be in the scheduler and below it, at least 1; written by the scheduler's contexts. As the
    // account of a scheduler that has them: what asked for one more is above, too.
    std::atomic<std::uint64_t> full_account{0};
    unsigned most() const noexcept { return harts_of(full_account.load(std::memory_order_relaxed)); }
    // Are units run in an order of the scheduler's, so that also what could go on at once waits its turn? A hint.
    std::atomic<bool> ordered{false};
    bool keeps_order() const noexcept { return ordered.load(std::memory_order_relaxed); }
    // Are they run by who created whom? Then units are to be tracked, and so many bytes are each one's quota; else 0.
    // A hint.
    std::atomic<std::int64_t> quota{0};
    bool goes_by_descent() const noexcept { return quota.load(std::memory_order_relaxed) != 0; }
    // The harts that may run the thread whose function this context executes; null: any. Itself null, and nobody asks,
    // until a thread with an affinity is created in the scheduler.
    using affinity_function = const hart_set *(*)(const core::context *) noexcept;
    std::atomic<affinity_function> affinity{nullptr};
    bool has_affinities() const noexcept { return affinity.load(std::memory_order_relaxed) != nullptr; }
    const hart_set *affinity_of(const core::context *c) const noexcept {
        const affinity_function ask = affinity.load(std::memory_order_relaxed);
        // Where there is one hart every set is that one, and its list has no lock: nobody else may put anything there.
        return ask && !alone() ? ask(c) : nullptr;
    }
    // May the context of one of its threads, or of who opened it, which neither ends nor waits, go on without a hart,
    // on a kernel thread of its own? `slice` as in sched_hooks::displaced. In a signal handler on its carrier. Whoever
    // sets it, having opened the scheduler, brings such contexts back (core/promotion). Null: none may.
    using lets_go_function = bool (*)(const core::context *, const sys::interruption *slice) noexcept;
    std::atomic<lets_go_function> lets_go{nullptr};
    bool implicit = false; // opened for the first thread that its registrant created, who may not know of it

    // There is one hart: what only harts touch has no rival.
    bool alone() const noexcept { return harts == 1; }

    // A fresh unit for the scheduler, on the calling hart, whose slot it is. False: no memory for its queue.
    [[gnu::always_inline]] bool push(slot &own, unit *u) noexcept {
        return push_parent(own, u) || hooks->units->push(this, u);
    }
    // A context that waits while a child of its runs first, by its own unit; also such a unit is fresh where the newest
    // goes first. False: it is to be made ready instead.
    [[gnu::always_inline]] bool push_parent(slot &own, unit *u) noexcept {
        if (!own.fresh.push(u)) [[unlikely]]
            return false;
        // Without a fence: the work is not lost if a hart leaves at this moment, the calling one will come to it, or
        // tell when it gives way.
        if (could_use_harts()) [[unlikely]]
            hooks->units->call_help(this);
        return true;
    }
    // Not as many harts as may be are here, and none is wanted yet?
    bool could_use_harts() const noexcept {
        return account.load(std::memory_order_relaxed) < full_account.load(std::memory_order_relaxed);
    }
    // A unit that lives was created and has not ended; only a unit that lives, or the registrant, creates others. So
    // when the sum of those that ended, read first, equals the sum of those created, none lived in between. The
    // registrant, or a hart of the scheduler.
    bool all_ended() const noexcept {
        std::uint64_t made = 0, gone = 0;
        for (unsigned i = 0; i < harts; ++i)
            gone += slots[i].ended.load(std::memory_order_acquire); // acquire[unit-ended]
        for (unsigned i = 0; i < harts; ++i) made += slots[i].created.load(std::memory_order_relaxed);
        return made == gone;
    }
};

// What the carrier's hart has of the unit scheduler that is current on it; null where none is, or it carries no hart.
inline unit_scheduler::slot *work_of(const core::carrier *k) noexcept {
    return static_cast<unit_scheduler::slot *>(k->work);
}

// The scheduler that a thread gets which is created where no unit scheduler is current: registered by the calling
// context, and ended by it again with end_default_scheduler. Made by the scheduler layer. open: null when there is no
// memory. Both may switch.
unit_scheduler *open_default_scheduler() noexcept;
void end_default_scheduler(unit_scheduler *s) noexcept;
// `c`, which runs in it, lets others run, if there are any. Made by the scheduler layer, too; not one of the hooks,
// since a call through those is a twentieth of the whole way. May switch.
void yield_units(unit_scheduler *s, core::context *c) noexcept;

} // namespace comity
