// Teams: the same function on n ranks at once (SPMD; Pan, section 6.1), kept hot between regions at every level of
// nesting (Iwasaki, section 4.3.1). A team is a scheduler in the tree; its ranks are full contexts, so thread-local
// storage, errno and exceptions are each rank's own. Ranks run on as many harts as the tree grants, at least on the
// caller's; they are not guaranteed to run at the same time unless the region is a gang.
#pragma once

#include "sys/cpu_set.hpp"
#include "sys/shared.hpp"

#include <cstddef>
#include <cstdint>

namespace comity::core {
struct context;
}

namespace comity::spmd {

class team;
class standby_list;

using body_fn = void (*)(void *arg, unsigned rank);

inline constexpr unsigned most_ranks = 0xfffe; // of a team: a rank is 16 bits, with one number left for a mark

// The calling context's hot team of the next level, made able to run `ranks` (>= 1) ranks. It may hold fewer: no more
// than most_ranks, and no more than there are contexts to be had (no memory or threads; one warning): size() says how
// many. Valid until the region ends or prepare is called again by this context. A thread that Comity did not make is
// adopted and gets a hart first. Null, which stands for one rank: the caller cannot be stopped (waits_in_place), as in a
// scheduler callback and a handler amid Comity's code. Any thread, or a context. May switch.
COMITY_SHARED team *prepare(unsigned ranks) noexcept;

COMITY_SHARED unsigned size(const team *t) noexcept;

enum class region_kind : unsigned char {
    cooperative, // ranks may take turns on a hart
    gang,        // ranks may wait for each other without telling Comity: those that no hart takes up at once
                 // run on kernel threads of their own. They must not mix both ways of waiting: a rank that has
                 // blocked in Comity may find every hart taken by ranks that spin for it
};

// Runs body(arg, r) for every r in [0, size): the caller is rank 0. Returns when all have returned. May switch; returns
// on the caller's own kernel thread if the caller is an adopted thread. `known_as`: what is known of earlier regions
// with the same one, such as how long their ranks took, is taken to hold for this one; null: with the same body.
COMITY_SHARED void run(team *t, body_fn body, void *arg, region_kind kind = region_kind::cooperative,
                       const void *known_as = nullptr) noexcept;

// The calling rank has let the other ranks of its region go on. If the master is one of them, and waits for the kernel
// thread that the caller is on, the only one on which it can run, it goes on there at once, and the caller wherever
// there is a hart for it. Nothing happens in a region with more ranks than harts, and seldom anything where none came
// lately. May switch.
COMITY_SHARED void give_way_to_master() noexcept;

// What a rank is that stands by; on its stack.
struct standby {
    bool (*over)(void *) noexcept; // has what it waits for happened? Reads atomics only; under a lock, on any hart
    void *arg;
    // spmd's:
    core::context *who = nullptr;
    standby *next = nullptr;
    standby_list *at = nullptr;
    bool in_vain = false;
    bool is_new = true;
    std::uint64_t seen = 0, looked = 0, look_pause = 0;
};

enum class standby_end : unsigned char {
    none,    // nothing else can run on the hart at present; the caller may ask again
    over,    // other ranks have run here; now over() is true, or was
    in_vain, // the hart goes elsewhere: the caller blocks in another way
    cannot,  // nor will the caller ever stand by here: it has no hart, or ranks of its region are bound
};

// The calling rank waits, in a region with more ranks than harts, for what its other ranks do soon, the same for which
// all others wait that stand by: they run on the hart meanwhile. Who makes over() true for ranks that stand by calls
// call_for_standbys afterwards. May switch.
COMITY_SHARED standby_end stand_by(standby &s) noexcept;
// The calling rank, with or without a hart, has made over() true: harts that have nothing to do come for those whose
// harts are with something else. Never switches.
COMITY_SHARED void call_for_standbys() noexcept;

// The caller has closed a region, and holds nothing of it any more. If the computation of the kernel thread that it is
// on may go on, which it can nowhere else, it does now: within regions no hart looks for that, and one might follow the
// other for ever. Others that are ready may run before. May switch.
COMITY_SHARED void let_thread_go_on() noexcept;

// Places to which ranks can be bound: sets of CPUs, which live as long as the process, looked up by numbers from 1;
// null: there is no such place. Any thread, once.
COMITY_SHARED void set_places(const sys::cpu_set *(*look_up)(unsigned place) noexcept) noexcept;
// places[r] is where rank r runs in t's next regions, 0 for anywhere; null: all anywhere, as when nothing is said.
// After prepare.
COMITY_SHARED void bind_ranks(team *t, const unsigned *places) noexcept;
// The calling rank runs there from now on, also in the team's next regions. False: the caller is none. May block for a
// while in the kernel, does not switch.
COMITY_SHARED bool bind_this_rank(unsigned place) noexcept;
// The calling thread of the program runs there outside Comity, from now on.
COMITY_SHARED void settle(unsigned place) noexcept;

// The stack of ranks made from now on, in bytes; 0: COMITY_STACK_SIZE. Any thread, not while regions run.
COMITY_SHARED void set_stack_size(std::size_t bytes) noexcept;

// How many harts the caller could have for a region right now: its own and those that nobody uses; stale at once. A
// thread of the program's is going to compute, in a region or alone, so from now on it keeps one, if there is one;
// where there is none, whoever asks next will not be offered its core a second time. Any thread. Neither switches nor
// waits.
COMITY_SHARED unsigned claim_harts() noexcept;

// How many harts are with somebody who computes, lingers, or sleeps outside Comity; stale at once. Any thread.
COMITY_SHARED unsigned busy_harts() noexcept;

// Calls watcher(harts) when an outermost region starts that may use so many harts (>= 2), and watcher(-harts) when it
// has ended, in the thread that runs it. The watcher must not switch, nor call Comity but for hints. There is one
// watcher in the process; nullptr: none. A region that runs when it is set may be reported by its end only. Any thread.
COMITY_SHARED void watch_regions(void (*watcher)(int harts)) noexcept;

// CPU time that Comity's own kernel threads have used so far, in nanoseconds. Any thread; a system call for each of
// them.
COMITY_SHARED std::int64_t workers_cpu_ns() noexcept;

} // namespace comity::spmd
