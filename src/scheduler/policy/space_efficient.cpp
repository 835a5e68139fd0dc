// Depth first (Narlikar and Blelloch, Space-efficient scheduling of parallelism with synchronization variables and
// Pthreads: AsyncDF): the leftmost in the order in which one hart alone would execute the threads. A thread that is
// created stands immediately left of its creator. Priorities come first: the order holds within one.
#include "core/runtime.hpp"
#include "core/spinlock.hpp"
#include "pool/unit.hpp"
#include "scheduler/policy/descent.hpp"
#include "scheduler/policy/others_turn.hpp"
#include "scheduler/policy/serial_order.hpp"
#include "sys/clock.hpp"
#include "sys/linked_list.hpp"

#include <array>
#include <atomic>
#include <bit>
#include <mutex>
#include <new>
#include <utility>

namespace comity::scheduler {

namespace {

// Who is run in place of a position that has dummies left.
unit dummy{.run = [](unit *, core::carrier *) noexcept {}};

class space_efficient : public descent {
public:
    explicit space_efficient(std::size_t quota_of_dispatch) noexcept
        : descent(COMITY_SCHEDULER_SPACE_EFFICIENT, quota_of_dispatch, true) {}
    ~space_efficient() override {
        for (block *b = blocks_; b;) delete std::exchange(b, b->next);
    }

    bool add(unsigned, unit *u, unit *creator, bool starts) noexcept override {
        const std::scoped_lock hold(lock_);
        const bool lasts = u->tracked == tracking::told;
        u->tracked = tracking::none;
        position *const at = position_for(creator), *const p = take_position();
        if (!p) return false;
        // A half of a fork is what its creator leaves for later; a thread is what it waits for.
        lasts ? order_.insert_left_of(p, at) : order_.insert_right_of(p, at);
        if (lasts) own(p, u);
        if (starts && !lasts) give_back(p);
        if (!starts) wait(p, u, occasion::created);
        return true;
    }

    bool line_up(unsigned, unit *u, unit *who, occasion why) noexcept override { return line_up(u, who, why, 0); }
    bool line_up_delayed(unsigned, unit *u, unit *who, std::uint64_t dummies) noexcept override {
        return line_up(u, who, occasion::ready, dummies);
    }

    // By a second, passing position. Few stand between those that he leaves, or it is not worth the way.
    bool line_up_early(unsigned, unit *u, unit *who, unsigned left) noexcept override {
        const std::scoped_lock hold(lock_);
        position *at = position_for(who), *const p = at ? take_position() : nullptr;
        if (!p) return false;
        position *l = at->left;
        for (unsigned steps = 4 * left; l && left != 0 && steps != 0; l = l->left, --steps) {
            if (!l->ready) continue;
            at = l;
            --left;
        }
        order_.insert_left_of(p, at);
        wait(p, u, occasion::ready);
        return true;
    }

    void end(unit *u) noexcept override {
        const std::scoped_lock hold(lock_);
        if (u->tracked == tracking::positioned) give_back(reinterpret_cast<position *>(u->next));
        u->tracked = tracking::none;
    }

    unit *pick() noexcept override {
        const std::scoped_lock hold(lock_);
        level *const l = highest();
        if (!l) return nullptr;
        position *p = others_.has_come() ? l->take_overtaken() : nullptr;
        if (!p) {
            const position *const top = l->top();
            // With nobody left of it, it does what one hart alone would do now, so it need not be held back.
            if (top && top->dummies != 0 && top != order_.first()) {
                --l->top()->dummies;
                return &dummy;
            }
            p = top ? l->take_top() : l->yielded.pop_front();
        }
        p->dummies = 0;
        if (kept_) keep_nobody();
        if (l->is_empty()) mark(*l, false);
        waiting_.store(waiting() - 1, std::memory_order_relaxed);
        unit *const u = std::exchange(p->ready, nullptr);
        if (!p->who) give_back(p);
        return u;
    }

    void keep_for(unsigned hart) noexcept override {
        const std::scoped_lock hold(lock_);
        const level *const l = highest();
        if (!l || l->top() != newest_ || ++offers_ % offers_to_all == 0) return;
        kept_ = newest_;
        keeper_.store(hart, std::memory_order_relaxed);
        kept_until_.store(sys::ticks() + core::ticks_per_us() * kept_us, std::memory_order_relaxed);
    }

    choice pick_for(unsigned hart) noexcept override {
        const std::uint64_t until = kept_until_.load(std::memory_order_relaxed);
        if (until != 0 && keeper_.load(std::memory_order_relaxed) != hart && sys::ticks() < until)
            return {.kept = true};
        return {.u = pick(), .renews = true};
    }

    bool has_work() noexcept override { return waiting_.load(std::memory_order_relaxed) != 0; }
    unsigned waiting() const noexcept override { return waiting_.load(std::memory_order_relaxed); }

    bool is_next(unsigned, const unit *who) noexcept override {
        const std::scoped_lock hold(lock_);
        const level *const l = highest();
        if (!l) return true;
        const position *const p = position_of(who), *const first = l->top();
        const std::uint8_t rank = who ? who->rank() : 0;
        if (rank != rank_of(*l)) return rank > rank_of(*l);
        return !first || (p && p->label < first->label);
    }

