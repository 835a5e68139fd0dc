// Threads that may run on some harts only: they stand with the contexts that may go on, of a hart of their set, and
// other harts leave them there. Why none is left behind: README.md, "Affinity".
#include "core/base.hpp"
#include "core/chaos.hpp"
#include "scheduler/work_stealing.hpp"
#include "sys/futex.hpp"

namespace comity::scheduler {

using core::base;

namespace {

// How long a hart waits, when only one that is elsewhere may run what there is, before it looks again.
constexpr std::int64_t nap_ns = 250'000;

void go_on(void *self, void *) { static_cast<work_stealing *>(self)->next(core::current_carrier()); }

} // namespace

// With the slot's lock, both.
void work_stealing::count_kept(slot &s, const context_list &list) noexcept {
    list.for_each([&s](const context *c) {
        if (s.owner->affinity_of(c)) ++s.kept;
    });
}

void work_stealing::uncount_kept(slot &s, const context *c) noexcept {
    if (s.owner->affinity_of(c)) --s.kept;
}

// A hart of the set, best one that is here and has little to do.
work_stealing::slot &work_stealing::choose_slot(const hart_set &set) noexcept {
    slot *best = nullptr;
    std::uint32_t least = 0;
    for (unsigned i = 0; i < harts; ++i) {
        if (!set.has(i)) continue;
        const std::uint32_t cost = slots[i].ready.size() * 2 + (slots[i].here.load(std::memory_order_relaxed) ? 0 : 1);
        if (best && cost >= least) continue;
        best = &slots[i];
        least = cost;
    }
    return *best; // sets are not empty
}

// Puts those of a list that have an affinity where they may run, and leaves the others in it; returns how many.
unsigned work_stealing::line_up_kept(context_list &list) noexcept {
    context_list others;
    unsigned n = 0;
    list.for_each([&](context *c) {
        if (const hart_set *set = affinity_of(c)) {
            enqueue(choose_slot(*set), context_list(c), 1);
            return;
        }
        others.push_back(c);
        ++n;
    });
    list = others;
    return n;
}

// For a thief: the oldest one that it may run.
context *work_stealing::take_ready_for(slot &s, unsigned hart) noexcept {
    if (s.ready.empty()) return nullptr;
    const bool shared = needs_lock(s);
    if (shared) s.lock.lock();
    context *c = s.ready.take_if([&](const context *r) {
        const hart_set *set = affinity_of(r);
        return !set || set->has(hart);
    });
    if (c) uncount_kept(s, c);
    if (shared) s.lock.unlock();
    return c;
}

// The hart is about to leave, or to be exchanged.
void work_stealing::leaves(slot &own) noexcept {
    own.here.store(false, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_seq_cst); // seq_cst[team-leave]
    core::chaos_point();
}

// A hart that is not here has something to run: the carrier takes that hart up in place of its own, and does not
// return. True: somebody has it elsewhere.
bool work_stealing::take_absent(carrier *k) noexcept {
    bool elsewhere = false;
    for (unsigned i = 0; i < harts; ++i) {
        slot &s = slots[i];
        if (s.kept.get() == 0 || s.here.load(std::memory_order_relaxed)) continue;
        leaves(*work_of(k));
        if (base().trade(k, i)) core::rewind(k, go_on, this, nullptr);
        work_of(k)->here.store(true, std::memory_order_relaxed);
        elsewhere = true;
    }
    return elsewhere;
}

// A hart that finds nothing: is there something for it by now, or for a hart that nobody sends? Then true, and it looks
// again, perhaps after a while. False: it may go.
bool work_stealing::stays_for_kept(carrier *k, slot &own) noexcept {
    const bool elsewhere = has_affinities() && take_absent(k);
    leaves(own);
    if (!own.ready.empty()) {
        own.here.store(true, std::memory_order_relaxed);
        return true;
    }
    if (!elsewhere) return false;
    if (parent == &base() && base().pressed_by_others(this))
        core::give_way(k); // wants a hart again, and stands in line
    own.here.store(true, std::memory_order_relaxed);
    sys::nap(nap_ns);
    return true;
}

} // namespace comity::scheduler
