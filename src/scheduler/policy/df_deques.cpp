// Depth first for many harts: each has a deque, and the deques stand in a global order. DFDeques of G. J. Narlikar
// (Scheduling threads for low space requirement and good locality, SPAA 1999; Theory of Computing Systems 35, 2002).
// Only who steals, or has used its quota up, touches what all share. README.md, "Depth-first in deques".
#include "core/base.hpp"
#include "core/runtime.hpp"
#include "core/spinlock.hpp"
#include "pool/unit.hpp"
#include "scheduler/policy/descent.hpp"
#include "scheduler/policy/others_turn.hpp"
#include "sys/clock.hpp"
#include "sys/linked_list.hpp"
#include "sys/own_count.hpp"
#include "sys/random.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

namespace comity::scheduler {

namespace {

// How many free entries a hart takes from the common ones at once.
constexpr unsigned entries_at_once = 32;

// Who is run in place of an entry that has dummies left.
unit dummy{.run = [](unit *, core::carrier *) noexcept {}};

struct entry {
    unit *u = nullptr;
    entry *above = nullptr, *below = nullptr;
    std::uint64_t dummies = 0; // so often is nothing run in its stead
};

struct by_above {
    static entry *&of(entry *e) noexcept { return e->above; }
};

struct level;

// The newest on top: the order of all units is from the top of the leftmost deque to the bottom of the rightmost.
struct alignas(64) deque {
    core::spinlock lock; // of the entries
    entry *top = nullptr, *bottom = nullptr;
    sys::own_count<unsigned> size;            // written with the lock
    std::atomic<std::uint64_t> kept_until{0}; // ticks; written by its hart
    // These with the lock of the order.
    deque *left = nullptr, *right = nullptr;
    level *in = nullptr;
    bool owned = false; // by a hart; who owns none, and is empty, is in no order
    std::uint64_t served = 0;

    bool is_empty() const noexcept { return size.get() == 0; }
    // Does its hart have it for itself? All it holds was just put in.
    bool is_kept(std::uint64_t now) const noexcept {
        return owned && now < kept_until.load(std::memory_order_relaxed) && size.get() == 1;
    }
    void add_on_top(entry *e) noexcept {
        const std::scoped_lock hold(lock);
        e->below = top;
        (top ? top->above : bottom) = e;
        top = e;
        ++size;
    }
    entry *take_top() noexcept {
        if (is_empty()) return nullptr;
        const std::scoped_lock hold(lock);
        entry *const e = top;
        if (!e) return nullptr;
        top = e->below;
        (top ? top->above : bottom) = nullptr;
        --size;
        return e;
    }
    // Null: it is empty, or a dummy was taken in place of the entry.
    entry *take_bottom(bool at_once, bool &dummy_instead) noexcept {
        if (is_empty()) return nullptr;
        const std::scoped_lock hold(lock);
        entry *const e = bottom;
        if (!e) return nullptr;
        if (e->dummies != 0 && !at_once) {
            --e->dummies;
            dummy_instead = true;
            return nullptr;
        }
        bottom = e->above;
        (bottom ? bottom->below : top) = nullptr;
        --size;
        return e;
    }
};

// What waits of one priority. With the lock of the order.
struct level {
    deque *first = nullptr, *last = nullptr;
    unsigned deques = 0;
    sys::linked_list<entry, by_above> yielded; // they let all others of the level go first
    std::uint64_t round = 0;                   // of turns of others: each deque is served once in it
    bool owes_yielded = false;                 // at the next turn of others

