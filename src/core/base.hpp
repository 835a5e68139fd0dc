// The base scheduler: the root of the tree. Owns the harts, grants them to the schedulers of the program's threads,
// parks idle carriers, and lets adopted threads wait for their first hart. Protocols: README.md.
#pragma once

#include "core/child_list.hpp"
#include "core/runtime.hpp"
#include "core/sched.hpp"
#include "core/spinlock.hpp"
#include "sys/linked_list.hpp"
#include "sys/options.hpp"

#include <atomic>
#include <new>

namespace comity::core {

class base_scheduler : public sched {
public:
    static void start(unsigned n) noexcept; // with n harts
    unsigned hart_count() const noexcept { return count_; }

    // The calling adopted carrier gets a hart: its kept one, an idle one, or it waits its turn; false:
    // its patience has ended. Does not switch; may sleep.
    bool acquire(carrier *k, patience p = patience::lasts) noexcept;
    // The calling adopted carrier's outermost region has ended, or a call of it: it keeps the hart, or hands it to a
    // thread that waits, or a root.
    void leave(carrier *k, next_use next) noexcept;
    // The calling adopted carrier computes outside Comity, and keeps a hart as if it had just left a region: the one it
    // keeps already, or an idle one. False: there is none, and it has none; then one that becomes idle soon is kept for
    // it ("Kept harts": README.md). Never waits.
    bool keep(carrier *k) noexcept;
    // The carrier asked for one, and has no use for it any more. Its own thread.
    void wants_none_to_keep(carrier *k) noexcept;
    // Harts that other threads keep while they sleep become idle, or go to whoever waits. Looks at most once in a
    // millisecond. Any thread.
    void release_from_sleepers() noexcept;
    // The hart that `k`, which is the caller's, keeps, if nobody has taken it; null: none.
    hart *kept_by(carrier *k) noexcept;
    // The hart is the caller's again, who is `k` or has just kept it for him; false: somebody has taken it.
    static bool take_back(hart *h, carrier *k) noexcept;
    // Somebody was told that there is none for him to keep: whoever lingers without work should give his up.
    bool has_outsider() const noexcept { return outsider_.load(std::memory_order_relaxed); }
    // The thread ends or sleeps: the hart goes to whoever needs it, or becomes idle.
    void release(hart *h) noexcept;

    // Grants idle harts to a root scheduler that wants some, or remembers it. The caller holds a hart in `root`, or a
    // pin.
    void request(sched *root) noexcept;
    // The root wants a hart: it is served now or in its turn. The caller holds a pin, or a hart in it.
    void stand_in_line(sched *root) noexcept;
    // Takes a root out of the list of those that want harts.
    void withdraw(sched *root) noexcept { roots_.forget(root); }
    // It may have got what it wanted.
    void content(sched *root) noexcept { roots_.drop_if_content(root); }
    // Whoever stands in line gets a hart that an adopted thread keeps while it sleeps outside: when it was asked for,
    // that one was awake. Any thread.
    void serve_from_sleepers() noexcept;
    // Has one hart given up with which a context dozes; it goes to whoever is in line. By anybody who stands there. The
    // second: this hart, if that is so.
    void recall() noexcept;
    static bool recall(hart *h) noexcept;

    // Calls visit(h, argument) for each idle hart, which is the caller's meanwhile: a few instructions, that wait for
    // nothing. Any thread that has no hart.
    void visit_idle(void (*visit)(hart *h, void *argument), void *argument) noexcept;

    // Somebody waits for a hart: whoever spins without work should give his up.
    bool pressed() const noexcept { return waited_for() || !roots_.empty(); }
    // A thread of the program waits for one.
    bool waited_for() const noexcept { return !waiting_.empty(); }
    // Has the first of them waited for as long as this, or ten times as long if it is outside all regions, so that
    // ranks hardly wait for it? Any thread.
    bool waited_for_long(std::int64_t ns) noexcept;
    // What that was when it was asked last. Contexts that yield to each other for ever look busy, and keep their harts.
    bool is_starved() const noexcept { return starved_.load(std::memory_order_relaxed); }
    // Called by a thread that has waited for a hart for some milliseconds, again and again, and when a program's thread
    // could go on but for what runs on it. One for the process; it must not switch.
    static void on_long_wait(void (*call)() noexcept) noexcept { long_wait_.store(call, std::memory_order_relaxed); }
    static void tell_of_wait() noexcept {
        if (auto *call = long_wait_.load(std::memory_order_relaxed)) call();
    }
    // Somebody else than this root.
    bool pressed_by_others(const sched *root) const noexcept { return waited_for() || roots_.has_others(root); }
    // Is there somebody without any hart, so that even the last one of a root should go? And can a worker bring it
    // back? The caller carries `h` in a root.
    COMITY_SHARED bool should_have_the_last(hart *h) noexcept;
    // Has the hart, which is the caller's, a worker? Makes one if there are kernel threads to be had.
    COMITY_SHARED bool has_worker(hart *h) noexcept;
    // The same where none can be made, in the handler of a signal: there may be a spare one.
    bool finds_worker(hart *h) noexcept;
    // Sees to it that there is one, if some hart has no worker. One thread at a time; makes a kernel thread.
    void keep_spare_worker() noexcept;
    // Is there a worker, of some hart or spare, so that work can go on that the thread which began it waits for? Makes
    // one if need be. As above.
    COMITY_SHARED bool is_sure_of_a_worker() noexcept;
    // With one hart, in the handler of a signal, within the gate of forks: the carrier's hart goes on with a worker in
    // the scheduler in which it is, where it stays counted, and the carrier stands in line for it. False: nothing has
    // happened. Then take_back_lent, outside the gate, which sleeps until it has the hart again.
    bool lend(carrier *k) noexcept;
    void take_back_lent(carrier *k, sched *s) noexcept;
    // The hart, which is the caller's, goes to a carrier that sleeps: to enter `into`, where it is counted already; or
    // to a thread that waits for one.
    static void give(hart *h, carrier *to, sched *into) noexcept;
    unsigned idle_count() const noexcept;
    bool is_idle(const hart *h) const noexcept {
        return idle_[h->id / 64].load(std::memory_order_relaxed) >> h->id % 64 & 1;
    }
    // A hart waits in a root scheduler, awake, for something to do, and leaves it when somebody is in line; +1, then
    // -1.
    void searches(int change) noexcept {
        searchers_.fetch_add(static_cast<std::uint32_t>(change), std::memory_order_relaxed);
    }
    bool has_searchers() const noexcept { return searchers_.load(std::memory_order_relaxed) != 0; }
    // How many harts would come if they were asked for: those that are idle, that search, and with which somebody
    // dozes; stale at once.
    unsigned free_count() const noexcept;
    bool has_any_worker() const noexcept;

