// Once: src/sync/once.hpp. Three contexts want something done; the first attempt fails when the search says so. And
// values that are set with a continuation: src/sync/event.hpp, the list's add, remove and take_all (wait_list.cpp): the
// continuation is called once or taken back, and may destroy the event.
#include "checker.hpp"

namespace model {
namespace {

namespace once_bugs {
enum bug { none, begin_relaxed, end_relaxed, wakes_nobody, failure_counts, begins_twice };
}

struct once : rl::test_suite<once, 3> {
    static constexpr unsigned not_done = 0, under_way = 1, done = 2;
    atomic<unsigned> state_;
    rl::mutex waiting;
    rl::condition_variable woken;
    var<int> value, attempts;

    void before() {
        state_.store(+not_done, mo_relaxed, $);
        value($) = attempts($) = 0;
    }
    bool begin() {
        const auto acquire = unless(once_bugs::begin_relaxed, mo_acquire);
        unsigned s = state_.load(acquire, $); // acquire[once]
        while (s != done) {
            if (s == not_done) {
                if (seeded(once_bugs::begins_twice)) {
                    state_.store(+under_way, mo_relaxed, $);
                    return true;
                }
                if (state_.compare_exchange_strong(s, +under_way, acquire, $)) return true; // acquire[once]
                continue;
            }
            waiting.lock($);
            while (state_.load(mo_relaxed, $) == under_way) woken.wait(waiting, $);
            waiting.unlock($);
            s = state_.load(acquire, $); // acquire[once]
        }
        return false;
    }
    void end(bool succeeded) {
        if (seeded(once_bugs::failure_counts)) succeeded = true;
        state_.store(succeeded ? +done : +not_done, unless(once_bugs::end_relaxed, mo_release), $); // release[once]
        if (seeded(once_bugs::wakes_nobody)) return;
        waiting.lock($);
        woken.notify_all($);
        waiting.unlock($);
    }
    void thread(unsigned) {
        while (begin()) {
            const int n = attempts($);
            attempts($) = n + 1;
            const bool fails = n == 0 && rl::rand(2);
            if (!fails) {
                RL_ASSERT(value($) == 0);
                value($) = 7;
            }
            end(!fails);
            if (!fails) break;
        }
        RL_ASSERT(value($) == 7);
    }
};

namespace future_bugs {
enum bug {
    none,
    set_relaxed,
    added_without_a_look,
    added_without_fence,
    set_without_fence,
    called_inside,
    called_though_taken_back
};
}

struct future : rl::test_suite<future, 3> {
    atomic<unsigned> set_, inside_, count_;
    lock lock_;
    bool linked[2]; // under lock_
    atomic<unsigned> calls[2], over;
    var<int> value, event, place[2]; // event, place: their memory

    void before() {
        set_.store(0, mo_relaxed, $);
        inside_.store(0, mo_relaxed, $);
        count_.store(0, mo_relaxed, $);
        over.store(0, mo_relaxed, $);
        linked[0] = linked[1] = false;
        for (auto &c : calls) c.store(0, mo_relaxed, $);
        value($) = event($) = place[0]($) = place[1]($) = 0;
    }
    bool add(int i) {
        lock_.acquire();
        count_.store(count_.load(mo_relaxed, $) + 1, mo_relaxed, $);
        fence_unless(future_bugs::added_without_fence); // seq_cst[wait-list]
        const bool wait = seeded(future_bugs::added_without_a_look) || set_.load(mo_acquire, $) == 0; // acquire[event]
        if (wait)
            linked[i] = true;
        else
            count_.store(count_.load(mo_relaxed, $) - 1, mo_relaxed, $);
        lock_.release();
        return wait;
    }
    bool remove(int i) {
        lock_.acquire();
        const bool was = linked[i];
        if (was) {
            linked[i] = seeded(future_bugs::called_though_taken_back);
            count_.store(count_.load(mo_relaxed, $) - 1, mo_relaxed, $);
        }
        lock_.release();
        return was;
    }
    // A continuation: both read the value, and the last of the two parties destroys the event.
    void go_on(int i) {
        RL_ASSERT(value($) == 7);
        calls[i].store(1, mo_relaxed, $);
        finish();
    }
    void finish() {
        if (over.fetch_add(1, mo_acq_rel, $) != 1) return;
        rl::linear_backoff b;
        while (inside_.load(mo_acquire, $) != 0) b.yield($); // acquire[sync-leave]
        event($) = 1;
    }
    void set() {
        value($) = 7;
        inside_.fetch_add(1, mo_relaxed, $);
        set_.store(1, unless(future_bugs::set_relaxed, mo_release), $); // release[event]
        fence_unless(future_bugs::set_without_fence);                   // seq_cst[wait-list]
        bool called[2] = {false, false};
        if (count_.load(mo_relaxed, $) != 0) {
            lock_.acquire();
            RL_ASSERT(event($) == 0);
            for (int i = 0; i < 2; ++i) {
                called[i] = linked[i];
                linked[i] = false;
            }
            count_.store(0, mo_relaxed, $);
            lock_.release();
        }
        if (!seeded(future_bugs::called_inside)) inside_.fetch_sub(1, mo_release, $); // release[sync-leave]
        for (int i = 0; i < 2; ++i)
            if (called[i]) {
                RL_ASSERT(place[i]($) == 0);
                go_on(i);
            }
        if (seeded(future_bugs::called_inside)) inside_.fetch_sub(1, mo_release, $); // release[sync-leave]
    }
    void thread(unsigned id) {
        if (id == 2) return set();
        const int i = static_cast<int>(id);
        if (!add(i)) return go_on(i);
        if (id == 1 && remove(i)) { // taken back: its memory is its own again
            place[i]($) = 1;
            finish();
        }
    }
    void after() { RL_ASSERT(event($) == 1); } // both have come to their end
};

const registration done_once{{"once",
                              {"begin_relaxed", "end_relaxed", "wakes_nobody", "failure_counts", "begins_twice"},
                              search<once>,
                              {2, 20000}}};
const registration continued{{"future",
                              {"set_relaxed", "added_without_a_look", "added_without_fence", "set_without_fence",
                               "called_inside", "called_though_taken_back"},
                              search<future>,
                              {2, 20000}}};

} // namespace
} // namespace model
