// Inside a team: its data, and who may touch what. Protocols "Team start and join": README.md.
#pragma once

#include "core/child_list.hpp"
#include "core/sched.hpp"
#include "core/spinlock.hpp"
#include "model/spmd/scheduler.hpp"
#include "model/spmd/standby.hpp"
#include "model/spmd/team.hpp"
#include "sys/linked_list.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <type_traits>

namespace comity::spmd {

using core::carrier;
using core::context;
using core::context_list;

// A rank but 0: a context that runs the region's body again and again, parked in between.
struct member {
    team *of;
    unsigned rank;
    context *c;
    bool promoted = false; // in this region; written before it is, reset by the master
};

// What a hart has of a team: a range of ranks that nobody has taken up yet. Its owner takes from the front, others half
// from the back.
struct alignas(64) slot {
    // Bits 0-15 begin, 16-31 end, 32-57 which region (the low bits of its number), 58-60 its code (where pace_ has what
    // is known of it), 61-63 its kind. Empty when begin >= end, but see is_called.
    // Changed by compare-exchange: the master fills it at the start of a region, harts take ranks out. A hart that
    // steals marks its own, empty slot `stealing` before, so that the master leaves it alone until the booty is in.
    std::atomic<std::uint64_t> range{0};
    // A team that a rank on this hart has opened, and in the lowest bit, somebody looks at it. Set by the hart, cleared
    // by that team's master.
    std::atomic<std::uintptr_t> offer{0};
    static constexpr std::uintptr_t looked_at = 1;
    // The owner's: ranks that ended here and are not yet subtracted from unfinished_, whose turn it was last, how often
    // a rank here has yielded, whether the hart had waited for long enough to take ranks whatever is known of them,
    // whether its region's ranks are spread, the last region's argument, when (ticks) it came for ranks, and for how
    // long (ticks) it lingers until it looks at others' slots.
    alignas(64) std::uint32_t finished = 0;
    bool went_home = false;
    std::uint8_t yields = 0;
    bool insisted = false;
    bool is_spread = false;
    void *last_arg = nullptr;
    std::uint64_t came_at = 0;
    std::uint64_t look_pause = 0;
    std::uint8_t code = 0;         // its region's
    bool standbys_first = false;   // whose turn it is: of those who stand by here, or of those who are ready
    std::atomic<bool> naps{false}; // read by others, where cores are short
    standby_list standbys;
    // Written by the owner, read by masters at each start: the hart is in this team; it is in the team or below it,
    // and looks at all offers before it goes (of topmost teams); where it runs ranks of this team (places.cpp).
    alignas(64) std::atomic<bool> present{false};
    std::atomic<bool> inside{false};
    std::atomic<unsigned> place{0};
    bool is_dealt = false;       // the master's: the last deal gave it a rank
    std::uint8_t late_waits = 0; // the owner's: so many waits in a row found ranks standing by at another hart
    std::uint64_t missed_at = 0; // the owner's: ticks; a region waited while the hart napped
    std::uint64_t last_gang = 0; // the owner's: the call that it has come for

    void set_present(bool is) noexcept { set(present, is); }
    void set_inside(bool is) noexcept { set(inside, is); }
    void forget_lingering() noexcept {
        look_pause = 0;
        is_spread = false;
    }

    static constexpr std::uint64_t stealing = 0xffff; // empty, like every range with begin >= end
    static_assert(most_ranks < stealing);
    // The ranks are those of a gang, more than were dealt, one to each hart: a thief takes one at a time. In the word,
    // so that it is that of the ranks one takes.
    static constexpr std::uint64_t gang = std::uint64_t{1} << 63;
    // The ranks are so short that their hart has run them sooner than another one could help (team::is_brief).
    static constexpr std::uint64_t brief = std::uint64_t{1} << 62;
    // No hart was dealt more than one rank of the region: who ends one leaves the others to those who have them. In
    // team::call_: the slots from which the ranks of such a region were taken have them again.
    static constexpr std::uint64_t spread = std::uint64_t{1} << 61;

