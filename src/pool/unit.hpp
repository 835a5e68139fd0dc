// Units: what a scheduler sees of something that can be started. The thread layer makes them, a scheduler of units runs
// them, and neither knows the other. A unit that was started and stopped is a context, which its scheduler keeps by
// context::next.
#pragma once

#include "core/sched.hpp"

#include <atomic>
#include <cstdint>

namespace comity {

struct unit {
    // Starts the unit: on the carrier's transition context, in the scheduler that the unit was given to. Returns when
    // the unit has ended without ever having been stopped; else the hart comes back through the scheduler's block
    // callback or unit_hooks::next.
    void (*run)(unit *self, core::carrier *k) noexcept = nullptr;
    unit *next = nullptr;      // link, for whoever holds it: a pool, a list of free ones
    std::uint8_t priority = 0; // the higher, the sooner, in pools that go by it
};

// A scheduler that takes units. Its sched::hooks->units is not null.
struct unit_scheduler : core::sched {
    // How many units were started and how many have ended on each hart; each written by the hart. For the end of the
    // scheduler: it may end when the sums agree, with `ended` read first.
    struct alignas(64) tally {
        std::atomic<std::uint64_t> created{0}, ended{0};
        void add_created() noexcept {
            created.store(created.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
        }
        void add_ended() noexcept {
            const std::uint64_t before = ended.load(std::memory_order_relaxed);
            ended.store(before + 1, std::memory_order_release); // release[unit-ended]
        }
    };
    tally *tallies = nullptr; // one for each hart
    unsigned harts = 0;       // how many there are
    bool implicit = false;    // opened for the first thread that its registrant created, who may not know of it
    tally &own_tally(const core::carrier *k) const noexcept { return tallies[k->carried->id]; }

    // A unit that lives was created and has not ended; only a unit that lives, or the registrant, creates others. So
    // when the sum of those that ended, read first, equals the sum of those created, none lived in between. The
    // registrant, or a hart of the scheduler.
    bool all_ended() const noexcept {
        std::uint64_t made = 0, gone = 0;
        for (unsigned i = 0; i < harts; ++i)
            gone += tallies[i].ended.load(std::memory_order_acquire); // acquire[unit-ended]
        for (unsigned i = 0; i < harts; ++i) made += tallies[i].created.load(std::memory_order_relaxed);
        return made == gone;
    }
};

namespace core {

struct unit_hooks {
    // A fresh unit for the scheduler, which is current on the calling hart. False: no memory for its queue.
    bool (*push)(unit_scheduler *self, carrier *k, unit *u) noexcept;
    // Takes the unit back, if it is the newest one that the calling hart has not started.
    bool (*take_back)(unit_scheduler *self, carrier *k, const unit *u) noexcept;
    // Lets others run, if there are any. May switch.
    void (*yield)(unit_scheduler *self, context *c) noexcept;
    // What the hart does next; on the transition context.
    void (*next)(unit_scheduler *self, carrier *k) noexcept;
};

} // namespace core

// The unit scheduler that is current on the hart, or null.
inline unit_scheduler *current_unit_scheduler(const core::carrier *k) noexcept {
    core::sched *s = k->current_sched;
    return s && s->hooks && s->hooks->units ? static_cast<unit_scheduler *>(s) : nullptr;
}

// The scheduler that a thread gets which is created where no unit scheduler is current: registered by the calling
// context, and ended by it again with end_default_scheduler. Made by the scheduler layer. open: null when there is no
// memory. Both may switch.
unit_scheduler *open_default_scheduler() noexcept;
void end_default_scheduler(unit_scheduler *s) noexcept;

} // namespace comity
