// A scheduler's order is replaced while harts are in it and others make contexts ready: src/scheduler/ordered.cpp
// (replace, settle, line_up, push_in_order, pick, keep) and work_stealing.cpp (find_work, call_harts). Units are
// counted, not told apart: each queue gives each unit to one taker (deque.cpp, array_queue.cpp and others). The base
// scheduler is one lock here, and whoever is granted a hart goes on in the thread that asked (demand.cpp, leave.cpp).
#include "account.hpp"

namespace model {
namespace {

using namespace account;

enum bug {
    none,
    locks_its_own_slot_only,
    forgets_the_outside_slot,
    locks_its_own_slot_first,
    lines_up_with_what_it_saw,
    picks_with_what_it_saw,
    settles_with_what_it_saw,
    looks_at_spare_units_in_order_only,
    takes_a_closed_deque_for_a_full_one,
    moves_no_units,
    moves_no_ready_ones
};

struct replace : rl::test_suite<replace, 3> {
    static constexpr unsigned harts = 2, outside = harts, slots = harts + 1;
    static constexpr unsigned policies = 4; // 0: none, work stealing
    static constexpr unsigned room = 1;     // a policy has memory for so many units

    struct {
        lock lock_;
        atomic<unsigned> ready;
        atomic<unsigned> fresh; // the deque
        var<int> closed;        // the hart's
    } slot_[slots];
    struct {
        atomic<unsigned> units;
        var<int> alive;
    } kinds_[policies];
    atomic<unsigned> policy_, spare_, account_, made_, done_;
    lock spare_lock_, base_lock_;
    unsigned idle_; // a bit for each hart, under base_lock_

    void before() {
        for (auto &s : slot_) {
            s.ready.store(0, mo_relaxed, $);
            s.fresh.store(0, mo_relaxed, $);
            s.closed($) = 0;
        }
        for (auto &k : kinds_) {
            k.units.store(0, mo_relaxed, $);
            k.alive($) = 1;
        }
        for (auto *a : {&policy_, &spare_, &made_, &done_}) a->store(0, mo_relaxed, $);
        account_.store(harts * one_hart, mo_relaxed, $);
        idle_ = 0;
    }

    // ---- Counted queues
    static bool take_one(atomic<unsigned> &n) {
        unsigned there = n.load(mo_relaxed, $);
        while (there != 0)
            if (n.compare_exchange_weak(there, there - 1, mo_acq_rel, $, mo_relaxed, $)) return true;
        return false;
    }
    static void put_one(atomic<unsigned> &n) { n.fetch_add(1, mo_acq_rel, $); }

    // ---- Policies: with the lock of a slot
    void hand(unsigned p) {
        RL_ASSERT(kinds_[p].alive($) == 1);
        unsigned there = kinds_[p].units.load(mo_relaxed, $);
        while (there < room)
            if (kinds_[p].units.compare_exchange_weak(there, there + 1, mo_acq_rel, $, mo_relaxed, $)) return;
        spare_lock_.acquire(); // keep
        spare_.store(spare_.load(mo_relaxed, $) + 1, mo_relaxed, $);
        spare_lock_.release();
    }
    bool pick_of(unsigned p) {
        if (p == 0) return false;
        RL_ASSERT(kinds_[p].alive($) == 1);
        return take_one(kinds_[p].units);
    }
    bool take_spare() {
        if (spare_.load(mo_relaxed, $) == 0) return false;
        spare_lock_.acquire();
        const unsigned n = spare_.load(mo_relaxed, $);
        if (n) spare_.store(n - 1, mo_relaxed, $);
        spare_lock_.release();
        return n;
    }
    bool in_order() {
        return policy_.load(mo_relaxed, $) ||
               (!seeded(looks_at_spare_units_in_order_only) && spare_.load(mo_relaxed, $) != 0);
    }

    // ---- Units come
    void line_up(unsigned s) {
        unsigned p = policy_.load(mo_relaxed, $);
        slot_[s].lock_.acquire();
        if (!seeded(lines_up_with_what_it_saw)) p = policy_.load(mo_relaxed, $);
        if (p)
            hand(p);
        else
            slot_[s].ready.store(slot_[s].ready.load(mo_relaxed, $) + 1, mo_relaxed, $);
        slot_[s].lock_.release();
    }
    void push(unsigned h) {
        made_.fetch_add(1, mo_relaxed, $);
        if (slot_[h].closed($)) { // push_in_order
            slot_[h].lock_.acquire();
            const unsigned p = policy_.load(mo_relaxed, $);
            if (p) hand(p);
            slot_[h].lock_.release();
            if (p) return;
            RL_ASSERT(!seeded(takes_a_closed_deque_for_a_full_one));
            slot_[h].closed($) = 0;
        }
        put_one(slot_[h].fresh);
    }
    // By somebody who holds no hart of it, or by a hart.
    void make_ready(unsigned s) {
        account_.fetch_add(one_pin, mo_acq_rel, $); // acq_rel[account]
        made_.fetch_add(1, mo_relaxed, $);
        line_up(s);
        unsigned granted = call_harts();
        account_.fetch_sub(one_pin, mo_acq_rel, $); // acq_rel[account]
        work(granted);
    }
    // Returns the harts that come.
    unsigned call_harts() {
        rl::atomic_thread_fence(mo_seq_cst, $); // seq_cst[team-leave]
        if (wanted_of(account_.load(mo_relaxed, $)) != 0) return 0;
        want(account_, 1);
        if (harts_of(account_.load(mo_relaxed, $)) >= harts) return 0;
        unsigned granted = 0;
        base_lock_.acquire();
        while (idle_ != 0 && reserve(account_)) {
            granted |= idle_ & -idle_;
            idle_ &= idle_ - 1;
        }
        base_lock_.release();
        return granted;
    }

