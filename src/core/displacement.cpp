#include "core/displacement.hpp"

#include "core/promotion.hpp"
#include "core/runtime.hpp"
#include "core/sched.hpp"
#include "core/spinlock.hpp"
#include "sys/interruption.hpp"
#include "sys/kernel_thread.hpp"
#include "sys/loaded_objects.hpp"

#include <utility>

namespace comity::core {
namespace {

using state = displacement::state;

// Who runs for less between two looks sleeps in the kernel most of the time: it is not interrupted, for that might
// show.
constexpr std::int64_t least_ran_ns = 1'000'000;

constexpr unsigned most_protected = 16;
sys::address_range protected_code[most_protected]; // added to under protected_lock
std::atomic<unsigned> protected_count{0};
spinlock protected_lock;

// A loop is short, and stands at one depth of the stack.
bool same_loop(const displacement &d, const sys::interruption &i) noexcept {
    constexpr std::uintptr_t longest_loop = 256;
    return i.sp == d.sp && i.pc - d.pc + longest_loop < 2 * longest_loop;
}

// May the context, which runs, go on on its donor's kernel thread, as far as that can be told here?
bool can_go(const carrier *k, const context *c) noexcept {
    return k->current == c && c != k->native && !k->guest && promotable(c) && !is_promoted(c) &&
           k->current_sched->hooks && k->current_sched->hooks->displaced &&
           k->home.load(std::memory_order_relaxed) == carrier::home_state::ready;
}

// On the transition context; the displaced one is saved in the handler, and comes back to it, there or here.
void leave_to_donor(context *c, void *frame) {
    carrier *k = current_carrier();
    sched *s = k->current_sched;
    if (!prepare_promotion(c) || !s->hooks->displaced(s, c)) resume(k, c);
    sys::block_signals_after(frame);
    promote(c, nullptr, nullptr);
    block(k, c);
}

bool on_interruption(const sys::interruption &i) noexcept {
    context *c = current_context();
    if (!c || !c->on || sys::kernel_thread_id() != c->on->kernel_id) return false;
    carrier *k = c->on;
    displacement &d = k->displaced;
    switch (d.step.load(std::memory_order_acquire)) { // acquire[displacement]
    case state::asked:
        d.pc = i.pc;
        d.sp = i.sp;
        d.step.store(state::told, std::memory_order_release); // release[displacement]
        return true;
    case state::decided:
        d.step.store(state::none, std::memory_order_relaxed);
        if (!same_loop(d, i) || !can_go(k, c)) return true;
        pause(c, leave_to_donor, i.frame);
        return true;
    default:
        return false;
    }
}

bool is_protected(std::uintptr_t pc) noexcept {
    const unsigned n = protected_count.load(std::memory_order_acquire); // acquire[protected-code]
    for (unsigned i = 0; i < n; ++i)
        if (protected_code[i].contains(pc)) return true;
    return false;
}

// Nothing is interrupted before Comity's own code is known.
bool start_interrupting() noexcept {
    protect_code_at(reinterpret_cast<const void *>(&is_protected));
    return can_promote() && sys::take_interruptions(on_interruption);
}

// One look at a thread. True: its own computation waits.
bool look_at(carrier *k, unsigned looks) noexcept {
    displacement &d = k->displaced;
    const std::uint64_t switches = k->count.switches.get();
    if (k->home.load(std::memory_order_relaxed) != carrier::home_state::ready) {
        d.looks = 0;
        d.cpu_ns = 0;
        return false;
    }
    const std::int64_t cpu_ns = sys::thread_cpu_ns(k->kernel_id), ran_ns = cpu_ns - std::exchange(d.cpu_ns, cpu_ns);
    if (switches != d.switches) {
        d.switches = switches;
        d.looks = 0;
    }
    if (++d.looks < looks || ran_ns < least_ran_ns) return true;
    switch (d.step.load(std::memory_order_acquire)) { // acquire[displacement]
    case state::told:
        if (is_protected(d.pc))
            d.step.store(state::asked, std::memory_order_relaxed);
        else
            d.step.store(state::decided, std::memory_order_release); // release[displacement]
        break;
    case state::none:
        // release[displacement]
        d.step.store(state::asked, std::memory_order_release);
        break;
    default:
        break; // the signal has not arrived: again
    }
    sys::interrupt_kernel_thread(k->kernel_id);
    return true;
}

} // namespace

bool look_after_homes(unsigned looks) noexcept {
    static const bool can_interrupt = start_interrupting();
    if (!can_interrupt) return false;
    struct look {
        unsigned looks;
        bool any = false;
    } own{looks};
    visit_carriers(
        [](carrier *k, void *argument) {
            auto &to = *static_cast<look *>(argument);
            if (k->adopted && look_at(k, to.looks)) to.any = true;
        },
        &own);
    return own.any;
}

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
