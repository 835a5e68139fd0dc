// What the constructs call for a tool. With no tool attached a construct pays for on(), which is one look at a variable
// that nobody writes. README.md.
#pragma once

#include <atomic>
#include <cstdint>

#include "personality/openmp/ompt/abi.hpp"

namespace comity::openmp {
struct task;
struct team;
struct thread;
struct dependence_list;
class word_lock;
class nest_lock;
} // namespace comity::openmp

namespace comity::openmp::ompt {

// `pending` until the process uses OpenMP for the first time; then it stays as it is until the tool is finalized.
enum class search : std::uint8_t { none, pending, attached };
extern std::atomic<search> found;

bool settle() noexcept; // what on() does when the answer may be yes

// Is a tool attached? The first call in the process looks for one, and makes the caller an initial thread.
inline bool on() noexcept {
    return __builtin_expect(found.load(std::memory_order_relaxed) != search::none, 0) && settle();
}

// Where the program called the runtime: its return address, and the frame of the call.
struct call_site {
    const void *caller = nullptr;
    void *frame = nullptr;
};
#define COMITY_OMPT_HERE                                                                                               \
    ::comity::openmp::ompt::call_site { __builtin_return_address(0), __builtin_dwarf_cfa() }

template <class Watched, class Plain>
[[gnu::noinline, gnu::cold]] auto choose(Watched watched, Plain plain, call_site at) noexcept {
    return settle() ? watched(at) : plain();
}
// watched(at) with a tool, else plain(). Everything about the former is out of the latter's way, so an entry that is
// this alone pays for one look. Both are copied: they shall hold values.
template <class Watched, class Plain>
[[gnu::always_inline]] inline auto either(Watched watched, Plain plain, call_site at) noexcept {
    if (__builtin_expect(found.load(std::memory_order_relaxed) != search::none, 0)) return choose(watched, plain, at);
    return plain();
}
// watched(at), if there is a tool: as the last thing that an entry does.
template <class Watched> [[gnu::always_inline]] inline void tell_last(Watched watched, call_site at) noexcept {
    either(
        watched, [] {}, at);
}

// All that follows may only be called while on() is true. Those that wait say so.

// The next event of the calling thread that has a call site has this one.
void note(call_site at) noexcept;

// ---- Threads and regions

void root_begins(thread *t) noexcept; // looks for a tool, too: the only one that may be called before on()
void root_ends(thread *t) noexcept;

// `sections`: combined with them, else if combined at all with a loop.
void region_begins(thread *parent, team *tm, unsigned requested, bool sections, call_site at) noexcept;
void region_ends(thread *parent, team *tm) noexcept;                 // by rank 0, after the join
void implicit_task_begins(thread *t) noexcept;                       // by each rank
void call(thread *t, void (*function)(void *), void *data) noexcept; // the current task's code; switches if that does
void implicit_task_waits(thread *t) noexcept;                        // the region's code has returned
void implicit_task_ends(thread *t) noexcept;

// A league, from its opener's league_begins to league_ends.
struct league_region {
    tool_data data{};
    thread *opener = nullptr;
    unsigned teams = 0;
    bool has_regions = false; // abi_traits::teams_have_regions
    const void *caller = nullptr;
};
void league_begins(league_region &l, call_site at) noexcept; // by the opener; the rest is filled in
void league_ends(league_region &l) noexcept;
// Executes a team on its initial thread, which has its numbers, and reports it. Switches if the team does.
void run_team(thread *t, league_region &l, void (*function)(void *), void *data) noexcept;

// A target region on the host, of which gcc's code goes through the teams of a league by itself: run_target executes it
// on the initial thread that it has for itself. Team t->team_number of t->teams begins, the first one with the league,
// and ends.
void run_target(thread *encountering, void (*function)(void *), void *data) noexcept;
void target_team_begins(thread *t, call_site at) noexcept;
void target_team_ends(thread *t) noexcept;

// A region of one rank whose code the program calls: by its rank, before that code and after the region.
void serial_region_begins(thread *t, call_site at) noexcept;
void serial_region_ends(thread *t) noexcept;

// ---- Synchronization

// From its construction to its end the calling thread's task is in the runtime, and reports that place.
class inside {
public:
    explicit inside(call_site at) noexcept;
    ~inside();
    inside(const inside &) = delete;
    inside &operator=(const inside &) = delete;

private:
    task *task_;
    void *before_;
};

void sync_region(sync_kind kind, endpoint which, const void *caller) noexcept;
void sync_wait(sync_kind kind, endpoint which, const void *caller) noexcept;
// Reports the region and the wait around wait(), whose result it gives back. May switch.
template <class F> auto synchronize(sync_kind kind, call_site at, F wait) noexcept {
    struct region {
        sync_kind kind;
        call_site at;
        inside in;
        region(sync_kind k, call_site p) noexcept : kind(k), at(p), in(p) {
            sync_region(kind, endpoint::begin, at.caller);
            sync_wait(kind, endpoint::begin, at.caller);
        }
        ~region() {
            sync_wait(kind, endpoint::end, at.caller);
            sync_region(kind, endpoint::end, at.caller);
        }
    } around(kind, at);
    return wait();
}

void acquire(mutex_kind kind, const void *what, unsigned hint,
             call_site at) noexcept; // it may have to wait from here on
void acquired(mutex_kind kind, const void *what, call_site at) noexcept;
void released(mutex_kind kind, const void *what, call_site at) noexcept;
template <class F> void enter_ordered(const void *what, call_site at, F wait) noexcept {
    const inside in(at);
    acquire(mutex_kind::ordered, what, 0, at);
    wait();
    acquired(mutex_kind::ordered, what, at);
}
void lock_made(mutex_kind kind, const void *what, unsigned hint, call_site at) noexcept;
void lock_destroyed(mutex_kind kind, const word_lock &l, const void *what, call_site at) noexcept;
void lock(word_lock &l, mutex_kind kind, unsigned hint, call_site at) noexcept; // waits
int test(word_lock &l, call_site at) noexcept;
void unlock(word_lock &l, mutex_kind kind, call_site at) noexcept;
void set(nest_lock &l, const void *variable, call_site at) noexcept; // waits
int test(nest_lock &l, const void *variable, call_site at) noexcept;
void unset(nest_lock &l, const void *variable, call_site at) noexcept;

void flush(call_site at) noexcept;
void reduction(endpoint which, call_site at) noexcept;

// ---- Worksharing

void work(work_kind kind, endpoint which, std::uint64_t count, call_site at) noexcept;
void single(bool executes, call_site at) noexcept; // its begin, and for the others its end
void masked(endpoint which, call_site at) noexcept;
void chunk(dispatch_kind kind, std::uint64_t start, std::uint64_t iterations) noexcept;
void cancelled(int flags, call_site at) noexcept;
// One endpoint of doacross: the iteration's vector.
void iteration(depend_kind kind, unsigned dimensions, const std::int64_t *values) noexcept;

// ---- Tasks

// What is known of a task stands behind it, before its data; of an implicit one, elsewhere.
extern std::size_t task_room; // 0: no tool

void task_made(task *made, unsigned flags) noexcept; // it has its memory; the flags are the core's (task_flag)
void task_created(thread *t, task *made, bool undeferred, const dependence_list &depend) noexcept;
void task_begins(thread *t, task *what) noexcept;                                        // over the current one
void task_ends(thread *t, task *what, task_status how = task_status::complete) noexcept; // its body has returned
task_status end_of(const thread *t, const task *what) noexcept;                          // complete or cancel
// A task whose body the program calls itself: around it.
void undeferred_begins(thread *t, task *what, call_site at) noexcept;
void undeferred_ends(thread *t, task *what) noexcept;
void task_discarded(task *what) noexcept;
void task_fulfilled(task *what) noexcept; // its event, before it is
void detached_ends(task *what) noexcept;  // by who finds that the body has run and the event is fulfilled
// `later` waits for `earlier`; null: what dependent_wait reports does.
void task_waits_for(task *earlier, task *later) noexcept;
void yields(bool begin) noexcept; // taskyield
template <class F> void yield(call_site at, F switches) noexcept {
    const inside in(at);
    yields(true);
    switches();
    yields(false);
}
// The end of a taskgroup, which waits.
template <class F> void end_taskgroup(call_site at, F wait) noexcept {
    const inside in(at);
    sync_wait(sync_kind::taskgroup, endpoint::begin, at.caller);
    wait();
    sync_wait(sync_kind::taskgroup, endpoint::end, at.caller);
    sync_region(sync_kind::taskgroup, endpoint::end, at.caller);
}
// taskwait with depend, and if(0) with depend: a task that is made, waits and is done. Switches.
void dependent_wait(thread *t, const dependence_list &depend, call_site at) noexcept;

// ---- The rest

void error(bool fatal, const char *text, std::size_t length, call_site at) noexcept;
int control(int command, int modifier, void *argument,
            call_site at) noexcept; // omp_control_tool's result; also without tool

} // namespace comity::openmp::ompt