    void retire() noexcept override {
        const std::scoped_lock hold(lock_);
        for (position *p = order_.first(); p; p = p->right) {
            if (p->who) std::exchange(p->who, nullptr)->tracked = tracking::none;
            p->dummies = 0;
        }
    }

private:
    struct by_sibling {
        static position *&of(position *p) noexcept { return p->sibling; }
    };
    // What waits of one priority. Who yields lets all others of it go first, wherever he stands.
    struct level {
        // Those in `overtaken` were ready at an earlier turn of others; nobody joins them until all have been picked.
        leftmost_first ready, overtaken;
        sys::linked_list<position, by_sibling> yielded;
        bool owes_yielded = false; // at the next turn of others
        bool is_empty() const noexcept { return !top() && yielded.empty(); }
        position *top() const noexcept {
            position *const r = ready.top(), *const o = overtaken.top();
            return r && o ? (r->label < o->label ? r : o) : r ? r : o;
        }
        position *take_top() noexcept {
            position *const p = top();
            (p == ready.top() ? ready : overtaken).pop();
            return p;
        }
        position *take_overtaken() noexcept {
            owes_yielded = !owes_yielded;
            if (!yielded.empty() && owes_yielded) return yielded.pop_front();
            if (!overtaken.top()) std::swap(ready, overtaken);
            position *const p = overtaken.top();
            if (p) overtaken.pop();
            return p;
        }
    };
    struct block : sys::in_own_memory {
        block *next = nullptr;
        std::array<position, 63> positions;
    };

    bool line_up(unit *u, unit *who, occasion why, std::uint64_t dummies) noexcept {
        const std::scoped_lock hold(lock_);
        position *p = position_for(who);
        if (!p && !(p = take_position_behind_all())) return false;
        p->dummies = dummies;
        wait(p, u, why);
        return true;
    }

    static position *position_of(const unit *who) noexcept {
        return who && who->tracked == tracking::positioned ? reinterpret_cast<position *>(who->next) : nullptr;
    }
    static void own(position *p, unit *u) noexcept {
        p->who = u;
        u->next = reinterpret_cast<unit *>(p);
        u->tracked = tracking::positioned;
    }

    // The same; one that has none yet, and is tracked, gets one behind all.
    position *position_for(unit *who) noexcept {
        if (!who || who->tracked != tracking::told) return position_of(who);
        position *const p = take_position_behind_all();
        if (p) own(p, who);
        return p;
    }

    position *take_position_behind_all() noexcept {
        position *const p = take_position();
        if (p) order_.insert_left_of(p, nullptr);
        return p;
    }
    position *take_position() noexcept {
        if (!free_) add_block();
        position *const p = free_;
        if (!p) return nullptr;
        free_ = p->sibling;
        *p = position{};
        return p;
    }
    void add_block() noexcept {
        auto *b = new (std::nothrow) block;
        if (!b) return;
        b->next = std::exchange(blocks_, b);
        for (position &p : b->positions) p.sibling = std::exchange(free_, &p);
    }
    void give_back(position *p) noexcept {
        order_.erase(p);
        p->sibling = std::exchange(free_, p);
    }

    void wait(position *p, unit *u, occasion why) noexcept {
        level &l = levels_[u->rank()];
        if (l.is_empty()) mark(l, true);
        p->ready = u;
        newest_ = p;
        if (kept_) keep_nobody();
        why == occasion::yielded ? l.yielded.push_back(p) : l.ready.push(p);
        waiting_.store(waiting() + 1, std::memory_order_relaxed);
    }

    void keep_nobody() noexcept {
        kept_ = nullptr;
        kept_until_.store(0, std::memory_order_relaxed);
    }

    unsigned rank_of(const level &l) const noexcept { return static_cast<unsigned>(&l - levels_.data()); }
    void mark(const level &l, bool waits) noexcept {
        const std::uint64_t bit = std::uint64_t{1} << (rank_of(l) % 64);
        std::uint64_t &word = waits_[rank_of(l) / 64];
        word = waits ? word | bit : word & ~bit;
    }
    level *highest() noexcept {
        for (unsigned i = static_cast<unsigned>(waits_.size()); i-- > 0;)
            if (waits_[i] != 0) return &levels_[i * 64 + 63 - static_cast<unsigned>(std::countl_zero(waits_[i]))];
        return nullptr;
    }

    core::spinlock lock_; // of all below
    serial_order order_;
    std::array<level, 256> levels_;
    std::array<std::uint64_t, 4> waits_{}; // a bit for each level in which somebody does
    std::atomic<unsigned> waiting_{0};
    position *free_ = nullptr;
    block *blocks_ = nullptr;
    // Kept for a hart. All that comes and goes ends it.
    const position *newest_ = nullptr, *kept_ = nullptr;
    unsigned offers_ = 0;
    others_turn others_;
    // Hints for those who have not the lock, who look at nothing else meanwhile.
    alignas(64) std::atomic<std::uint64_t> kept_until_{0}; // ticks; 0: nobody is
    std::atomic<unsigned> keeper_{0};
};

} // namespace

policy *make_space_efficient(const comity_scheduler_attr_t &a, int &error) noexcept {
    return or_no_memory(new (std::nothrow) space_efficient(quota_of(a)), error);
}

} // namespace comity::scheduler