    // The calling carrier, on its transition context, carries hart `id` from now on in place of its own, if that one is
    // idle or kept by a thread outside Comity; nothing else changes for the scheduler for which it works. Does not
    // switch.
    bool trade(carrier *k, unsigned id) noexcept;

    // For a moment in which nobody but the caller, which may carry one, is to have a hart (alone.hpp). The first takes
    // all that are free now beside those that it has taken before: true if these are all. The last gives them back.
    bool take_all(const carrier *k) noexcept;
    // Waits for so long for another one, as a thread that has none, so that nobody lingers with one. The caller's
    // carrier.
    void take_next(carrier *k, std::int64_t ns) noexcept;
    void give_back_all() noexcept;
    // Of the workers, all of which sleep when all harts are taken: how many there are; they end.
    unsigned worker_count() const noexcept;
    void end_workers() noexcept;

    void yielded(carrier *k) noexcept; // the body of the yield callback; does not return
    void before_fork() noexcept;
    void parent_after_fork() noexcept;
    void child_after_fork(carrier *survivor) noexcept;

    hart *harts() noexcept { return harts_; }

private:
    static constexpr unsigned words = sys::most_harts / 64;

    hart *claim_idle() noexcept;
    bool claim_idle(hart *h) noexcept;
    hart *claim_idle_with_worker() noexcept; // where no more workers can be made
    hart *claim_own() noexcept;
    static bool claim_kept(hart *h) noexcept;
    void put_idle(hart *h) noexcept;
    hart *take_kept(std::uint64_t grace) noexcept;
    hart *take_kept_of_sleeper() noexcept;
    bool has_keepers() const noexcept;
    void look_for_sleepers() noexcept;
    carrier *pop_waiter() noexcept;
    std::uint32_t queue_up(carrier *k) noexcept;
    bool remove_waiter(carrier *k) noexcept;
    bool serve_demand(hart *h) noexcept;
    bool keep_for_outsider(hart *h) noexcept;
    void keep_no_other(carrier *k) noexcept;
    static void note_keeper(hart *h, carrier *keeper, int id, std::uint64_t now) noexcept;
    bool wait_for_hart(carrier *k, patience p) noexcept;
    hart *claim_for(carrier *k) noexcept;
    static bool set_worker(hart *h, std::atomic<carrier *> &from) noexcept;

    hart *harts_ = nullptr;
    unsigned count_ = 0;
    unsigned words_used_ = 0;
    alignas(
        64) std::atomic<std::uint64_t> idle_[words]{};    // bit i: hart i is idle, and whoever clears it holds the hart
    alignas(64) std::atomic<std::uint32_t> searchers_{0}; // root schedulers' harts in `searches`
    alignas(64) sys::counted_list<carrier> waiting_;      // adopted threads, under lock_; size, empty: anybody
    spinlock lock_;
    child_list roots_;
    // Who asked last for a hart to keep and got none, by `keep`: compared, never followed. Hints, by any thread.
    std::atomic<carrier *> outsider_{nullptr};
    std::atomic<int> outsider_id_{0};                                   // his kernel thread
    std::atomic<std::uint64_t> outsider_asked_{0};                      // ticks
    std::atomic<bool> has_kept_for_others_{false};                      // ever
    std::atomic<std::uint64_t> looked_at_sleepers_{0};                  // ticks
    static inline std::atomic<void (*)() noexcept> long_wait_{nullptr}; // on_long_wait
    std::atomic<bool> starved_{false};
    std::atomic<bool> no_more_workers_{false};     // a kernel thread could not be made
    std::atomic<carrier *> spare_worker_{nullptr}; // of no hart yet; whoever takes it has it
    std::atomic<carrier *> relief_{nullptr};       // the same, which has carried the hart for one that had lent it
    std::atomic<bool> is_lent_{false};             // the only hart; written by its owner
    std::uint64_t taken_[words]{};                 // by take_all, whose caller's these are
};

// Where it stands. It is never destroyed: harts may run until the process ends.
COMITY_SHARED extern unsigned char base_storage[];
inline base_scheduler &base() noexcept { return *std::launder(reinterpret_cast<base_scheduler *>(base_storage)); }

} // namespace comity::core