    static std::uint32_t begin(std::uint64_t r) noexcept { return static_cast<std::uint32_t>(r) & 0xffff; }
    static std::uint32_t end(std::uint64_t r) noexcept { return static_cast<std::uint32_t>(r >> 16) & 0xffff; }
    static std::uint32_t count(std::uint64_t r) noexcept { return begin(r) < end(r) ? end(r) - begin(r) : 0; }
    static bool is_empty(std::uint64_t r) noexcept { return r != stealing && begin(r) >= end(r); }
    // Other ranks of the same region as r's.
    static std::uint64_t part(std::uint64_t r, std::uint32_t b, std::uint32_t e) noexcept {
        return (r & ~std::uint64_t{0xffffffff}) | std::uint64_t{e} << 16 | b;
    }
    // How many regions later than that of `before` is that of `after`, modulo 2^26.
    static std::uint32_t regions_between(std::uint64_t before, std::uint64_t after) noexcept {
        return static_cast<std::uint32_t>((after >> 32) - (before >> 32)) & region_bits;
    }
    static constexpr std::uint32_t region_bits = 0x3ffffff;
    static std::uint64_t no_ranks_of(std::uint32_t region, std::uint8_t code) noexcept {
        return std::uint64_t{region & region_bits} << 32 | std::uint64_t{code} << 58;
    }
    static constexpr unsigned codes = 8;
    static std::uint8_t code_of(std::uint64_t r) noexcept { return r >> 58 & (codes - 1); }
    // The slot's last rank was the only one of a spread region before this one, whose ranks are dealt in the same way.
    static bool is_called(std::uint64_t r, std::uint64_t call) noexcept {
        return (r & call & spread) != 0 && is_spent(r) && regions_between(r, call) != 0;
    }
    // Its one rank, of a spread region, has been taken.
    static bool is_spent(std::uint64_t r) noexcept { return (r & spread) != 0 && end(r) != 0 && begin(r) == end(r); }
    // Others read it in each region: where it is so already its line is left alone.
    template <class T> static void set(std::atomic<T> &what, std::type_identity_t<T> to) noexcept {
        if (what.load(std::memory_order_relaxed) != to) what.store(to, std::memory_order_relaxed);
    }
};

static_assert(sizeof(slot) == 192);

void member_main(void *argument); // what a member's context runs

// The place of each rank, written by the master between regions and by the rank itself; and which hart it was dealt to
// the last time, the master's.
struct place_table {
    place_table *older;
    unsigned room;
    std::atomic<unsigned> ranks; // the region's
    std::atomic<unsigned> *of_rank() noexcept { return reinterpret_cast<std::atomic<unsigned> *>(this + 1); }
    unsigned *dealt_to() noexcept { return reinterpret_cast<unsigned *>(of_rank() + room); }
};

// Some rank is or was bound; never false again.
extern std::atomic<bool> ranks_are_bound;
// The carrier's kernel thread, the caller, goes to a place; 0: where its hart runs.
void run_at(carrier *k, unsigned place) noexcept;

class team : public core::sched {
public:
    static team *create(context *master) noexcept;
    void destroy() noexcept;

    // Makes members until there are `ranks`; returns how many ranks the team has.
    unsigned grow(unsigned ranks) noexcept;
    void run(body_fn body, void *arg, unsigned ranks, region_kind kind, const void *known_as) noexcept;
    void run_without_harts(body_fn body, void *arg, unsigned ranks) noexcept;
    void close() noexcept; // a root team that lingers: drives its harts out and unregisters it

    // Stops `from`, a rank on the calling hart, and goes on with another rank that can run here; after(arg) runs when
    // `from` is off its stack. False: there is none.
    bool switch_to_other(context *from, core::arch::after_fn after, void *arg) noexcept;
    // Lets others run in place of `c`, the calling rank; false when there are none.
    bool yield_to_others(context *c) noexcept;
    // Of the calling rank `c`, as in team.hpp.
    void give_way_to_master(context *c) noexcept;
    standby_end stand_by(context *c, standby &s) noexcept;
    void call_others() noexcept { call_hart(1); } // sched_hooks::hart_is_held
    void call_for_standbys(bool has_hart) noexcept {
        if (!crowded_.load(std::memory_order_relaxed)) return; // nobody stands by
        if (!has_hart && !registered()) return;                // run_without_harts
        if (!has_hart) pin();
        call_hart(1);
        if (!has_hart) unpin();
    }
    // Is there something for the hart: ready contexts, its thread's own computation, ranks to take up, children that
    // want harts?
    bool has_work(carrier *k) noexcept;
    // The hart goes on with that rank: its kernel thread goes to the rank's place.
    void go_to_place(carrier *k, unsigned rank) noexcept {
        if (ranks_are_bound.load(std::memory_order_relaxed)) [[unlikely]]
            send(k, rank);
    }
    // The master goes on behind the region: his kernel thread goes back to where he is bound outside.
    static void return_to_place(context *master) noexcept {
        if (ranks_are_bound.load(std::memory_order_relaxed)) [[unlikely]]
            send_back(master);
    }
    void leave_places(carrier *k) noexcept {
        if (ranks_are_bound.load(std::memory_order_relaxed)) [[unlikely]]
            send_away(k);
    }
    // The thread's own computation is about to go on, as this team's master or in one below.
    void send_home(carrier *k) noexcept { k->native->owner == this ? go_to_place(k, 0) : leave_places(k); }
    unsigned rank_of(const context *c) const noexcept; // a rank of this team
    unsigned place_of(unsigned rank) const noexcept;
    place_table *make_table(unsigned ranks) noexcept;
    void send(carrier *k, unsigned rank) noexcept;
    void push_ready(context *c) noexcept { push_ready(context_list(c), 1); }
    void push_ready(context_list list, unsigned n) noexcept;
    void child_wants(core::sched *child) noexcept;
    void child_ends(core::sched *child) noexcept { children_.forget(child); }
    void around_fork(core::fork_stage stage, const carrier *k) noexcept; // sched_hooks::around_fork