    bool is_empty() const noexcept { return !first && yielded.empty(); }
    bool has_work() const noexcept {
        const deque *d = first;
        while (d && d->is_empty()) d = d->right;
        return d || !yielded.empty();
    }
    // Null: behind all.
    void insert_right_of(deque *d, deque *at) noexcept {
        if (!at) at = last;
        d->in = this;
        d->served = round;
        d->left = at;
        d->right = at ? at->right : first;
        (at ? at->right : first) = d;
        (d->right ? d->right->left : last) = d;
        ++deques;
    }
    void erase(deque *d) noexcept {
        (d->left ? d->left->right : first) = d->right;
        (d->right ? d->right->left : last) = d->left;
        --deques;
    }
    // The rightmost that has not been served in this round.
    deque *next_to_serve() noexcept {
        for (unsigned rounds = 0; rounds < 2; ++rounds, ++round)
            for (deque *d = last; d; d = d->left)
                if (d->served < round && !d->is_empty()) {
                    d->served = round;
                    return d;
                }
        return nullptr;
    }
};

// What a hart has, with the lock of its slot.
struct alignas(64) hart_share {
    deque *own = nullptr;
    entry *free = nullptr;
    unsigned picks = 0, offers = 0;
    sys::own_count<unsigned> put, taken; // how many entries; anybody reads
};

// Objects of one type in blocks, which live as long as it.
template <class T> class store {
public:
    store() = default;
    ~store() {
        for (block *b = blocks_; b;) delete std::exchange(b, b->next);
    }
    store(const store &) = delete;
    store &operator=(const store &) = delete;
    // The caller links them. Null: no memory.
    template <class Function> bool add_block(Function &&link) noexcept {
        auto *b = new (std::nothrow) block;
        if (!b) return false;
        b->next = std::exchange(blocks_, b);
        for (T &t : b->objects) link(&t);
        return true;
    }

private:
    struct block : sys::in_own_memory {
        block *next = nullptr;
        std::array<T, 62> objects;
    };
    block *blocks_ = nullptr;
};

class df_deques : public descent {
public:
    df_deques(std::size_t quota_of_steal, unsigned harts) noexcept
        : descent(COMITY_SCHEDULER_DF_DEQUES, quota_of_steal, false),
          harts_(harts),
          shares_(new (std::nothrow) hart_share[harts + 1]) {}
    bool is_whole() const noexcept { return shares_ != nullptr; }

    bool add(unsigned hart, unit *u, unit *, bool starts) noexcept override {
        u->tracked = tracking::none; // a place in a deque ends when the unit is picked
        return starts || put(hart, u, 0, false);
    }
    bool line_up(unsigned hart, unit *u, unit *, occasion why) noexcept override {
        return put(hart, u, 0, why == occasion::yielded);
    }
    bool line_up_delayed(unsigned hart, unit *u, unit *, std::uint64_t dummies) noexcept override {
        if (!put(hart, u, dummies, false)) return false;
        const std::scoped_lock hold(order_lock_);
        leave_deque(shares_[hart]);
        return true;
    }
    void keep_for(unsigned hart) noexcept override {
        hart_share &h = shares_[hart];
        if (h.own && ++h.offers % offers_to_all != 0)
            h.own->kept_until.store(sys::ticks() + core::ticks_per_us() * kept_us, std::memory_order_relaxed);
    }
    void end(unit *u) noexcept override { u->tracked = tracking::none; }

    choice pick_for(unsigned hart) noexcept override {
        hart_share &h = shares_[hart];
        if (++h.picks % picks_between_looks == 0)
            if (unit *u = take_overtaken(h)) return {.u = u, .renews = true};
        for (level *l = highest(); l; l = below(l)) {
            if (h.own && h.own->in == l)
                if (entry *e = h.own->take_top()) {
                    ++h.taken;
                    unit *const u = e->u;
                    e->above = std::exchange(h.free, e);
                    return {.u = u};
                }
            const choice c = steal(h, *l);
            if (c.u || c.kept) return c;
        }
        return {};
    }

    // With the locks of all slots, or by who has no hart.
    unit *pick() noexcept override {
        const std::scoped_lock hold(order_lock_);
        for (level *l = highest(); l; l = below(l)) {
            for (deque *d = l->first; d; d = d->right)
                if (entry *e = d->take_top()) {
                    drop_if_unused(d);
                    return release(shares_[harts_], e);
                }
            if (entry *e = take_yielded(*l)) return release(shares_[harts_], e);
        }
        return nullptr;
    }

    bool has_work() noexcept override {
        const std::scoped_lock hold(order_lock_);
        for (const level *l = highest(); l; l = below(l))
            if (l->has_work()) return true;
        return false;
    }
    unsigned waiting() const noexcept override {
        unsigned n = 0;
        for (unsigned i = 0; i <= harts_; ++i) n += shares_[i].put.get() - shares_[i].taken.get();
        return n <= INT32_MAX ? n : 0; // read while it changes
    }