    // ---- Another order
    void settle(unsigned h) {
        const unsigned seen = policy_.load(mo_relaxed, $);
        if ((seen != 0) == (slot_[h].closed($) != 0)) return;
        slot_[h].lock_.acquire();
        const unsigned p = seeded(settles_with_what_it_saw) ? seen : policy_.load(mo_relaxed, $);
        if (p) {
            while (take_one(slot_[h].fresh)) hand(p);
            slot_[h].closed($) = 1;
        } else if (slot_[h].closed($)) {
            slot_[h].closed($) = 0;
        }
        slot_[h].lock_.release();
    }
    template <class Do> void with_slots(unsigned h, Do does) {
        const unsigned first = seeded(locks_its_own_slot_first) ? h : 0;
        for (unsigned i = 0; i < slots; ++i) {
            const unsigned s = (first + i) % slots;
            if (seeded(locks_its_own_slot_only) && s != h) continue;
            if (seeded(forgets_the_outside_slot) && s == outside) continue;
            does(slot_[s]);
        }
    }
    void replace_by(unsigned h, unsigned next) {
        with_slots(h, [](auto &s) { s.lock_.acquire(); });
        const unsigned old = policy_.load(mo_relaxed, $);
        policy_.store(next, mo_relaxed, $);
        if (old)
            move_units(h, old, next);
        else if (next)
            move_queues(next);
        with_slots(h, [](auto &s) { s.lock_.release(); });
        if (old) kinds_[old].alive($) = 0;
        settle(h);
        work(call_harts());
    }
    void move_queues(unsigned to) {
        for (auto &s : slot_) {
            for (unsigned n; (n = s.ready.load(mo_relaxed, $)) != 0; s.ready.store(n - 1, mo_relaxed, $))
                if (!seeded(moves_no_ready_ones)) hand(to);
            while (take_one(s.fresh)) hand(to);
        }
    }
    void move_units(unsigned h, unsigned from, unsigned to) {
        unsigned n = 0;
        while (!seeded(moves_no_units) && pick_of(from)) ++n;
        for (; n != 0; --n)
            if (to)
                hand(to);
            else
                slot_[h].ready.store(slot_[h].ready.load(mo_relaxed, $) + 1, mo_relaxed, $);
    }

    // ---- What a hart does
    bool take_ready(unsigned s) {
        if (slot_[s].ready.load(mo_relaxed, $) == 0) return false;
        slot_[s].lock_.acquire();
        const unsigned n = slot_[s].ready.load(mo_relaxed, $);
        if (n) slot_[s].ready.store(n - 1, mo_relaxed, $);
        slot_[s].lock_.release();
        return n;
    }
    bool pick(unsigned h) {
        const unsigned seen = policy_.load(mo_relaxed, $);
        slot_[h].lock_.acquire();
        const bool found = pick_of(seeded(picks_with_what_it_saw) ? seen : policy_.load(mo_relaxed, $));
        slot_[h].lock_.release();
        return found || take_spare();
    }
    bool find_work(unsigned h) {
        settle(h);
        if (in_order() && pick(h)) return true;
        for (unsigned i = 0; i < slots; ++i)
            if (take_ready((h + i) % slots)) return true;
        for (unsigned i = 0; i < harts; ++i)
            if (take_one(slot_[(h + i) % harts].fresh)) return true;
        return false;
    }
    void hart(unsigned h) {
        for (;;) {
            while (find_work(h)) done_.fetch_add(1, mo_relaxed, $);
            unsigned a = account_.load(mo_relaxed, $);
            for (;;) { // core::yield
                const bool stay = wanted_of(a) != 0;
                if (!account_.compare_exchange_weak(a, a - (stay ? one_wanted : one_hart), mo_acq_rel, $, mo_relaxed,
                                                    $)) // acq_rel[account]
                    continue;
                if (stay) break;
                base_lock_.acquire();
                const bool granted = reserve(account_);
                if (!granted) idle_ |= 1u << h;
                base_lock_.release();
                if (!granted) return;
                break;
            }
            rl::atomic_thread_fence(mo_seq_cst, $); // seq_cst[team-leave]
        }
    }
    void work(unsigned granted) {
        for (unsigned h = 0; h < harts; ++h)
            if (granted & 1u << h) hart(h);
    }
    void thread(unsigned id) {
        if (id == outside) return make_ready(outside);
        push(id);
        if (id == 0) {
            replace_by(0, 1);
            replace_by(0, rl::rand(2) ? 2 : 0);
        } else if (rl::rand(2)) {
            make_ready(1);
            replace_by(1, rl::rand(2) ? 3 : 0);
        }
        push(id);
        hart(id);
    }
    void after() {
        RL_ASSERT(harts_of(account_.load(mo_relaxed, $)) == 0);
        RL_ASSERT(done_.load(mo_relaxed, $) == made_.load(mo_relaxed, $));
    }
};

const registration here{
    {"replace",
     {"locks_its_own_slot_only", "forgets_the_outside_slot", "locks_its_own_slot_first", "lines_up_with_what_it_saw",
      "picks_with_what_it_saw", "settles_with_what_it_saw", "looks_at_spare_units_in_order_only",
      "takes_a_closed_deque_for_a_full_one", "moves_no_units", "moves_no_ready_ones"},
     search<replace>,
     {0, 20000}}};

} // namespace
} // namespace model