    // The next thing for a hart in this team; on its transition context. child_first: a child that wants harts comes
    // before ready ranks.
    [[noreturn]] void step(carrier *k, bool child_first = false) noexcept;
    // The body of a rank has returned.
    void finish(member *m) noexcept;

    // watch.cpp, under the lock of its list. Do any ranks wait for a hart, or the master for its kernel thread? For how
    // many looks has nothing happened in the team? Takes a rank that waits, to be promoted; null: none that can be.
    bool is_running() const noexcept { return unfinished_.load(std::memory_order_relaxed) != 0; }
    bool has_waiting() noexcept;
    bool has_promoted() const noexcept { return is_running() && any_promoted_.load(std::memory_order_relaxed); }
    bool master_waits_at_home() const noexcept;
    unsigned looks_without_progress() noexcept;
    // For how many has no rank here had its turn, while some wait?
    unsigned looks_without_turn() noexcept;
    member *take_waiting() noexcept;
    void promote_member(member *m) noexcept;
    // The context, on the calling hart, is about to be promoted; false: it cannot be.
    bool may_be_displaced(context *c) noexcept;

    // ---- In lines by who writes them, and when. The master's:
    alignas(64) std::uint32_t regions_ = 0;             // how many there were
    std::uint32_t sharers_ = 2;                         // harts that would share one, as far as is known; 2 or more
    std::uint32_t dealt_region_ = 0;                    // the last that was dealt or called
    unsigned dealt_ranks_ = 0, dealt_by_ = 0;           // so many ranks are in the slots marked is_dealt, one in each,
                                                        // by a deal of this hart; 0: they are not
    unsigned below_ = 0;                                // so many teams are around it,
    bool is_below_ = false;                             // from the topmost of which it is found
    bool is_brief_region = false;                       // what its ranks do is not worth another hart's coming
    std::uint8_t code_ = 0;                             // where pace_ has what is known of the region
    bool busy = false;                                  // a region runs
    team *top_ = nullptr;                               // the topmost team, or itself
    std::atomic<std::uintptr_t> *offered_at_ = nullptr; // slot::offer in the team around; null: not offered

    // Hardly ever changed; the harts read it in each region.
    alignas(64) context *master = nullptr;
    slot *slots_ = nullptr;      // one for each hart
    member **members_ = nullptr; // [1, capacity)
    unsigned capacity = 1;
    unsigned last_size = 0;       // the region's ranks
    unsigned room_ = 0;           // of members_
    std::uint32_t generation = 0; // of the process: members do not survive a fork
    unsigned renewals = 0;        // of the master's storage, as the team was made
    bool lingering = false;       // a root team, which stays registered between its regions
    bool is_guest = false;        // below a scheduler that is neither a team nor the base
    bool is_hot = true;           // it is kept for the next region (COMITY_HOT_TEAMS)
    bool is_tree = true;          // ranks are dealt in halves and counted for each hart (COMITY_TEAM_TREE)
    // The carrier that the master is bound to, or null; the same for the whole region. For the watch: context::home may
    // change when the region has just ended.
    std::atomic<const carrier *> master_home_{nullptr};

    // Changed by each hart in each region: ranks but 0 that have not ended, and master_waiting.
    alignas(64) std::atomic<std::uint32_t> unfinished_{0};

    // What a region is, and its call: slot::spread if its ranks are dealt as those before, slot::gang if idle harts are
    // to come for a gang's, and then its number. Idle harts look at it all the time, so the master writes only what
    // changes.
    alignas(64) body_fn body_ = nullptr;
    void *arg_ = nullptr;
    std::atomic<std::uint64_t> call_{0};