    bool is_next(unsigned hart, const unit *who) noexcept override {
        const std::scoped_lock hold(order_lock_);
        const level *const of_who = &levels_[who ? who->rank() : 0], *l = highest();
        for (; l && l > of_who; l = below(l))
            if (l->has_work()) return false;
        if (l != of_who) return true;
        const deque *const own = shares_[hart].own;
        if (!own || own->in != l) return !l->has_work();
        const deque *d = l->first;
        while (d != own && d->is_empty()) d = d->right;
        return d == own;
    }

    // An entry that nobody picked before its dummies would not be picked at once.
    void retire() noexcept override {
        for (level *l = highest(); l; l = below(l))
            for (deque *d = l->first; d; d = d->right)
                for (entry *e = d->top; e; e = e->below) e->dummies = 0;
    }

private:
    bool put(unsigned hart, unit *u, std::uint64_t dummies, bool yielded) noexcept {
        hart_share &h = shares_[hart];
        entry *const e = take_entry(h);
        if (!e) return false;
        *e = entry{.u = u, .dummies = dummies};
        level &l = levels_[u->rank()];
        if (yielded) {
            const std::scoped_lock hold(order_lock_);
            l.yielded.push_back(e);
            mark(l);
        } else if (h.own && h.own->in == &l) {
            h.own->add_on_top(e);
        } else if (!put_behind_all(h, hart < harts_ && !h.own, l, e)) {
            e->above = std::exchange(h.free, e);
            return false;
        }
        ++h.put;
        return true;
    }

    // In a deque of its own, which is the hart's from now on, if it shall be.
    bool put_behind_all(hart_share &h, bool own, level &l, entry *e) noexcept {
        const std::scoped_lock hold(order_lock_);
        deque *const d = take_deque();
        if (!d) return false;
        d->add_on_top(e);
        d->owned = own;
        l.insert_right_of(d, nullptr);
        mark(l);
        if (own) h.own = d;
        return true;
    }

    // From one of the leftmost deques, of which there are as many as harts; or the whole leftmost one, if it is
    // nobody's.
    choice steal(hart_share &h, level &l) noexcept {
        const std::scoped_lock hold(order_lock_);
        const std::uint64_t now = sys::ticks();
        bool kept = false, dummy_instead = false;
        entry *e = nullptr;
        deque *d = l.first;
        while (d && d->is_empty() && d == h.own) d = d->right;
        if (d && !d->owned) return {.u = take_over(h, d), .renews = true};
        d = l.first;
        const auto take = [&] {
            if (d->is_kept(now)) {
                kept = true;
                return false;
            }
            e = d->take_bottom(false, dummy_instead);
            return e || dummy_instead;
        };
        for (unsigned n = d ? sys::some_number() % std::min(harts_, l.deques) : 0; n > 0; --n) d = d->right;
        if (d && !take())
            for (d = l.first; d && !take();) d = d->right;
        if (dummy_instead) {
            leave_deque(h);
            return {.u = &dummy, .renews = true};
        }
        unit *const u = e ? start_deque(h, e, l, d) : kept ? nullptr : release_yielded(h, l);
        return {.u = u, .kept = kept && !u, .renews = u != nullptr};
    }

    // What stands on top of it would run now without threads.
    unit *take_over(hart_share &h, deque *d) noexcept {
        leave_deque(h);
        d->owned = true;
        h.own = d;
        return release(h, d->take_top());
    }

    // The hart goes on with what was in `from`, in a deque of its own to the right of that.
    unit *start_deque(hart_share &h, entry *e, level &l, deque *from) noexcept {
        deque *const d = take_deque();
        if (d) {
            d->owned = true;
            l.insert_right_of(d, from);
        }
        drop_if_unused(from);
        leave_deque(h);
        h.own = d;
        return release(h, e);
    }

    unit *release_yielded(hart_share &h, level &l) noexcept {
        entry *const e = take_yielded(l);
        return e ? release(h, e) : nullptr;
    }

