// The count of a task's unfinished children: src/personality/openmp/task_count.hpp. Thread 0 executes the task and ends
// it, perhaps after waiting; its two children finish on other ranks, one of them before its own children do.
#include "checker.hpp"

namespace model {
namespace {

enum bug {
    none,
    finish_relaxed,
    look_relaxed,
    leave_relaxed,
    drop_relaxed,
    keeps_in_two_steps,
    waits_without_subtracting,
    subtracts_without_waits,
    leaves_by_store,
    ends_without_a_look_at_the_kept
};

struct task_count : rl::test_suite<task_count, 3> {
    static constexpr int kept = 1 << 8, waits = 1 << 16, alive = 1 << 18;
    atomic<int> word_;
    var<int> made, here; // the owner's
    var<int> result[3];  // of each child, and of the grandchild
    var<int> memory;     // read by each use, written when it is freed
    parker owner;

    void before() {
        word_.store(alive, mo_relaxed, $);
        made($) = 2;
        here($) = 0;
        for (auto &r : result) r($) = 0;
        memory($) = 0;
    }
    static unsigned low(int word) { return static_cast<unsigned>(word) & 0xff; }
    int outstanding() { return made($) - here($); }
    void use() { RL_ASSERT(memory($) == 0); }
    void release_memory() {
        use();
        memory($) = 1;
    }

    unsigned left() {
        return (static_cast<unsigned>(outstanding()) - low(word_.load(unless(look_relaxed, mo_acquire), $))) &
               0xff; // acquire[task-done]
    }
    void wait() {
        if (left() == 0) return;
        const int change =
            (seeded(subtracts_without_waits) ? 0 : waits) - (seeded(waits_without_subtracting) ? 0 : outstanding());
        word_.fetch_add(change, mo_relaxed, $);
        while (low(word_.load(unless(look_relaxed, mo_acquire), $)) != 0) owner.wait(); // acquire[task-done]
        word_.fetch_sub(change, mo_relaxed, $);
    }
    void end() {
        const int mine = alive + outstanding();
        if (seeded(ends_without_a_look_at_the_kept) ? left() == 0
                                                    : word_.load(mo_acquire, $) == mine) // acquire[task-done]
            return release_memory();
        if (seeded(leaves_by_store)) {
            const int now = word_.load(mo_acquire, $) - mine;
            word_.store(now, mo_release, $);
            if (now == 0) release_memory();
        } else if (word_.fetch_sub(mine, unless(leave_relaxed, mo_acq_rel), $) == mine) { // acq_rel[task-done]
            release_memory();
        }
    }
    void finish(bool keeps) {
        use();
        if (keeps && seeded(keeps_in_two_steps)) {
            word_.fetch_add(1, mo_acq_rel, $);
            word_.fetch_add(kept, mo_acq_rel, $);
            return;
        }
        const int plus = keeps ? 1 + kept : 1;
        const int now = word_.fetch_add(plus, unless(finish_relaxed, mo_acq_rel), $) + plus; // acq_rel[task-done]
        if (now == 0)
            release_memory();
        else if ((now & waits) && low(now) == 0)
            owner.wake();
    }
    void drop_kept() {
        use();
        if (word_.fetch_sub(kept, unless(drop_relaxed, mo_acq_rel), $) == kept) release_memory(); // acq_rel[task-done]
    }

    void thread(unsigned id) {
        if (id == 0) {
            if (rl::rand(2)) {
                wait();
                RL_ASSERT(result[0]($) == 1 && result[1]($) == 1);
            }
            end();
            return;
        }
        result[id - 1]($) = 1;
        finish(id == 2);
        if (id == 2) {
            result[2]($) = 1;
            drop_kept();
        }
    }
    void after() { RL_ASSERT(memory($) == 1); }
};

const registration here{
    {"task_count",
     {"finish_relaxed", "look_relaxed", "leave_relaxed", "drop_relaxed", "keeps_in_two_steps",
      "waits_without_subtracting", "subtracts_without_waits", "leaves_by_store", "ends_without_a_look_at_the_kept"},
     search<task_count>,
     {3, 60000}}};

} // namespace
} // namespace model
