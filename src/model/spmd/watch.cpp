#include "model/spmd/watch.hpp"

#include "core/base.hpp"
#include "core/displacement.hpp"
#include "core/promotion.hpp"
#include "core/runtime.hpp"
#include "core/timer.hpp"
#include "model/spmd/team_impl.hpp"
#include "sys/clock.hpp"
#include "sys/message.hpp"
#include "sys/options.hpp"
#include "sys/process.hpp"

namespace comity::spmd {

using core::base;

namespace {

// So often the watch looks before it decides that a region stands still, and before it ends for want of regions that
// have ranks waiting.
constexpr unsigned looks = 5;
// And so often before it takes ranks that wait while the harts do something all the time, but none of these has a turn.
constexpr unsigned looks_below = 20 * looks;

core::spinlock teams_lock;
team *teams = nullptr;             // by team::next_known, under teams_lock
std::atomic<bool> watching{false}; // whoever sets it has quiet and next_look
unsigned quiet = 0;                // looks in a row that found nothing to watch; the watch's
unsigned idle = 0;                 // looks in a row that found nobody waiting; the watch's
core::timer next_look;

std::int64_t stall_ns() noexcept { return std::int64_t{sys::get_options().stall_ms} * 1'000'000; }

// What a look has found: does any rank wait; does any region run; do some wait that cannot be promoted?
struct findings {
    bool waiting = false, running = false, stuck = false;
};

// Under teams_lock: takes ranks that wait in regions which stand still, at most `most`.
unsigned take_stalled(member **out, unsigned most, findings &found) noexcept {
    unsigned n = 0;
    for (team *t = teams; t; t = t->next_known) {
        if (t->generation != core::generation()) continue;
        found.running = found.running || t->is_running();
        const unsigned turnless = t->looks_without_turn();
        const bool waiting = t->has_waiting(); // a master may wait for a hart when all others have ended
        if (!waiting && !t->master_waits_at_home()) continue;
        found.waiting = found.waiting || waiting;
        const unsigned still = t->looks_without_progress();
        if (still + 1 >= looks) t->stood_still_at_.store(sys::ticks(), std::memory_order_relaxed);
        if (!waiting || (still < looks && turnless < looks_below)) continue;
        while (n < most && (out[n] = t->take_waiting())) ++n;
        if (n < most && t->has_waiting()) found.stuck = true; // no rank of Comity's
    }
    return n;
}

void look(core::timer *) noexcept;

// `watching` is the caller's.
void arm_next_look(std::int64_t in_ns) noexcept {
    next_look.at = sys::deadline_in(in_ns);
    next_look.serve = look;
    if (!core::arm(next_look)) watching.store(false, std::memory_order_release); // release[watching]; no kernel thread
}

void look(core::timer *) noexcept {
    constexpr unsigned batch = 64;
    member *waiting[batch];
    findings found;
    for (unsigned n = batch; n == batch;) {
        teams_lock.lock();
        n = take_stalled(waiting, batch, found);
        teams_lock.unlock();
        for (unsigned i = 0; i < n; ++i)
            waiting[i]->of->promote_member(waiting[i]); // their regions do not end before they do
    }
    const bool harts_missing = base().waited_for_long(stall_ns()) || found.stuck;
    if (core::look_after_homes({core::watcher::regions, looks, harts_missing}).home || base().waited_for())
        found.waiting = true;
    quiet = found.waiting || found.running ? 0 : quiet + 1;
    idle = found.waiting ? 0 : idle + 1;
    if (found.waiting) return arm_next_look(stall_ns() / looks);
    if (quiet < looks) return arm_next_look(stall_ns() / looks * (idle <= 2 ? 2 : idle <= 4 ? 4 : 8));
    quiet = idle = 0;
    watching.store(false, std::memory_order_release); // release[watching]
    // A region that began meanwhile sees that nobody watches, or we see its ranks.
    std::atomic_thread_fence(std::memory_order_seq_cst); // seq_cst[team-present]
    teams_lock.lock();
    for (team *t = teams; t && !found.waiting; t = t->next_known)
        found.waiting = t->generation == core::generation() && (t->has_waiting() || t->has_promoted());
    teams_lock.unlock();
    if (found.waiting) keep_watch();
}

// The child of a fork has no region that goes on. Nobody looks any more if the parent did at that moment: the timers'
// heap, which nobody changes meanwhile, does not have the next look. The handlers are registered after the core's, so
// the list's lock is taken before the teams' own ones (team::around_fork), as a look takes them.
void before_fork() noexcept { teams_lock.lock(); }
void parent_after_fork() noexcept { teams_lock.unlock(); }
void child_after_fork() noexcept {
    teams_lock.unlock();
    if (!core::is_armed_in_child(next_look)) watching.store(false, std::memory_order_relaxed);
    quiet = idle = 0;
}

__attribute__((constructor)) void watch_forks() noexcept {
    if (!sys::at_fork(before_fork, parent_after_fork, child_after_fork))
        sys::warn("no memory to prepare for fork: a child process must not open parallel regions");
    core::base_scheduler::on_long_wait(keep_watch);
}

} // namespace

void enlist(team *t) noexcept {
    teams_lock.lock();
    t->next_known = teams;
    t->previous_known = nullptr;
    if (teams) teams->previous_known = t;
    teams = t;
    teams_lock.unlock();
}

void delist(team *t) noexcept {
    teams_lock.lock();
    (t->previous_known ? t->previous_known->next_known : teams) = t->next_known;
    if (t->next_known) t->next_known->previous_known = t->previous_known;
    teams_lock.unlock();
}

void keep_watch() noexcept {
    if (watching.load(std::memory_order_relaxed) || sys::get_options().stall_ms == 0) return;
    if (!watching.exchange(true, std::memory_order_acquire)) arm_next_look(stall_ns() / looks); // acquire[watching]
}

// ---- What the watch asks a team, under the lock of the list

bool team::has_waiting() noexcept { return !ready_.empty() || (is_running() && has_ranks()) || has_late_standbys(); }

namespace {

constexpr std::uint64_t mix(std::uint64_t sum, std::uint64_t n) noexcept { return (sum ^ n) * 0x9e3779b97f4a7c15; }

} // namespace

// Changes with whatever becomes of ranks here: they are taken up, become ready, end.
std::uint64_t team::turns() const noexcept {
    std::uint64_t sum = mix(unfinished_.load(std::memory_order_relaxed), ready_.size());
    for (unsigned i = 0; i < base().hart_count(); ++i) sum = mix(sum, slots_[i].range.load(std::memory_order_relaxed));
    return sum;
}

// Changes with whatever the harts in the team do, but for computing.
std::uint64_t team::progress() const noexcept {
    const unsigned harts = base().hart_count();
    std::uint64_t sum = turns();
    bool here = false;
    for (unsigned i = 0; i < harts; ++i) here = here || slots_[i].present.load(std::memory_order_relaxed);
    // Where all are in teams below this one, what those do counts.
    for (unsigned i = 0; i < harts; ++i) {
        const carrier *k = base().harts()[i].worker.load(std::memory_order_acquire); // acquire[worker]
        if (k && (!here || slots_[i].present.load(std::memory_order_relaxed))) sum = mix(sum, k->count.switches.get());
    }
    const carrier *home = master_home_.load(std::memory_order_acquire); // acquire[team-home]
    return home ? mix(sum, home->count.switches.get()) : sum;
}

bool team::master_waits_at_home() const noexcept {
    const carrier *home = master_home_.load(std::memory_order_acquire); // acquire[team-home]
    return is_running() && home && home->home.load(std::memory_order_relaxed) == carrier::home_state::ready;
}

unsigned team::looks_without_progress() noexcept {
    const std::uint64_t now = progress();
    still_ = now == last_progress_ ? still_ + 1 : 0;
    last_progress_ = now;
    return still_;
}

// Of ranks that take turns another one is the first to go on now and then.
unsigned team::looks_without_turn() noexcept {
    ready_lock_.lock();
    const auto first = reinterpret_cast<std::uintptr_t>(ready_.first());
    ready_lock_.unlock();
    const std::uint64_t now = mix(turns(), first);
    const bool waits = is_running() && (first != 0 || has_ranks());
    turnless_ = waits && now == last_turn_ ? turnless_ + 1 : 0;
    last_turn_ = now;
    return turnless_;
}

// A rank that has not started, or one that could go on; null: none that could do so on a kernel thread of its own.
member *team::take_waiting() noexcept {
    if (!core::can_promote()) return warn_of_standstill();
    member *m = nullptr;
    for (unsigned i = 0; i < base().hart_count() && !m; ++i) {
        std::uint64_t r = 0;
        if (const int rank = take_spread(slots_[i], r); rank >= 0) {
            m = members_[rank];
            break;
        }
        r = slots_[i].range.load(std::memory_order_acquire); // acquire[team-ranks]
        while (!(r & slot::spread) && slot::begin(r) < slot::end(r) && !m) {
            const std::uint32_t last = slot::end(r) - 1;
            if (slots_[i].range.compare_exchange_weak(r, slot::part(r, slot::begin(r), last),
                                                      std::memory_order_acq_rel,  // acq_rel[team-ranks]
                                                      std::memory_order_acquire)) // acquire[team-ranks]
                m = members_[last];
        }
    }
    if (!m) m = take_ready_member();
    return m ? m : take_late_standby();
}

// The member whose context this is, of this team or, if it is the master here, of the one around in which it is a
// rank; null: it cannot be promoted. While a region runs that the context is in.
member *team::promotable_member(const context *c) noexcept {
    if (c->owner != this || !core::promotable(c)) return nullptr;
    const core::sched *s = around_masters(c);
    if (s->hooks != &team_hooks) return nullptr;
    const auto *t = static_cast<const team *>(s);
    for (unsigned i = 1; i < t->capacity; ++i)
        if (t->members_[i]->c == c) return t->members_[i];
    return nullptr;
}

bool team::may_be_displaced(context *c) noexcept {
    if (member *m = c->home ? nullptr : promotable_member(c)) return note_promotion(m), true;
    // Who has opened this region and all around it: a thread of the program, in no scheduler or in one that lets it go,
    // or such a one's user-level thread.
    core::sched *around = around_masters(c);
    if (around == &base()) return c->home != nullptr;
    if (around->hooks == &team_hooks || !around->hooks->displaced || !around->hooks->displaced(around, c, nullptr))
        return false;
    if (!c->home) (void)core::stay_promoted(c, true); // until the outermost region is over
    return true;
}

// The innermost scheduler around that is not the team of a region which the context has opened.
core::sched *team::around_masters(const context *c) noexcept {
    core::sched *s = this;
    while (s->hooks == &team_hooks && static_cast<const team *>(s)->master == c) s = s->parent;
    return s;
}

member *team::take_ready_member() noexcept {
    if (ready_.empty()) return nullptr;
    member *m = nullptr;
    ready_lock_.lock();
    (void)ready_.take_if([&](context *c) { return (m = promotable_member(c)) != nullptr; });
    ready_lock_.unlock();
    return m;
}

member *team::warn_of_standstill() noexcept {
    static std::atomic<bool> warned{false};
    if (!warned.exchange(true, std::memory_order_relaxed))
        sys::warn("a parallel region of more threads than harts makes no progress: its threads wait for each other "
                  "without a library call, and none can get a kernel thread of its own (%s)",
                  sys::get_options().tls == sys::tls_choice::glibc ? "COMITY_TLS=glibc" : "at a limit on threads?");
    return nullptr;
}

} // namespace comity::spmd
