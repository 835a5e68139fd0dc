// Readers-writer lock: src/sync/rwlock, its state word and the writers' permits. Two readers, one with a deadline, and
// a writer with one, and a writer without; a deadline passes when the search says so. Waiting is the wait list's
// (wait_list.cpp) and stands here as a condition variable.
#include "checker.hpp"

namespace model {
namespace {

enum bug {
    none,
    lock_relaxed,
    unlock_relaxed,
    last_reader_hands_nothing_over,
    last_reader_lets_nobody_in,
    turn_is_not_changed,
    lets_in_beside_readers,
    reader_gives_up_blindly,
    writer_gives_up_blindly
};

struct rwlock : rl::test_suite<rwlock, 3> {
    static constexpr unsigned one_reader = 1, one_waiting_reader = 0x10, one_waiting_writer = 0x100, writing = 0x1000,
                              turn = 0x2000;
    atomic<unsigned> state_, permits_;
    rl::mutex waiting;
    rl::condition_variable woken;
    var<int> data;

    static unsigned readers_of(unsigned s) { return s & 0xf; }
    static unsigned waiting_readers_of(unsigned s) { return s >> 4 & 0xf; }
    static unsigned waiting_writers_of(unsigned s) { return s >> 8 & 0xf; }
    static bool admits_reader(unsigned s) { return (s & ~(0xf | turn)) == 0; }
    static unsigned let_readers_in(unsigned s) {
        const unsigned n = waiting_readers_of(s);
        return n == 0 ? s : (s + n - n * one_waiting_reader) ^ (seeded(turn_is_not_changed) ? 0 : turn);
    }
    void before() {
        state_.store(0, mo_relaxed, $);
        permits_.store(0, mo_relaxed, $);
        data($) = 0;
    }
    void wake() {
        waiting.lock($);
        woken.notify_all($);
        waiting.unlock($);
    }
    bool change(unsigned s, unsigned to, bool hands_over) {
        if (!state_.compare_exchange_strong(s, to, unless(unlock_relaxed, mo_acq_rel), $, mo_relaxed, $))
            return false;                                     // acq_rel[rwlock]
        if (hands_over) permits_.fetch_add(1, mo_release, $); // release[rwlock-permit]
        if (hands_over || (s ^ to) & turn) wake();
        return true;
    }

    bool wait_for_permit(bool may_be_late) {
        waiting.lock($);
        for (;;) {
            unsigned n = permits_.load(mo_relaxed, $);
            if (n && permits_.compare_exchange_strong(n, n - 1, mo_acquire, $, mo_relaxed, $))
                break; // acquire[rwlock-permit]
            if (may_be_late && rl::rand(2)) {
                waiting.unlock($);
                return false;
            }
            woken.wait(waiting, $);
        }
        waiting.unlock($);
        return true;
    }
    bool writer_gives_up() {
        unsigned s = state_.load(mo_relaxed, $);
        while (waiting_writers_of(s) != 0 || seeded(writer_gives_up_blindly)) {
            unsigned to = s - one_waiting_writer;
            if (waiting_writers_of(to) == 0 && !(to & writing) && seeded(lets_in_beside_readers)) {
                if (change(s, let_readers_in(to), false)) return true;
                s = state_.load(mo_relaxed, $);
            } else if (state_.compare_exchange_weak(s, to, mo_relaxed, $)) {
                return true;
            }
        }
        return false;
    }
    bool lock(bool may_be_late) {
        unsigned s = state_.load(mo_relaxed, $);
        for (;;) {
            const bool free = (s & ~turn) == 0;
            const unsigned to = free ? s | writing : s + one_waiting_writer;
            if (!state_.compare_exchange_weak(s, to, unless(lock_relaxed, mo_acquire), $, mo_relaxed, $))
                continue; // acquire[rwlock]
            if (free) return true;
            break;
        }
        if (wait_for_permit(may_be_late)) return true;
        return !writer_gives_up() && wait_for_permit(false);
    }
    void unlock() {
        for (;;) {
            const unsigned s = state_.load(mo_relaxed, $);
            RL_ASSERT(s & writing);
            const bool hands_over = waiting_readers_of(s) == 0 && waiting_writers_of(s) != 0;
            if (change(s, hands_over ? s - one_waiting_writer : let_readers_in(s & ~writing), hands_over)) return;
        }
    }

    bool let_in(unsigned since, bool may_be_late) {
        waiting.lock($);
        while ((state_.load(unless(lock_relaxed, mo_acquire), $) & turn) == since) { // acquire[rwlock]
            if (may_be_late && rl::rand(2)) {
                waiting.unlock($);
                return false;
            }
            woken.wait(waiting, $);
        }
        waiting.unlock($);
        return true;
    }
    bool reader_gives_up(unsigned since) {
        unsigned s = state_.load(mo_acquire, $); // acquire[rwlock]
        while ((s & turn) == since || seeded(reader_gives_up_blindly))
            if (state_.compare_exchange_weak(s, s - one_waiting_reader, mo_acquire, $)) return true; // acquire[rwlock]
        return false;
    }
    bool lock_shared(bool may_be_late) {
        unsigned s = state_.load(mo_relaxed, $);
        for (;;) {
            const bool free = admits_reader(s);
            if (!state_.compare_exchange_weak(s, s + (free ? one_reader : one_waiting_reader),
                                              unless(lock_relaxed, mo_acquire), $, mo_relaxed, $))
                continue; // acquire[rwlock]
            if (free) return true;
            break;
        }
        const unsigned since = s & turn;
        return let_in(since, may_be_late) || !reader_gives_up(since);
    }
    void unlock_shared() {
        for (;;) {
            const unsigned s = state_.load(mo_relaxed, $);
            RL_ASSERT(readers_of(s) != 0);
            unsigned to = s - one_reader;
            const bool last = readers_of(to) == 0,
                       hands_over = last && waiting_writers_of(to) != 0 && !seeded(last_reader_hands_nothing_over);
            if (hands_over)
                to = (to - one_waiting_writer) | writing;
            else if (last && !seeded(last_reader_lets_nobody_in))
                to = let_readers_in(to);
            if (change(s, to, hands_over)) return;
        }
    }
    void read(bool may_be_late) {
        if (!lock_shared(may_be_late)) return;
        RL_ASSERT(data($) >= 0); // a race with a writer is an error
        unlock_shared();
    }
    void write(bool may_be_late) {
        if (!lock(may_be_late)) return;
        data($) = data($) + 1;
        unlock();
    }
    void thread(unsigned id) {
        if (id == 0) {
            write(false);
            read(false);
        } else if (id == 1) {
            read(true);
            write(false);
        } else {
            write(true);
            read(false);
        }
    }
    void after() {
        RL_ASSERT((state_.load(mo_relaxed, $) & ~turn) == 0);
        RL_ASSERT(permits_.load(mo_relaxed, $) == 0);
    }
};

const registration here{
    {"rwlock",
     {"lock_relaxed", "unlock_relaxed", "last_reader_hands_nothing_over", "last_reader_lets_nobody_in",
      "turn_is_not_changed", "lets_in_beside_readers", "reader_gives_up_blindly", "writer_gives_up_blindly"},
     search<rwlock>,
     {1, 60000}}};

} // namespace
} // namespace model
