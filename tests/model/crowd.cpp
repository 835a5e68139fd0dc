// The crowd in which a barrier's waiters stand: src/sync/crowd.hpp. Thread 0 opens phase 1; thread 1 waits for that and
// then opens phase 2; thread 2 waits for both. Whoever opens a phase may come to the crowd late.
#include "checker.hpp"

namespace model {
namespace {

enum bug {
    none,
    push_relaxed,
    take_relaxed,
    looks_relaxed,
    phases_are_not_compared,
    helper_forgets_the_others,
    opens_backwards
};

struct crowd : rl::test_suite<crowd, 3> {
    static constexpr unsigned tag_bits = 8, list_bits = 7; // who is first, plus 1; the phase above
    atomic<unsigned> phase_, head_, blocked[3];
    var<unsigned> next[3]; // as the list's bits
    var<int> saved[3];     // what the waiter has left on its stack
    parker resumed[3];

    void before() {
        phase_.store(0, mo_relaxed, $);
        head_.store(0, mo_relaxed, $);
        for (auto &b : blocked) b.store(0, mo_relaxed, $);
        for (unsigned i = 0; i < 3; ++i) {
            next[i]($) = 0;
            saved[i]($) = 0;
        }
    }
    static int lead(unsigned phase, unsigned head) {
        return static_cast<int>(phase) - static_cast<int>(head / tag_bits);
    }
    void unblock_all(unsigned list) {
        while (list) {
            const unsigned c = list - 1;
            list = next[c]($);
            saved[c]($) = saved[c]($) + 1; // goes on with it
            RL_ASSERT(blocked[c].exchange(0, mo_relaxed, $) == 1);
            resumed[c].wake();
        }
    }
    void open(unsigned phase) {
        unsigned head = head_.load(mo_relaxed, $);
        do
            if (lead(phase, head) <= 0 && !seeded(opens_backwards)) return;
        while (!head_.compare_exchange_weak(head, phase * tag_bits, unless(take_relaxed, mo_acq_rel), $, mo_relaxed,
                                            $)); // acq_rel[crowd]
        unblock_all(head & list_bits);
    }
    bool push(unsigned c, unsigned phase) {
        const auto acquire = unless(looks_relaxed, mo_acquire);
        unsigned head = head_.load(acquire, $), to = 0; // acquire[crowd]
        int ahead = 0;
        saved[c]($) = 1;
        blocked[c].store(1, mo_relaxed, $);
        do {
            ahead = lead(phase, head);
            if (ahead < 0 && !seeded(phases_are_not_compared)) {
                blocked[c].store(0, mo_relaxed, $);
                return false;
            }
            next[c]($) = ahead <= 0 ? head & list_bits : 0;
            to = c + 1 + phase * tag_bits;
            if (ahead < 0) to = c + 1 + head / tag_bits * tag_bits;
        } while (!head_.compare_exchange_weak(head, to, unless(push_relaxed, mo_acq_rel), $, acquire,
                                              $)); // acq_rel[crowd]
        if (ahead > 0 && !seeded(helper_forgets_the_others)) unblock_all(head & list_bits);
        return true;
    }
    void wait(unsigned c, unsigned phase) {
        if (rl::rand(2) && phase_.load(mo_acquire, $) != phase) return; // acquire[barrier-phase]
        if (push(c, phase)) resumed[c].wait();
        RL_ASSERT(phase_.load(mo_acquire, $) != phase);
    }
    void thread(unsigned id) {
        if (id != 0) wait(id, 0);
        if (id == 2) return wait(id, 1);
        phase_.fetch_add(1, mo_acq_rel, $); // acq_rel[barrier-phase]
        open(id + 1);
    }
};

const registration here{{"crowd",
                         {"push_relaxed", "take_relaxed", "looks_relaxed", "phases_are_not_compared",
                          "helper_forgets_the_others", "opens_backwards"},
                         search<crowd>,
                         {1, 60000}}};

} // namespace
} // namespace model
