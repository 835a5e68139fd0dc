#include "core/displacement.hpp"

#include "core/base.hpp"
#include "core/binding.hpp"
#include "core/callbacks.hpp"
#include "core/chaos.hpp"
#include "core/cpu_time.hpp"
#include "core/fork_gate.hpp"
#include "core/own_code.hpp"
#include "core/promotion.hpp"
#include "core/runtime.hpp"
#include "core/sched.hpp"
#include "core/spinlock.hpp"
#include "sys/c_library.hpp"
#include "sys/call_frames.hpp"
#include "sys/interruption.hpp"
#include "sys/kernel_thread.hpp"
#include "sys/loaded_objects.hpp"
#include "sys/process.hpp"

#include <algorithm>
#include <utility>

namespace comity::core {
namespace {

using state = displacement::state;

// Who runs for less between two looks sleeps in the kernel most of the time. It is interrupted only where that does not
// show (sleeping_call).
constexpr std::int64_t least_ran_ns = 1'000'000;

// A thread's own computation gives its hart away so many times later than others do: it is then the last one that can.
constexpr unsigned looks_at_own = 10;

constexpr unsigned most_protected = 16;
sys::address_range protected_code[most_protected]; // added to under protected_lock
std::atomic<unsigned> protected_count{0};
constexpr unsigned most_callers = 64;
std::uintptr_t callers[most_callers]; // added to under protected_lock
std::atomic<unsigned> caller_count{0};
spinlock protected_lock;
sys::address_range libraries_code[2]; // the C library's, and what the kernel puts into each process; set at the start

sys::address_range calling_code; // see note_code_that_calls; set when it is loaded

bool is_librarys(std::uintptr_t pc) noexcept {
    return libraries_code[0].contains(pc) || libraries_code[1].contains(pc);
}

// A loop is short, and stands at one depth of the stack.
bool same_loop(const displacement &d, const sys::interruption &i) noexcept {
    constexpr std::uintptr_t longest_loop = 256;
    return i.sp == d.sp && i.pc - d.pc + longest_loop < 2 * longest_loop;
}

// May the context, which runs, go on without the hart, as far as that can be told here? On its donor's kernel thread; a
// thread's own computation, which gives way to others only, where it is.
bool can_go(const carrier *k, const context *c, bool for_others) noexcept {
    if (!k->carried || k->settled || k->current != c || k->guest || !k->current_sched->hooks ||
        !k->current_sched->hooks->displaced)
        return false;
    if (c == k->native) return for_others;
    return promotable(c) && !is_promoted(c) &&
           (for_others || k->home.load(std::memory_order_relaxed) == carrier::home_state::ready);
}

// On the handler's stack.
struct leaving {
    bool was_asked; // the scheduler has said already that the context may go
};

// The thread goes on, and the hart moves on to its worker, within the scheduler.
[[noreturn]] void leave_to_worker(carrier *k, context *c) noexcept {
    hart *h = k->carried;
    sched *s = k->current_sched;
    if (!base().finds_worker(h) || !s->hooks->displaced(s, c, nullptr)) resume(k, c);
    if (!k->bound || !k->bound->place) unbind(k);
    k->carried = nullptr;
    become(k, &base());
    c->owner = nullptr;
    base().give(h, h->worker.load(std::memory_order_relaxed), s);
    resume(k, c);
}

// On the transition context; the displaced one is saved in the handler, and comes back to it, there or here.
void leave_to_donor(context *c, void *argument) {
    carrier *k = current_carrier();
    const leaving what = *static_cast<const leaving *>(argument);
    if (c == k->native) leave_to_worker(k, c);
    sched *s = k->current_sched;
    const bool lets_go =
        prepare_promotion(c) && (s->hooks->displaced(s, c, nullptr) || what.was_asked); // a team notes it
    if (!lets_go) resume(k, c);
    promote(c, nullptr, nullptr);
    block(k, c);
}

// Between a handler of the program's and the code that asks; deeper ones are not looked for.
constexpr unsigned frames_to_handler = 16;

// The handlers of a POSIX thread on a hart are called where its own code stands.
bool is_posix_thread(const context *c) noexcept {
    return program_is_on_harts.load(std::memory_order_relaxed) && c && c->owner && c->owner->hooks &&
           c->owner->hooks->units;
}

// May the innermost of Comity's functions there have something in hand? in_call: it makes a call for the program, in
// which it has not.
enum class amid_comity { no, in_call, yes };
amid_comity how_amid_comity(const sys::interruption &at) noexcept {
    if (is_protected_code(at.pc)) return amid_comity::yes;
    amid_comity how = amid_comity::no;
    sys::frame_place rest;
    const sys::frames_end end = sys::visit_call_frames(
        at,
        [](const sys::call_frame &f, void *argument) {
            if (!is_protected_code(f.code)) return true;
            auto &to = *static_cast<amid_comity *>(argument);
            if (calling_code.contains(f.code))
                to = amid_comity::in_call;
            else if (!is_caller_of_program(f.function))
                to = amid_comity::yes;
            return false;
        },
        &how, rest);
    const bool is_unknown = end == sys::frames_end::not_known || end == sys::frames_end::unwinds;
    return is_unknown ? amid_comity::yes : how;
}

// Does a handler of the program's run there that has itself interrupted Comity's code, which may hold a lock?
bool is_in_handler_amid_comity(const context *c, const sys::interruption &i) noexcept {
    sys::interruption by{};
    return !is_posix_thread(c) && sys::find_handler(i, by, frames_to_handler) &&
           how_amid_comity(by) == amid_comity::yes;
}

// In the handler.
bool may_leave(carrier *k, context *c, const sys::interruption &i, bool for_others, const time_slice &slice) noexcept {
    if (!can_go(k, c, for_others) || is_in_handler_amid_comity(c, i)) return false;
    if (!slice.of) return true;
    sched *s = k->current_sched;
    while (slice.overdue && s && s != slice.of) s = s->parent;
    return s == slice.of && s->hooks->displaced(s, c, &i);
}

// A thread's function that stands on this kernel thread for good, with the only hart: others may have that while
// it stands in the handler. In schedulers of units, where a hart keeps nothing that a stop of the function would
// change.
bool can_lend(const carrier *k, const context *c) noexcept {
    return base().hart_count() == 1 && k->carried && !k->settled && !k->guest && k->current == c && !on_transition(k) &&
           k->current_sched->hooks && k->current_sched->hooks->units;
}

// In the handler. Returns when the carrier has the hart again.
void lend_hart(carrier *k, context *c) noexcept {
    if (!can_lend(k, c) || !enter_fork_gate()) return;
    sched *s = k->current_sched;
    c->broken = true;  // its caller may be resumed meanwhile
    k->settled = true; // for handlers of the program's that come meanwhile
    const bool is_lent = base().lend(k);
    leave_fork_gate();
    if (is_lent) base().take_back_lent(k, s);
    k->settled = stays_in_handler;
}

// The context, which dozes with the hart, does not any more.
enum class dozed { not_at_all, undisturbed, recalled };
dozed end_doze(const context *c, hart *h) noexcept {
    const auto self = reinterpret_cast<std::uintptr_t>(c);
    for (std::uintptr_t found = h->dozer.load(std::memory_order_relaxed); (found & ~hart::recalled) == self;)
        if (h->dozer.compare_exchange_weak(found, 0, std::memory_order_acq_rel)) // acq_rel[dozer]
            return found & hart::recalled ? dozed::recalled : dozed::undisturbed;
    return dozed::not_at_all;
}

// Somebody needs the hart with which the context dozes: it looks for him, in place of one that was wanted.
bool is_recalled(const carrier *k, const context *c) noexcept {
    return k->carried &&
           k->carried->dozer.load(std::memory_order_relaxed) == (reinterpret_cast<std::uintptr_t>(c) | hart::recalled);
}
void give_up_dozing(carrier *k, context *c, const sys::interruption &i) noexcept {
    sched *s = k->current_sched;
    if (is_in_handler_amid_comity(c, i)) return stop_dozing();
    if (end_doze(c, k->carried) == dozed::not_at_all) return;
    if (s->reserve())
        base().content(s);
    else
        s->account.fetch_add(sched::one_hart, std::memory_order_acq_rel); // acq_rel[account]
    std::atomic_thread_fence(std::memory_order_seq_cst);                  // seq_cst[team-leave]: before it looks
    leaving what{true};
    sys::begin_move();
    const bool was_moved = std::exchange(c->self.is_moved, true);
    sys::open_signals(i);
    pause(c, leave_to_donor, &what);
    sys::end_move(i);
    sys::close_signals(i);
    c->self.is_moved = was_moved;
}

// Does it stand in the C library, which Comity's own code has called?
bool is_called_by_comity(const sys::interruption &i) noexcept {
    if (!is_librarys(i.pc)) return false;
    bool by_comity = false;
    sys::frame_place rest;
    (void)sys::visit_call_frames(
        i,
        [](const sys::call_frame &f, void *argument) {
            *static_cast<bool *>(argument) = is_protected_code(f.code);
            return is_librarys(f.code);
        },
        &by_comity, rest);
    return by_comity;
}

bool on_interruption(const sys::interruption &i) noexcept {
    context *c = current_context();
    if (!c || !c->on || sys::kernel_thread_id() != c->on->kernel_id) return false;
    carrier *k = c->on;
    if (is_recalled(k, c)) return give_up_dozing(k, c, i), true;
    displacement &d = k->displaced;
    switch (d.step.load(std::memory_order_acquire)) { // acquire[displacement]
    case state::asked:
        d.pc = i.pc;
        d.sp = i.sp;
        if (d.tells_call && !is_protected_code(i.pc)) d.call = sys::interrupted_call(i);
        if (d.tells_call) (void)sys::begin_anew(i, d.call);
        d.step.store(state::told, std::memory_order_release); // release[displacement]
        return true;
    case state::decided: {
        const sys::sleeping_call call = d.call;
        const bool for_others = d.for_others;
        const time_slice slice{.of = d.slice_of, .overdue = d.is_overdue};
        d.step.store(state::none, std::memory_order_release); // release[displacement]: the watch may write them again
        const bool is_loop = call.number < 0 && !slice.of;
        if (call.number >= 0 ? !sys::begin_anew(i, call) : is_loop && !same_loop(d, i)) return true;
        if (is_loop && is_called_by_comity(i)) return true;
        // Where it goes on it is entered into lists whose locks a fork holds.
        const bool leaves = may_leave(k, c, i, for_others, slice) && enter_fork_gate();
        const bool lends = for_others && !slice.of && can_lend(k, c) && !is_in_handler_amid_comity(c, i);
        if (!leaves && !lends && call.number < 0) return true;
        leaving what{slice.of && slice.of == k->current_sched};
        if (leaves || lends) stop_dozing(); // the watch may have seen it in this very call before
        if (leaves || lends) sys::begin_move();
        const bool was_moved = std::exchange(c->self.is_moved, true);
        sys::open_signals(i);
        if (leaves) pause(c, leave_to_donor, &what);
        if (leaves) leave_fork_gate();
        if (lends) lend_hart(c->on, c); // it is here still
        if (leaves || lends) sys::end_move(i);
        if (sys::has_rest(i, call)) { // in which it sleeps, as in the call itself
            c->self.is_moved = was_moved;
            sys::go_on_with(i, call);
            c->self.is_moved = true;
        }
        sys::close_signals(i);
        c->self.is_moved = was_moved;
        return true;
    }
    default:
        return false;
    }
}

bool start_interrupting() noexcept {
    libraries_code[0] = sys::object_around(sys::find_in_c_library("sched_yield"));
    libraries_code[1] = sys::kernels_object();
    return can_promote() && sys::take_interruptions(on_interruption);
}

// The thread runs: it is asked where, and then told to go if that is in the program's code.
void interrupt_running(carrier *k, bool for_others) noexcept {
    displacement &d = k->displaced;
    switch (d.step.load(std::memory_order_acquire)) { // acquire[displacement]
    case state::told:
        if (d.tells_call || is_protected_code(d.pc)) {
            d.call = {};
            d.tells_call = false;
            d.step.store(state::asked, std::memory_order_release); // release[displacement]
            break;
        }
        d.for_others = for_others;
        d.slice_of = nullptr;
        d.step.store(state::decided, std::memory_order_release); // release[displacement]
        break;
    case state::none:
        d.call = {};
        d.tells_call = false;
        // release[displacement]
        d.step.store(state::asked, std::memory_order_release);
        break;
    default:
        break; // the signal has not arrived: again
    }
    sys::interrupt_kernel_thread(k->kernel_id);
}

// The thread sleeps, and the kernel does not tell in which call: it is asked that itself, which it answers in the
// handler, and begins the call anew. One that is asleep again at the next look loses nothing. In a call that must not
// begin anew it stays, and is asked seldom.
void ask_sleeper(carrier *k, looks_seen &by, bool for_others) noexcept {
    constexpr unsigned longest_pause = 8; // 2^8 looks
    displacement &d = k->displaced;
    switch (d.step.load(std::memory_order_acquire)) { // acquire[displacement]
    case state::told:
        if (d.tells_call && d.call.number >= 0) {
            d.for_others = for_others;
            d.slice_of = nullptr;
            d.step.store(state::decided, std::memory_order_release); // release[displacement]
            break;
        }
        if (d.tells_call && by.pause == 0) by.pause = 1U << std::min(by.vain++, longest_pause);
        if (d.tells_call && --by.pause != 0) return;
        [[fallthrough]];
    case state::none:
        d.call = {};
        d.tells_call = true;
        d.step.store(state::asked, std::memory_order_release); // release[displacement]
        break;
    default:
        break; // the signal has not arrived: again
    }
    sys::interrupt_kernel_thread(k->kernel_id);
}

// As far as its CPU time and its state tell: it has slept in one call since the last look, or nearly so if it was asked
// meanwhile.
bool is_asleep(const carrier *k, const looks_seen &by, std::int64_t ran_ns) noexcept {
    const displacement &d = k->displaced;
    const bool was_asked = d.tells_call && d.step.load(std::memory_order_relaxed) != state::none;
    return by.same != 0 && (ran_ns == 0 || (was_asked && ran_ns < least_ran_ns)) && !sys::is_runnable(k->kernel_id);
}

// The thread has run for long, and goes wherever it stands in the program's code.
void end_slice(carrier *k, const time_slice &slice) noexcept {
    displacement &d = k->displaced;
    const state step = d.step.load(std::memory_order_acquire); // acquire[displacement]
    if (step == state::asked) return;                          // the signal is on its way
    if (step != state::decided) {
        d.call = {};
        d.for_others = true;
        d.slice_of = slice.of;
        d.is_overdue = slice.overdue != 0;
        d.step.store(state::decided, std::memory_order_release); // release[displacement]
    }
    sys::interrupt_kernel_thread(k->kernel_id);
}

// The thread sleeps in the kernel, of which it need not be asked. Twice in the same call: that is its loop.
void interrupt_sleeping(carrier *k, const sys::sleeping_call &call, bool for_others) noexcept {
    displacement &d = k->displaced;
    const state step = d.step.load(std::memory_order_acquire);  // acquire[displacement]
    if (step == state::asked || step == state::decided) return; // the signal is on its way
    if (d.call == call) {
        d.for_others = for_others;
        d.slice_of = nullptr;
        d.step.store(state::decided, std::memory_order_release); // release[displacement]
        sys::interrupt_kernel_thread(k->kernel_id);
    } else {
        d.call = call;
        d.step.store(state::none, std::memory_order_relaxed);
    }
}

// Hints, since the carrier goes on meanwhile: what is on its hart (never to be followed), and whose it is.
COMITY_UNSANITIZED const void *current_of(const carrier *k) noexcept { return k->current; }
enum class found { nobody, another, own };
COMITY_UNSANITIZED found who_has_hart(const carrier *k) noexcept {
    if (!k->current || k->current == &k->transition || !k->carried) return found::nobody;
    return k->current == k->native ? found::own : found::another;
}

COMITY_UNSANITIZED bool has_hart(const carrier *k) noexcept { return k->carried; }

// Does its hart seem to be in a scheduler below this one, or in another one? A hint as well.
COMITY_UNSANITIZED bool is_below(const carrier *k, const sched *s) noexcept { return k->current_sched != s; }

// Has it given up, if it dozes? A hint as well.
COMITY_UNSANITIZED bool recall_from(const carrier *k) noexcept {
    hart *h = k->carried;
    return h && base_scheduler::recall(h);
}

// For how many looks in a row has the hart been with one context?
unsigned looks_at_one(const carrier *k, looks_seen &by, found with) noexcept {
    const std::uint64_t switches = k->count.switches.get();
    const bool same = with != found::nobody && switches == by.switches;
    const void *who = with == found::nobody ? nullptr : current_of(k);
    by.met = who && who == by.who ? by.met + 1 : 0;
    by.who = who;
    by.switches = switches;
    if (!same) by.vain = by.pause = 0;
    by.same = same ? by.same + 1 : 0;
    return by.same;
}

std::int64_t ran_since_last_look(const carrier *k, looks_seen &by) noexcept {
    const std::int64_t cpu_ns = sys::thread_cpu_ns(k->kernel_id);
    return cpu_ns - std::exchange(by.cpu_ns, cpu_ns);
}

// Is the slice of a context over that has been on the hart for so many looks? Of one in a scheduler below: is it the
// turn of its hart to be taken out?
// Of one that gives way now and then, but has the hart at each look: after a few slices.
bool is_slice_over(const carrier *k, const look_order &order, look_result &result, const looks_seen &by) noexcept {
    constexpr unsigned slices_met = 5;
    if (!order.harts_missing || by.same / order.looks % 2 != 0) return false;
    if (!is_below(k, order.slice.of)) return by.same >= order.slice.looks || by.met >= slices_met * order.slice.looks;
    return order.slice.overdue != 0 && result.below++ == order.slice.overdue % base().hart_count();
}

// One look at a thread.
void look_at(carrier *k, const look_order &order, look_result &result, unsigned &kept) noexcept {
    looks_seen &by = k->displaced.seen[static_cast<unsigned>(order.by)];
    const bool home = k->adopted && k->home.load(std::memory_order_relaxed) == carrier::home_state::ready;
    const found with = who_has_hart(k);
    result.home = result.home || home;
    result.runs = result.runs || with != found::nobody;
    const unsigned same = looks_at_one(k, by, with);
    const bool slices = order.slice.looks != 0 && with == found::another;
    if (with == found::nobody || (!home && !order.harts_missing)) {
        by.looks = 0;
        if (slices)
            ran_since_last_look(k, by);
        else
            by.cpu_ns = 0;
        return;
    }
    if (recall_from(k)) return;
    const std::int64_t ran_ns = ran_since_last_look(k, by);
    if (same != 0 && ran_ns >= least_ran_ns && order.harts_missing) ++kept;
    if (same == 0) by.looks = 0;
    const unsigned patience = with == found::own ? looks_at_own : 1;
    if (++by.looks < patience) return;
    // One that sleeps needs no core, so it loses nothing.
    sys::sleeping_call call;
    const bool is_told = sys::call_of_sleeper(k->kernel_id, call);
    if (call.number >= 0)
        interrupt_sleeping(k, call, order.harts_missing);
    else if (!is_told && is_asleep(k, by, ran_ns))
        ask_sleeper(k, by, order.harts_missing);
    else if (ran_ns < least_ran_ns)
        return;
    // By turns with looking for a loop: it may be one in which Comity's code is below.
    else if (slices && is_slice_over(k, order, result, by))
        end_slice(k, order.slice);
    else if (by.looks >= patience * order.looks)
        interrupt_running(k, order.harts_missing);
}

} // namespace

bool take_interruptions() noexcept {
    return sys::made_once([] { return start_interrupting(); });
}

bool is_protected_code(std::uintptr_t pc) noexcept {
    const unsigned n = protected_count.load(std::memory_order_acquire); // acquire[protected-code]
    for (unsigned i = 0; i < n; ++i)
        if (protected_code[i].contains(pc)) return true;
    return false;
}

namespace {

// The hart of a dozer counts as out of its scheduler, so that whoever has work for one asks for it. False: one is
// wanted already.
bool count_out(sched *s) noexcept {
    std::uint64_t a = s->account.load(std::memory_order_relaxed);
    do {
        if (sched::wanted_of(a) != 0 || (a & sched::closing)) return false;
    } while (!s->account.compare_exchange_weak(a, a - sched::one_hart, std::memory_order_acq_rel, // acq_rel[account]
                                               std::memory_order_relaxed));
    return true;
}

bool is_wanted_in(sched *s) noexcept { return base().pressed() || s->hooks->other_work(s); }

} // namespace

namespace {

std::atomic<std::uint64_t> last_call{0}; // ticks
std::atomic<std::uint32_t> searches_long{0};

} // namespace

// Written now and then only: many threads make calls at the same time.
void note_call_that_sleeps() noexcept {
    constexpr std::uint64_t apart_us = 50;
    const std::uint64_t now = sys::ticks();
    if (now - last_call.load(std::memory_order_relaxed) > apart_us * ticks_per_us())
        last_call.store(now, std::memory_order_relaxed);
}

bool is_paced_by_calls() noexcept {
    constexpr std::uint64_t lately_us = 5000;
    const std::uint64_t last = last_call.load(std::memory_order_relaxed);
    return last != 0 && sys::ticks() - last < lately_us * ticks_per_us();
}

std::uint32_t long_searches() noexcept { return searches_long.load(std::memory_order_relaxed); }
void note_long_search() noexcept { searches_long.fetch_add(1, std::memory_order_relaxed); }

bool is_hart_wanted() noexcept {
    const carrier *k = current_carrier();
    return k && k->carried && k->current_sched->hooks && is_wanted_in(k->current_sched);
}

bool doze() noexcept {
    context *c = current_context();
    carrier *k = c ? c->on : nullptr;
    if (!k || !can_go(k, c, true) || !take_interruptions()) return false;
    hart *h = k->carried;
    sched *s = k->current_sched;
    if (h->dozer.load(std::memory_order_relaxed) != 0) return false; // it makes a call within a call
    if (c->owner != s || s->parent != &base() || is_wanted_in(s)) return false;
    if (c == k->native ? !base().has_worker(h) : !prepare_promotion(c)) return false;
    if (!count_out(s)) return false;
    chaos_point();
    h->keeper_id.store(k->kernel_id, std::memory_order_relaxed);
    h->dozer.store(reinterpret_cast<std::uintptr_t>(c), std::memory_order_release); // release[dozer]
    // Pairs with the fence of whoever stands in line and then looks for dozers.
    std::atomic_thread_fence(std::memory_order_seq_cst); // seq_cst[demand]
    chaos_point();
    if (!base().pressed() && !home_ready(k, s)) return true;
    stop_dozing();
    return false;
}

void stop_dozing() noexcept {
    context *c = current_context();
    carrier *k = c ? c->on : nullptr;
    hart *h = k ? k->carried : nullptr;
    const dozed how = h ? end_doze(c, h) : dozed::not_at_all;
    if (how == dozed::not_at_all) return;
    k->current_sched->account.fetch_add(sched::one_hart, std::memory_order_acq_rel); // acq_rel[account]
    if (how == dozed::recalled && base().pressed()) base().recall();                 // another one, in place of this
}

bool go_without_hart() noexcept {
    context *c = current_context();
    carrier *k = c ? c->on : nullptr;
    if (!k || !can_go(k, c, true) || !take_interruptions()) return false;
    leaving what{false};
    pause(c, leave_to_donor, &what);
    return !c->on->carried;
}

__thread loop_of_looks own_loop;

bool stands_amid_comity(const sys::interruption &at) noexcept { return how_amid_comity(at) != amid_comity::no; }

bool is_in_handler_amid_comity() noexcept {
    sys::interruption by{};
    return current_context() && sys::find_handler(by, frames_to_handler) && stands_amid_comity(by);
}

// In such a handler where locks of Comity's may be held. `frames`: between it and the caller.
static bool is_called_amid_comity(unsigned frames) noexcept {
    sys::interruption by{};
    return !is_posix_thread(current_context()) && sys::find_handler(by, frames) &&
           how_amid_comity(by) == amid_comity::yes;
}

static void stay() noexcept {
    if (carrier *k = current_carrier()) k->settled = true;
    stays_in_handler = true;
}

void stay_in_handler() noexcept {
    constexpr unsigned frames = 256; // it is asked once
    if (is_called_amid_comity(frames)) stay();
}

bool fork_in_handler(int &child) noexcept {
    if (!stays_in_handler && !is_called_amid_comity(frames_to_handler)) return false;
    if (!sys::fork_without_handlers(child)) return false;
    if (child != 0) return true;
    stay();
    if (carrier *k = current_carrier()) k->kernel_id = sys::kernel_thread_id();
    return true;
}

void give_way_in_loop(bool is_waited_for) noexcept {
    // A loop's own time, all contexts' turns in it, each with work in between, and that of one which gets on.
    constexpr std::uint64_t patience_us = 1000, turns_us = 50'000, patience_getting_on_us = 100'000;
    loop_of_looks &own = own_loop;
    const carrier *k = current_carrier();
    if (!k || !k->carried || k->settled || !(is_waited_for || base().waited_for())) return void(own.since = 0);
    const std::uint64_t now = sys::ticks(), us = ticks_per_us();
    if (own.since == 0 || now - own.last > turns_us * us) own = {now, now, false}; // it has done something else
    own.last = now;
    if (now - own.since < (own.gets_on ? patience_getting_on_us : patience_us) * us) return;
    own.since = 0;
    (void)go_without_hart();
}

void interrupt(const context *c) noexcept {
    visit_carriers(
        [](carrier *k, void *argument) COMITY_UNSANITIZED {
            if (k->current == argument) sys::interrupt_kernel_thread(k->kernel_id);
        },
        const_cast<context *>(c));
}

look_result look_after_homes(const look_order &order) noexcept {
    if (!take_interruptions()) return {};
    if (order.harts_missing) {
        base().keep_spare_worker();
        base().serve_from_sleepers();
    }
    struct look {
        const look_order &order;
        look_result result;
        unsigned kept;    // harts that have computed for one context
        std::int64_t now; // 0: another watch counts what is used
    } own{order, {}, 0, order.by == watcher::threads ? sys::now_ns() : 0};
    visit_carriers(
        [](carrier *k, void *argument) {
            auto &to = *static_cast<look *>(argument);
            look_at(k, to.order, to.result, to.kept);
            if (to.now != 0 && has_hart(k)) sample_cpu(k, to.now);
        },
        &own);
    own.result.all_kept = own.kept >= base().hart_count();
    return own.result;
}

bool is_caller_of_program(std::uintptr_t function) noexcept {
    const unsigned n = caller_count.load(std::memory_order_acquire); // acquire[protected-code]
    return std::find(callers, callers + n, function) != callers + n;
}

void note_caller_of_program(const void *function) noexcept {
    const auto address = reinterpret_cast<std::uintptr_t>(function);
    protected_lock.lock();
    const unsigned n = caller_count.load(std::memory_order_relaxed);
    if (n != most_callers && std::find(callers, callers + n, address) == callers + n) {
        callers[n] = address;
        caller_count.store(n + 1, std::memory_order_release); // release[protected-code]
    }
    protected_lock.unlock();
}

void note_code_that_calls(const void *address) noexcept { calling_code = sys::object_around(address); }

void protect_code_at(const void *address) noexcept {
    const sys::address_range object = sys::object_around(address);
    protected_lock.lock();
    const unsigned n = protected_count.load(std::memory_order_relaxed);
    bool known = n == most_protected;
    for (unsigned i = 0; i < n && !known; ++i) known = protected_code[i].begin == object.begin;
    if (!known) {
        protected_code[n] = object;
        protected_count.store(n + 1, std::memory_order_release); // release[protected-code]
    }
    protected_lock.unlock();
}

} // namespace comity::core