    // Looked at by harts without work.
    alignas(64) std::atomic<bool> draining_{false}; // idle harts must leave
    std::atomic<bool> is_gang_{false};              // the last region was one; written by the master
    std::atomic<bool> mixed_{false};                // a thief has put ranks into another slot since the last deal
    std::atomic<bool> bound_{false};                // its ranks have places; written by the master between regions
    std::atomic<bool> crowded_{false};              // the last region had more ranks than harts; by the master
    std::atomic<place_table *> places_{nullptr};    // made by the master, or by a rank that binds itself
    std::atomic<unsigned> entered_at_{0};           // the slot of the hart that the master had at the region's begin
    core::spinlock ready_lock_;
    sys::counted_list<context> ready_; // under ready_lock_; size, empty: anybody
    core::child_list children_;
    // How long a rank took lately where a hart came for it (note_pace), by the regions' code; and what it takes until
    // another hart has a rank and its end is known here. Ticks.
    static constexpr std::uint32_t longest_pace = 64; // times hand_over_: what takes longer is no different
    std::atomic<std::uint32_t> pace_[slot::codes];
    std::uint32_t hand_over_ = 0;
    std::atomic<bool> any_promoted_{false};        // in this region
    bool has_states_ = false;                      // some member has kernel state of its own; the master's
    std::atomic<std::uint64_t> stood_still_at_{0}; // ticks: the watch's last look that found it nearly so
    // How often ranks of a nested team do not give way to the master, and how often they did not the last time: it was
    // in vain. By who opens a barrier.
    std::atomic<std::uint8_t> give_way_pauses_{0}, give_way_pause_{0};
    std::uint64_t last_progress_ = 0, last_turn_ = 0;      // the watch's
    unsigned still_ = 0, turnless_ = 0;                    // the watch's: looks for which they have been so
    team *next_known = nullptr, *previous_known = nullptr; // in the watch's list
    team *deeper = nullptr;                                // the hot team of the same master, one level further in
    const context *survivor_ = nullptr; // in the child of a fork in the region: the rank that is there

private:
    friend void member_main(void *);
    void set_body(body_fn body, void *arg) noexcept;
    void note_home(const context *c) noexcept;
    bool may_resume_master(const carrier *k) const noexcept;
    void enter_region(carrier *k) noexcept;
    void run_own_rank(unsigned ranks) noexcept;
    void leave_region(carrier *k) noexcept;
    void distribute(carrier *k, unsigned ranks, region_kind kind) noexcept;
    void ask_for_harts(unsigned ranks, std::uint32_t most) noexcept;
    void call_hart(unsigned n) noexcept;
    void call_next(const slot &own) noexcept;
    bool calls_for_children() const noexcept;
    bool offer(const carrier *k) noexcept;
    bool all_inside() const noexcept;
    void take_offer_back() noexcept;
    bool look_at_offers(const carrier *k, bool calls, std::uint64_t *what = nullptr) noexcept;
    void join(context *c) noexcept;
    void join_without_hart() noexcept;
    void leave_without_hart() noexcept;
    void run_gang_members(carrier *k, unsigned ranks) noexcept;
    unsigned ranks_left() const noexcept;
    unsigned harts_that_come(unsigned wanted) noexcept;
    static void note_promotion(member *m) noexcept; // prepared
    static void place_promoted(const member *m) noexcept;
    void await_promoted(unsigned ranks) noexcept;
    void note_state(const member *m) noexcept;
    // Are all ranks but the master's promoted from the begin?
    bool runs_on_threads(const void *code, unsigned ranks, region_kind kind) noexcept;
    void promote_all(unsigned ranks) noexcept;
    void note_standstill(const void *code, unsigned ranks) noexcept;
    std::uint64_t turns() const noexcept;
    std::uint64_t progress() const noexcept;
    member *promotable_member(const context *c) noexcept;
    core::sched *around_masters(const context *c) noexcept;
    member *take_ready_member() noexcept;
    bool has_late_standbys() noexcept;
    member *take_late_standby() noexcept;
    static member *warn_of_standstill() noexcept;
    static void promoted_ends(void *argument);
    std::uint32_t ranks_in(std::uint64_t r) const noexcept;
    std::uint32_t ranks_in(const slot &s) const noexcept { return ranks_in(s.range.load(std::memory_order_relaxed)); }
    int take_spread(slot &from, std::uint64_t &word) noexcept;
    void call_nobody() noexcept;
    std::uint64_t latest_region(const slot &s) const noexcept;
    bool deals_as_before(unsigned by, unsigned ranks) const noexcept;
    unsigned deal(unsigned by, unsigned ranks, std::uint64_t none, bool is_gang) noexcept;
    unsigned deal_by_place(unsigned by, unsigned ranks, std::uint64_t none) noexcept;
    static bool takes_a_deal(const slot &s, std::uint64_t none) noexcept;
    slot *hart_for(unsigned by, unsigned begin, std::uint64_t none) noexcept;
    bool has_ranks() const noexcept;
    bool has_calls(carrier *k) noexcept;
    bool each_has_a_hart(const carrier *k) const noexcept;
    enum class outcome : std::uint8_t { leave, look, insist };
    outcome linger(carrier *k) noexcept;
    bool nap_if_cores_are_short(carrier *k, std::uint64_t now) noexcept;
    std::uint64_t left_by_others(const carrier *k, std::uint64_t &sum) noexcept;
    std::atomic<std::uint32_t> &pace() noexcept { return pace_[code_]; } // the master's
    // So many ranks besides one, which take `each`, are done sooner by the hart that has them all than if the harts
    // that are here shared them: what that saves is less than what it takes to hand them over, to one hart after the
    // other.
    bool is_brief(std::uint64_t each, std::uint32_t ranks) const noexcept {
        const std::uint32_t harts = std::min(sharers_, ranks + 1), share = (ranks + harts) / harts;
        return each * (ranks + 1 - share) < std::uint64_t{hand_over_} * (harts + 1) / 3;
    }
    bool is_brief(std::uint32_t ranks) noexcept { return is_brief(pace().load(std::memory_order_relaxed), ranks); }
    void note_pace(slot &own, std::uint32_t ended) noexcept;
    team *around() const noexcept;      // null: another scheduler
    bool is_outermost() const noexcept; // no other team is above it
    bool is_bound() const noexcept { return bound_.load(std::memory_order_relaxed); }
    void send_away(carrier *k) noexcept;
    static void send_back(context *c) noexcept;
    void free_tables() noexcept;
    bool may_take(const carrier *k, unsigned rank) const noexcept;
    std::uint32_t first_at_place(std::uint32_t b, std::uint32_t e) const noexcept;
    bool take_place(carrier *k) noexcept;
    bool has_ranks_for(const carrier *k) const noexcept;
    bool has_ready_for(const carrier *k) noexcept;
    bool home_below(const carrier *k) const noexcept;
    int claim(carrier *k, bool insists) noexcept;
    int claim_own(carrier *k) noexcept;
    int steal(carrier *k, bool insists) noexcept;
    int steal_from(slot &victim, slot &own, std::uint64_t &word) noexcept;
    context *pop_ready(carrier *k) noexcept;
    context *pop_woken(carrier *k) noexcept;
    context *pop_standby(carrier *k, standby_end how) noexcept;
    std::uint64_t find_late_standby(const carrier *k) noexcept;
    bool has_own_standby(const carrier *k) noexcept;
    bool may_take_standby(const carrier *k, const context *c) const noexcept;
    context *take_late_standby(carrier *k, standby &patience) noexcept;
    context *take_late_standby(carrier *k) noexcept;
    void enter_child(carrier *k) noexcept;
    void forget_others(const carrier *k) noexcept;
    bool switch_to_ready(context *from, core::arch::after_fn after, void *arg) noexcept;
    void switch_to_member(context *from, unsigned rank, core::arch::after_fn after, void *arg) noexcept;
    [[noreturn]] void resume_member(carrier *k, unsigned rank) noexcept;
    bool flush(carrier *k) noexcept;
    void resume_master(carrier *k) noexcept;

    static void master_waits(void *t) noexcept;
    static void master_parks(context *c, void *t);
    static void member_parks(context *c, void *t);

    static constexpr std::uint32_t master_waiting = 0x80000000;
};

// Of the regions that the context has opened itself; null: none runs.
team *innermost_running(const context *c) noexcept;
// The team of which the context, below scheduler `s`, is a rank; null: none. Who has lost its hart is below none; it
// may have opened regions, and is a rank of another's if it was promoted.
team *team_of(const context *c, core::sched *s) noexcept;
// The same of a caller that is what runs, or null.
inline team *team_around(const context *c) noexcept {
    return c && c->on ? team_of(c, c->on->carried ? c->on->current_sched : nullptr) : nullptr;
}

} // namespace comity::spmd