    unit *take_overtaken(hart_share &h) noexcept {
        const std::uint64_t now = sys::ticks();
        std::uint64_t last = others_turn_.load(std::memory_order_relaxed);
        if (now - last < others_turn_us * core::ticks_per_us()) return nullptr;
        if (!others_turn_.compare_exchange_strong(last, now, std::memory_order_relaxed) || last == 0) return nullptr;
        const std::scoped_lock hold(order_lock_);
        level *l = highest();
        while (l && !l->has_work()) l = below(l);
        if (!l) return nullptr;
        l->owes_yielded = !l->owes_yielded;
        if (l->owes_yielded)
            if (unit *u = release_yielded(h, *l)) return u;
        deque *const d = l->next_to_serve();
        bool none = false;
        entry *const e = d ? d->take_bottom(true, none) : nullptr;
        return e ? start_deque(h, e, *l, d) : nullptr;
    }

    // ---- With the lock of the order

    void leave_deque(hart_share &h) noexcept {
        deque *const d = std::exchange(h.own, nullptr);
        if (!d) return;
        d->owned = false;
        drop_if_unused(d);
    }
    void drop_if_unused(deque *d) noexcept {
        if (d->owned || !d->is_empty()) return;
        level &l = *d->in;
        l.erase(d);
        mark(l);
        d->right = std::exchange(free_deques_, d);
    }
    deque *take_deque() noexcept {
        const auto link = [this](deque *d) { d->right = std::exchange(free_deques_, d); };
        if (!free_deques_ && !deques_.add_block(link)) return nullptr;
        return std::exchange(free_deques_, free_deques_->right);
    }
    entry *take_yielded(level &l) noexcept {
        entry *const e = l.yielded.pop_front();
        if (e) mark(l);
        return e;
    }
    // The entry of what is run now: to the common ones, since others made it.
    unit *release(hart_share &h, entry *e) noexcept {
        ++h.taken;
        e->above = std::exchange(free_entries_, e);
        return e->u;
    }
    void mark(const level &l) noexcept {
        const unsigned n = rank_of(l);
        std::atomic<std::uint64_t> &word = used_[n / 64];
        const std::uint64_t bit = std::uint64_t{1} << (n % 64), seen = word.load(std::memory_order_relaxed);
        word.store(l.is_empty() ? seen & ~bit : seen | bit, std::memory_order_relaxed);
    }

    // ---- Without it

    entry *take_entry(hart_share &h) noexcept {
        if (!h.free) {
            const std::scoped_lock hold(order_lock_);
            const auto link = [this](entry *e) { e->above = std::exchange(free_entries_, e); };
            if (!free_entries_) (void)entries_.add_block(link);
            for (unsigned i = 0; i < entries_at_once && free_entries_; ++i) {
                entry *const e = std::exchange(free_entries_, free_entries_->above);
                e->above = std::exchange(h.free, e);
            }
        }
        return h.free ? std::exchange(h.free, h.free->above) : nullptr;
    }

    unsigned rank_of(const level &l) const noexcept { return static_cast<unsigned>(&l - levels_.data()); }
    // Levels that have deques, or somebody who yielded; a hint without the lock of the order.
    level *highest() noexcept { return highest_below(static_cast<unsigned>(levels_.size())); }
    level *below(const level *l) noexcept { return highest_below(rank_of(*l)); }
    level *highest_below(unsigned end) noexcept {
        for (unsigned i = (end + 63) / 64; i-- > 0;) {
            std::uint64_t word = used_[i].load(std::memory_order_relaxed);
            if (end - i * 64 < 64) word &= (std::uint64_t{1} << (end - i * 64)) - 1;
            if (word != 0) return &levels_[i * 64 + 63 - static_cast<unsigned>(std::countl_zero(word))];
        }
        return nullptr;
    }

    const unsigned harts_;
    const std::unique_ptr<hart_share[]> shares_; // and one for those who have no hart
    core::spinlock order_lock_;                  // taken after a slot's, before a deque's
    std::array<level, 256> levels_;
    std::array<std::atomic<std::uint64_t>, 4> used_{}; // a bit for each level; written with the lock
    store<entry> entries_;
    store<deque> deques_;
    entry *free_entries_ = nullptr;
    deque *free_deques_ = nullptr;
    alignas(64) std::atomic<std::uint64_t> others_turn_{0}; // when the last one was; ticks
};

} // namespace

policy *make_df_deques(const comity_scheduler_attr_t &a, int &error) noexcept {
    core::ensure_started();
    auto *p = new (std::nothrow) df_deques(quota_of(a), core::base().hart_count());
    if (p && !p->is_whole()) delete std::exchange(p, nullptr);
    return or_no_memory(p, error);
}

} // namespace comity::scheduler
