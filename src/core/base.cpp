#include "core/base.hpp"

#include "core/binding.hpp"
#include "core/chaos.hpp"
#include "core/promotion.hpp"
#include "core/runtime.hpp"
#include "core/timer.hpp"
#include "sys/clock.hpp"
#include "sys/interruption.hpp"
#include "sys/message.hpp"

#include <algorithm>
#include <cerrno>
#include <new>
#include <utility>

namespace comity::core {

namespace {

// A base scheduler's children are the root schedulers, one or more for each thread of the program that is inside
// Comity.
void base_request(comity_sched_t *, comity_sched_t *child, int) { base().request(unwrap(child)); }
void base_enter(comity_sched_t *) { sys::fatal("comity_sched_enter", "the base scheduler cannot be entered"); }
void base_yield(comity_sched_t *, comity_sched_t *) { base().yielded(current_carrier()); }
void base_block(comity_sched_t *, comity_context_t *) { base().yielded(current_carrier()); }
void base_unblock(comity_sched_t *, comity_context_t *c) { post_home(unwrap(c)); }

constexpr comity_sched_callbacks_t callbacks{nullptr,    nullptr,    base_request, base_enter,
                                             base_yield, base_block, base_unblock};

// How long an adopted thread that others wait for may go on taking its kept hart again.
constexpr std::uint64_t quantum_us = 1000;
// A thread that waits for a hart looks for kept ones at least this often.
constexpr std::uint64_t longest_wait_us = 4000;
// A thread that needs its first hart leaves the keepers at least this long to come back.
constexpr std::uint64_t grace_us = 20;
// A thread that sleeps for as long as this with a kept hart does not come back soon: it waits for other threads' work,
// not for its turn with a lock (Python's global lock changes hands every 5 ms).
constexpr std::uint64_t asleep_us = 10'000;
// How often somebody looks who could have more harts, at most.
constexpr std::uint64_t look_us = 1000;

} // namespace

alignas(base_scheduler) unsigned char base_storage[sizeof(base_scheduler)];

void base_scheduler::start(unsigned n) noexcept {
    new (base_storage) base_scheduler();
    base_scheduler &b = base();
    b.callbacks = &core::callbacks;
    b.parent = nullptr;
    b.registrant = nullptr;
    b.magic = registered_magic;
    b.harts_ = new (std::nothrow) hart[n];
    if (!b.harts_) sys::fatal("starting", "no memory");
    b.count_ = n;
    b.words_used_ = (n + 63) / 64;
    for (unsigned i = 0; i < n; ++i) {
        b.harts_[i].id = static_cast<int>(i);
        b.idle_[i / 64].fetch_or(std::uint64_t{1} << (i % 64), std::memory_order_relaxed);
    }
}

// ---- The idle set: whoever clears a hart's bit holds the hart.

hart *base_scheduler::claim_idle() noexcept {
    for (unsigned w = 0; w < words_used_; ++w) {
        std::uint64_t bits = idle_[w].load(std::memory_order_relaxed);
        while (bits) {
            const std::uint64_t bit = bits & -bits;
            if (idle_[w].compare_exchange_weak(bits, bits & ~bit, std::memory_order_acq_rel,
                                               std::memory_order_relaxed)) // acq_rel[idle]
                return &harts_[w * 64 + static_cast<unsigned>(__builtin_ctzll(bit))];
        }
    }
    return nullptr;
}

hart *base_scheduler::claim_idle_with_worker() noexcept {
    for (unsigned i = 0; i < count_; ++i) {
        hart *h = &harts_[i];
        if (!h->worker.load(std::memory_order_relaxed) || !claim_idle(h)) continue;
        if (h->worker.load(std::memory_order_relaxed)) return h;
        put_idle(h);
    }
    return nullptr;
}

bool base_scheduler::claim_idle(hart *h) noexcept {
    const std::uint64_t bit = std::uint64_t{1} << (h->id % 64);
    return idle_[h->id / 64].fetch_and(~bit, std::memory_order_acq_rel) & bit; // acq_rel[idle]
}

// A worker without a hart that has woken for input, and finds work by it, had better do that itself.
hart *base_scheduler::claim_own() noexcept {
    const carrier *k = current_carrier();
    hart *h = k && !k->carried && !k->adopted ? k->own.load(std::memory_order_relaxed) : nullptr;
    return h && h->worker.load(std::memory_order_relaxed) == k && claim_idle(h) ? h : nullptr;
}

bool base_scheduler::has_any_worker() const noexcept {
    for (unsigned i = 0; i < count_; ++i)
        if (harts_[i].worker.load(std::memory_order_relaxed)) return true;
    return false;
}

void base_scheduler::put_idle(hart *h) noexcept {
    idle_[h->id / 64].fetch_or(std::uint64_t{1} << (h->id % 64), std::memory_order_acq_rel); // acq_rel[idle]
    // Pairs with the fence of whoever announces a demand and then looks at the idle set: one of the two sees the other.
    std::atomic_thread_fence(std::memory_order_seq_cst); // seq_cst[demand]
    chaos_point();
}

unsigned base_scheduler::idle_count() const noexcept {
    unsigned n = 0;
    for (unsigned w = 0; w < words_used_; ++w)
        n += static_cast<unsigned>(__builtin_popcountll(idle_[w].load(std::memory_order_relaxed)));
    return n;
}

unsigned base_scheduler::free_count() const noexcept {
    unsigned n = idle_count() + searchers_.load(std::memory_order_relaxed);
    for (unsigned i = 0; i < count_; ++i) {
        const std::uintptr_t dozer = harts_[i].dozer.load(std::memory_order_relaxed);
        n += dozer != 0 && !(dozer & hart::recalled);
    }
    return n;
}

// ---- Kept harts

hart *base_scheduler::take_kept(std::uint64_t grace) noexcept {
    for (unsigned i = 0; i < count_; ++i) {
        // NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): it takes a null from claim_idle for a null harts_
        carrier *keeper = harts_[i].keeper.load(std::memory_order_acquire); // acquire[keeper]
        if (keeper && sys::ticks() - harts_[i].kept_since.load(std::memory_order_relaxed) >= grace &&
            harts_[i].keeper.compare_exchange_strong(keeper, nullptr, std::memory_order_acq_rel)) // acq_rel[keeper]
            return &harts_[i];
    }
    return nullptr;
}

// A keeper that sleeps (waits for a lock, for input) does not need its hart. Two looks at its CPU clock tell those that
// are on a core; they cost two system calls, so only harts kept for a while are looked at.
hart *base_scheduler::take_kept_of_sleeper() noexcept {
    const std::uint64_t now = sys::ticks();
    for (unsigned i = 0; i < count_; ++i) {
        carrier *keeper = harts_[i].keeper.load(std::memory_order_acquire); // acquire[keeper]
        if (!keeper || keeper == current_carrier() ||
            now - harts_[i].kept_since.load(std::memory_order_relaxed) < asleep_us * ticks_per_us())
            continue;
        const int id = harts_[i].keeper_id.load(std::memory_order_relaxed);
        const std::int64_t before = sys::thread_cpu_ns(id);
        for (const std::uint64_t from = sys::ticks(); sys::ticks() - from < ticks_per_us();) sys::cpu_relax();
        if (before >= 0 && (sys::thread_cpu_ns(id) != before || sys::is_runnable(id))) continue;
        if (harts_[i].keeper.compare_exchange_strong(keeper, nullptr, std::memory_order_acq_rel)) // acq_rel[keeper]
            return &harts_[i];
    }
    return nullptr;
}

void base_scheduler::serve_from_sleepers() noexcept {
    if (!pressed()) return;
    if (hart *h = take_kept_of_sleeper()) release(h);
}

void base_scheduler::release_from_sleepers() noexcept {
    const std::uint64_t now = sys::ticks();
    if (now - looked_at_sleepers_.load(std::memory_order_relaxed) < look_us * ticks_per_us()) return;
    looked_at_sleepers_.store(now, std::memory_order_relaxed);
    while (hart *h = take_kept_of_sleeper()) release(h); // what is kept again has been so for a moment only
}

// A hart that was kept for the carrier by others is known by its word alone.
hart *base_scheduler::kept_by(carrier *k) noexcept {
    if (k->kept && k->kept->keeper.load(std::memory_order_relaxed) == k) return k->kept;
    for (unsigned i = 0; i < count_ && has_kept_for_others_.load(std::memory_order_relaxed); ++i)
        if (harts_[i].keeper.load(std::memory_order_relaxed) == k) return &harts_[i];
    return nullptr;
}

void base_scheduler::note_keeper(hart *h, carrier *keeper, int id, std::uint64_t now) noexcept {
    h->kept_since.store(now, std::memory_order_relaxed);
    h->keeper_id.store(id, std::memory_order_relaxed);
    h->keeper.store(keeper, std::memory_order_release); // release[keeper]
    // Pairs with the fence of a root that lists itself and then looks for kept harts.
    std::atomic_thread_fence(std::memory_order_seq_cst); // seq_cst[demand]
}

void base_scheduler::wants_none_to_keep(carrier *k) noexcept {
    if (outsider_.load(std::memory_order_relaxed) != k) return;
    carrier *expected = k;
    outsider_.compare_exchange_strong(expected, nullptr, std::memory_order_relaxed);
}

// One may have been kept for the carrier while it got another one.
void base_scheduler::keep_no_other(carrier *k) noexcept {
    wants_none_to_keep(k);
    for (unsigned i = 0; i < count_ && has_kept_for_others_.load(std::memory_order_relaxed); ++i) {
        hart *h = &harts_[i];
        if (h != k->kept && h->keeper.load(std::memory_order_relaxed) == k && take_back(h, k)) release(h);
    }
}

bool base_scheduler::keep(carrier *k) noexcept {
    if ((k->kept = kept_by(k))) {
        k->kept->kept_since.store(sys::ticks(), std::memory_order_relaxed);
        keep_no_other(k);
        return true;
    }
    if (hart *h = claim_idle()) {
        k->carried = h;
        k->granted_at = sys::ticks();
        leave(k, next_use::soon);
        return k->kept;
    }
    outsider_id_.store(k->kernel_id, std::memory_order_relaxed);
    outsider_asked_.store(sys::ticks(), std::memory_order_relaxed);
    outsider_.store(k, std::memory_order_relaxed);
    return false;
}

// The hart is the caller's. Not if it was asked for too long ago, nor while a root has none at all or a thread waits in
// the queue: that is the caller's to serve. A thread that has ended meanwhile is taken for a sleeper.
bool base_scheduler::keep_for_outsider(hart *h) noexcept {
    if (!has_outsider()) return false;
    carrier *k = outsider_.exchange(nullptr, std::memory_order_relaxed);
    const std::uint64_t asked = outsider_asked_.load(std::memory_order_relaxed), now = sys::ticks();
    if (!k || now - asked > asleep_us * ticks_per_us() || roots_.starves()) return false;
    has_kept_for_others_.store(true, std::memory_order_relaxed);
    note_keeper(h, k, outsider_id_.load(std::memory_order_relaxed), now);
    return !(waited_for() || roots_.starves()) || !take_back(h, k);
}

bool base_scheduler::take_back(hart *h, carrier *k) noexcept {
    return h->keeper.compare_exchange_strong(k, nullptr, std::memory_order_acq_rel); // acq_rel[keeper]
}

bool base_scheduler::claim_kept(hart *h) noexcept {
    carrier *keeper = h->keeper.load(std::memory_order_acquire);                                    // acquire[keeper]
    return keeper && h->keeper.compare_exchange_strong(keeper, nullptr, std::memory_order_acq_rel); // acq_rel[keeper]
}

// Both harts are the caller's for a moment, and with them the words about their workers.
bool base_scheduler::trade(carrier *k, unsigned id) noexcept {
    hart *h = &harts_[id], *before = k->carried;
    if (h == before || (!claim_idle(h) && !claim_kept(h))) return false;
    if (!k->adopted) {
        carrier *other = h->worker.load(std::memory_order_relaxed);
        h->worker.store(k, std::memory_order_release);          // release[worker]
        before->worker.store(other, std::memory_order_release); // release[worker]
        k->own.store(h, std::memory_order_relaxed);
        if (other) other->own.store(before, std::memory_order_relaxed);
    }
    k->carried = h;
    bind_as_hart(k);
    become(k, k->current_sched);
    release(before);
    return true;
}

// ---- Giving

void base_scheduler::give(hart *h, carrier *to, sched *into) noexcept {
    to->granted = {h, into};
    to->park.wake();
}

bool base_scheduler::finds_worker(hart *h) noexcept {
    if (h->worker.load(std::memory_order_relaxed)) return true;
    return set_worker(h, spare_worker_);
}

// The hart is the caller's.
bool base_scheduler::set_worker(hart *h, std::atomic<carrier *> &from) noexcept {
    if (!from.load(std::memory_order_relaxed)) return false;
    carrier *k = from.exchange(nullptr, std::memory_order_acquire); // acquire[spare-worker]
    if (!k) return false;
    k->own.store(h, std::memory_order_relaxed);
    // Either bind_hart sees whose it is, or it sees that harts are bound: seq_cst[first-binding]
    std::atomic_thread_fence(std::memory_order_seq_cst);
    h->worker.store(k, std::memory_order_release); // release[worker]
    return true;
}

void base_scheduler::keep_spare_worker() noexcept {
    if (spare_worker_.load(std::memory_order_relaxed) || no_more_workers_.load(std::memory_order_relaxed)) return;
    bool all_have = count_ > 1 || relief_.load(std::memory_order_relaxed) || is_lent_.load(std::memory_order_relaxed);
    for (unsigned i = 0; i < count_; ++i) all_have = all_have && harts_[i].worker.load(std::memory_order_relaxed);
    int error = 0;
    if (!all_have) spare_worker_.store(make_worker(nullptr, error), std::memory_order_release); // release[spare-worker]
}

bool base_scheduler::is_sure_of_a_worker() noexcept {
    if (has_any_worker()) return true;
    keep_spare_worker();
    return spare_worker_.load(std::memory_order_relaxed) || has_any_worker();
}

// Can the hart be carried by a worker? Makes one if need be.
bool base_scheduler::has_worker(hart *h) noexcept {
    if (finds_worker(h)) return true;
    if (no_more_workers_.load(std::memory_order_relaxed)) return false;
    int error = 0;
    if (carrier *k = make_worker(h, error)) {
        h->worker.store(k, std::memory_order_release); // release[worker]
        return true;
    }
    if (!no_more_workers_.exchange(true, std::memory_order_relaxed) && error != EINVAL)
        sys::warn("no kernel thread to be had for hart %d; going on with fewer (see ulimit -u, and the limits on "
                  "memory and pids)",
                  h->id);
    return false;
}

carrier *base_scheduler::pop_waiter() noexcept {
    if (!waited_for()) return nullptr;
    lock_.lock();
    carrier *k = waiting_.pop_front();
    lock_.unlock();
    return k;
}

bool base_scheduler::remove_waiter(carrier *k) noexcept {
    lock_.lock();
    const bool found = waiting_.remove(k);
    lock_.unlock();
    return found;
}

bool base_scheduler::serve_demand(hart *h) noexcept {
    if (carrier *waiter = pop_waiter()) {
        give(h, waiter, nullptr);
        return true;
    }
    if (roots_.empty() || !has_worker(h)) return false;
    sched *root = roots_.pick();
    if (root) give(h, h->worker.load(std::memory_order_relaxed), root);
    return root;
}

void base_scheduler::release(hart *h) noexcept {
    for (bool carried = true;;) {
        if (!waited_for() && keep_for_outsider(h)) return;
        if (pressed()) {
            if (serve_demand(h)) return;
            carried = has_worker(h); // to be asked while the hart is ours
        }
        hart *other = carried ? nullptr : claim_idle_with_worker();
        put_idle(h);
        if (other) {
            h = other;
            continue;
        }
        if (!pressed() || (!waited_for() && !carried)) return;
        if (!claim_idle(h)) return; // whoever claimed it serves somebody
    }
}

void base_scheduler::visit_idle(void (*visit)(hart *h, void *argument), void *argument) noexcept {
    for (unsigned i = 0; i < count_; ++i) {
        if (!is_idle(&harts_[i]) || !claim_idle(&harts_[i])) continue;
        visit(&harts_[i], argument);
        release(&harts_[i]);
    }
}

// ---- What roots ask for

void base_scheduler::request(sched *root) noexcept {
    if (harts_of(root->account.load(std::memory_order_relaxed)) >= count_) return;
    while (wanted_of(root->account.load(std::memory_order_relaxed)) != 0) {
        hart *h = claim_own();
        if (!h) h = claim_idle();
        if (!h) h = take_kept_of_sleeper();
        if (!h) break;
        if (!has_worker(h)) {
            release(h);
            break;
        }
        if (!root->reserve()) return release(h);
        give(h, h->worker.load(std::memory_order_relaxed), root);
    }
    if (wanted_of(root->account.load(std::memory_order_relaxed)) == 0) return;
    stand_in_line(root);
    look_for_sleepers();
}

// ---- Roots in line, while threads outside keep harts

namespace {

constexpr std::int64_t sleepers_look_ns = 10'000'000;
timer sleepers_look; // the thread that sets `looks_for_sleepers` has it
std::atomic<bool> looks_for_sleepers{false};

} // namespace

bool base_scheduler::has_keepers() const noexcept {
    for (unsigned i = 0; i < count_; ++i)
        if (harts_[i].keeper.load(std::memory_order_relaxed)) return true;
    return false;
}

// The keepers were awake when the root asked, or it may ask no more: its own threads sleep as well.
void base_scheduler::look_for_sleepers() noexcept {
    if (looks_for_sleepers.load(std::memory_order_relaxed) || !pressed() || !has_keepers() ||
        looks_for_sleepers.exchange(true, std::memory_order_relaxed))
        return;
    sleepers_look.at = sys::deadline_in(sleepers_look_ns);
    sleepers_look.serve = [](timer *) noexcept {
        base().serve_from_sleepers();
        looks_for_sleepers.store(false, std::memory_order_relaxed);
        std::atomic_thread_fence(std::memory_order_seq_cst); // seq_cst[demand]: a root in line sees it, or is seen
        base().look_for_sleepers();
    };
    if (!arm(sleepers_look)) looks_for_sleepers.store(false, std::memory_order_relaxed);
}

void base_scheduler::stand_in_line(sched *root) noexcept {
    roots_.add(root);
    std::atomic_thread_fence(std::memory_order_seq_cst); // seq_cst[demand]
    chaos_point();
    hart *h = claim_idle(); // became idle before it could see the demand
    if (!h && harts_of(root->account.load(std::memory_order_relaxed)) == 0)
        h = take_kept(0); // without any hart the root makes no progress: a thread that runs outside can do without
    if (h) return release(h);
    recall();
}

bool base_scheduler::recall(hart *h) noexcept {
    std::uintptr_t c = h->dozer.load(std::memory_order_relaxed);
    if (c == 0 || (c & hart::recalled) ||
        !h->dozer.compare_exchange_strong(c, c | hart::recalled, std::memory_order_acq_rel)) // acq_rel[dozer]
        return false;
    sys::interrupt_kernel_thread(h->keeper_id.load(std::memory_order_relaxed));
    return true;
}

void base_scheduler::recall() noexcept {
    for (unsigned i = 0; i < count_; ++i)
        if (recall(&harts_[i])) return;
}

bool base_scheduler::should_have_the_last(hart *h) noexcept {
    return (waited_for() || roots_.starves()) && has_worker(h);
}

// ---- Adopted threads

bool base_scheduler::acquire(carrier *k, patience p) noexcept {
    wants_none_to_keep(k);
    if (hart *h = kept_by(k)) {
        if (take_back(h, k)) {
            k->kept = nullptr;
            k->carried = h;
            bind_as_hart(k);
            become(k, this);
            return true;
        }
    }
    k->kept = nullptr;
    hart *h = claim_idle();
    if (!h) h = take_kept(grace_us * ticks_per_us());
    if (h)
        k->carried = h;
    else if (!wait_for_hart(k, p))
        return false;
    bind_as_hart(k);
    k->granted_at = sys::ticks();
    become(k, this);
    ++k->count.grants;
    return true;
}

// How many there were before.
std::uint32_t base_scheduler::queue_up(carrier *k) noexcept {
    lock_.lock();
    k->waits_since = sys::now_ns();
    const std::uint32_t ahead = waiting_.size();
    waiting_.push_back(k);
    lock_.unlock();
    std::atomic_thread_fence(std::memory_order_seq_cst); // seq_cst[demand]
    chaos_point();
    recall();
    return ahead;
}

// The carrier, which stands in line, has one from now on; null: none is free, or another thread is giving it one.
hart *base_scheduler::claim_for(carrier *k) noexcept {
    hart *h = claim_idle();
    if (!h) h = take_kept(grace_us * ticks_per_us());
    if (!h) return nullptr;
    if (remove_waiter(k)) return k->carried = h;
    release(h);
    return nullptr;
}

bool base_scheduler::wait_for_hart(carrier *k, patience p) noexcept {
    constexpr std::int64_t longest_stalls = 20;
    const std::int64_t stall_ns = std::int64_t{sys::get_options().stall_ms} * 1'000'000;
    const bool ends = p == patience::ends && stall_ns != 0 && can_promote();
    const std::int64_t until = ends ? sys::deadline_in(longest_stalls * stall_ns) : INT64_MAX;
    const std::uint32_t ahead = queue_up(k);
    // Keepers come and go without looking at the queue, so look again now and then: first when the turn should have
    // come, then less and less often. Each look is a kernel thread more that wants a core while all are taken.
    for (std::uint64_t us = quantum_us * (ahead + count_) / count_;; us *= 2) {
        if (claim_for(k)) return true;
        if (sys::now_ns() >= until && remove_waiter(k)) return false;
        if (us >= longest_wait_us) tell_of_wait();
        us = std::min(us, longest_wait_us);
        if (k->park.wait_until(sys::now_ns() + static_cast<std::int64_t>(us) * 1000)) {
            k->carried = k->granted.h;
            return true;
        }
    }
}

bool base_scheduler::waited_for_long(std::int64_t ns) noexcept {
    bool found = false;
    if (waited_for()) {
        const std::int64_t now = sys::now_ns();
        lock_.lock();
        const carrier *k = waiting_.first();
        const bool inside = k && (!k->native || (k->native->owner && k->native->owner != this));
        found = k && now - k->waits_since >= (inside ? ns : 10 * ns);
        lock_.unlock();
    }
    if (found != is_starved()) starved_.store(found, std::memory_order_relaxed);
    return found;
}

void base_scheduler::leave(carrier *k, next_use next) noexcept {
    unbind(k);
    hart *h = k->carried;
    k->carried = nullptr;
    const std::uint64_t now = sys::ticks();
    if (waited_for() && now - k->granted_at > quantum_us * ticks_per_us()) return release(h);
    k->kept = h;
    note_keeper(h, k, k->kernel_id, now);
    keep_no_other(k);
    const bool needed = next == next_use::soon ? roots_.starves() : pressed();
    if (needed && take_back(h, k)) {
        k->kept = nullptr;
        release(h);
    }
}

// ---- Harts that come back

void base_scheduler::yielded(carrier *k) noexcept {
    hart *h = k->carried;
    become(k, this);
    if (k->adopted) { // carries for nobody but its own thread
        k->carried = nullptr;
        release(h);
        sleep_at_home(k);
    }
    for (;;) {
        if (carrier *waiter = pop_waiter()) {
            k->carried = nullptr;
            give(h, waiter, nullptr);
            break;
        }
        if (has_outsider()) {
            k->carried = nullptr;
            if (keep_for_outsider(h)) break;
            k->carried = h;
        }
        if (sched *root = roots_.pick()) enter(k, root);
        k->carried = nullptr;
        put_idle(h);
        if (!pressed() || !claim_idle(h)) break;
        k->carried = h;
    }
    wait_for_grant(k);
}

// ---- Nobody has a hart

bool base_scheduler::take_all(const carrier *k) noexcept {
    bool all = true;
    for (unsigned i = 0; i < count_; ++i) {
        hart *h = &harts_[i];
        const std::uint64_t bit = std::uint64_t{1} << (i % 64);
        if ((taken_[i / 64] & bit) || (k && k->carried == h)) continue;
        if (claim_idle(h) || claim_kept(h))
            taken_[i / 64] |= bit;
        else
            all = false;
    }
    return all;
}

void base_scheduler::take_next(carrier *k, std::int64_t ns) noexcept {
    (void)queue_up(k);
    if (!k->park.wait_until(sys::now_ns() + ns)) {
        if (remove_waiter(k)) return;
        (void)k->park.wait_until(INT64_MAX); // somebody is giving it one
    }
    taken_[k->granted.h->id / 64] |= std::uint64_t{1} << (k->granted.h->id % 64);
}

void base_scheduler::give_back_all() noexcept {
    for (unsigned i = 0; i < count_; ++i) {
        const std::uint64_t bit = std::uint64_t{1} << (i % 64);
        if (!(taken_[i / 64] & bit)) continue;
        taken_[i / 64] &= ~bit;
        release(&harts_[i]);
    }
}

unsigned base_scheduler::worker_count() const noexcept {
    unsigned n = spare_worker_.load(std::memory_order_relaxed) ? 1 : 0;
    n += relief_.load(std::memory_order_relaxed) ? 1 : 0;
    for (unsigned i = 0; i < count_; ++i) n += harts_[i].worker.load(std::memory_order_relaxed) ? 1 : 0;
    return n;
}

// A hart's worker has no token under way while the hart is the caller's.
void base_scheduler::end_workers() noexcept {
    carrier *ended = nullptr; // linked by `next`
    const auto end = [&ended](carrier *k, hart *h) {
        if (!k) return;
        end_worker(k, h);
        k->next = std::exchange(ended, k);
    };
    end(spare_worker_.exchange(nullptr, std::memory_order_acquire), harts_); // acquire[spare-worker]
    end(relief_.exchange(nullptr, std::memory_order_acquire), harts_);       // acquire[spare-worker]
    for (unsigned i = 0; i < count_; ++i)
        end(harts_[i].worker.exchange(nullptr, std::memory_order_acquire), &harts_[i]); // acquire[worker]
    while (carrier *k = ended) {
        ended = k->next;
        free_worker(k);
    }
}

void base_scheduler::before_fork() noexcept {
    lock_.lock();
    roots_.before_fork();
}

void base_scheduler::parent_after_fork() noexcept {
    roots_.after_fork();
    lock_.unlock();
}

// No other kernel thread is left: nobody waits, every other hart is idle and has no worker.
void base_scheduler::child_after_fork(carrier *survivor) noexcept {
    roots_.drop_after_fork();
    waiting_.clear();
    searchers_.store(0, std::memory_order_relaxed);
    outsider_.store(nullptr, std::memory_order_relaxed);
    lock_.unlock();
    no_more_workers_.store(false, std::memory_order_relaxed);
    spare_worker_.store(nullptr, std::memory_order_relaxed);
    relief_.store(nullptr, std::memory_order_relaxed);
    if (!is_armed_in_child(sleepers_look)) looks_for_sleepers.store(false, std::memory_order_relaxed);
    is_lent_.store(false, std::memory_order_relaxed);
    for (unsigned i = 0; i < count_; ++i) {
        hart *h = &harts_[i];
        h->worker.store(survivor && !survivor->adopted && survivor->carried == h ? survivor : nullptr,
                        std::memory_order_relaxed);
        h->dozer.store(0, std::memory_order_relaxed);
        const bool own = survivor && (survivor->carried == h ||
                                      (survivor->kept == h && h->keeper.load(std::memory_order_relaxed) == survivor));
        if (!own) {
            h->keeper.store(nullptr, std::memory_order_relaxed);
            idle_[i / 64].fetch_or(std::uint64_t{1} << (i % 64), std::memory_order_relaxed);
        }
    }
}

} // namespace comity::core
