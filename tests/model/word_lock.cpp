// Locks of one word: src/personality/openmp/lock.cpp, and of src/sync/address.cpp what its waits rest on: the number of
// those who use an address, which who wakes looks at first. Three contexts take the lock and leave it. The list is the
// wait list's (wait_list.cpp: wait_list_change) and stands here as a condition variable that wakes one.
#include "checker.hpp"

namespace model {
namespace {

enum bug {
    none,
    takes_relaxed,
    leaves_relaxed,
    enters_without_fence,
    wakes_without_fence,
    takes_without_mark,
    marks_nothing,
    looks_never,
    wakes_nobody
};

struct word_lock : rl::test_suite<word_lock, 3> {
    static constexpr unsigned taken = 1, waited_for = 2;
    atomic<unsigned> word_;
    atomic<unsigned> users, listed; // of the address; of its list
    rl::mutex entering, waiting;
    rl::condition_variable woken;
    var<int> payload;

    void before() {
        word_.store(0, mo_relaxed, $);
        users.store(0, mo_relaxed, $);
        listed.store(0, mo_relaxed, $);
        payload($) = 0;
    }
    bool is_marked() { return (word_.load(mo_relaxed, $) & (taken | waited_for)) == (taken | waited_for); }
    bool try_lock_or_mark() {
        unsigned now = word_.load(mo_relaxed, $);
        for (;;) {
            const bool is_free = !(now & taken);
            if (!is_free && ((now & waited_for) || seeded(marks_nothing))) return false;
            unsigned then = (is_free ? +taken : now) | waited_for;
            if (is_free && seeded(takes_without_mark)) then = +taken | (now & waited_for);
            if (word_.compare_exchange_weak(now, then, unless(takes_relaxed, mo_acquire), $, mo_relaxed,
                                            $)) // acquire[word-lock]
                return is_free;
        }
    }
    void count_user(int by) {
        entering.lock($);
        users.store(users.load(mo_relaxed, $) + static_cast<unsigned>(by), mo_relaxed, $);
        entering.unlock($);
    }
    void block() {
        waiting.lock($);
        listed.store(listed.load(mo_relaxed, $) + 1, mo_relaxed, $);
        fence_unless(enters_without_fence); // seq_cst[wait-list]
        if (seeded(looks_never)) woken.wait(waiting, $);
        while (is_marked()) woken.wait(waiting, $);
        listed.store(listed.load(mo_relaxed, $) - 1, mo_relaxed, $);
        waiting.unlock($);
    }
    void lock() {
        unsigned free = 0;
        if (word_.compare_exchange_strong(free, +taken, unless(takes_relaxed, mo_acquire), $, mo_relaxed,
                                          $)) // acquire[word-lock]
            return;
        count_user(1);
        fence_unless(enters_without_fence); // seq_cst[address]
        while (!try_lock_or_mark()) block();
        count_user(-1);
    }
    void unlock() {
        unsigned now = word_.load(mo_relaxed, $);
        if (!(now & waited_for) && word_.compare_exchange_strong(now, 0U, unless(leaves_relaxed, mo_release), $,
                                                                 mo_relaxed, $)) // release[word-lock]
            return;
        const unsigned free = listed.load(mo_relaxed, $) > 1 ? +waited_for : 0U;          // a hint
        const unsigned was = word_.exchange(free, unless(leaves_relaxed, mo_release), $); // release[word-lock]
        if (!(was & waited_for) || seeded(wakes_nobody)) return;
        fence_unless(wakes_without_fence); // seq_cst[address]
        if (users.load(mo_relaxed, $) == 0 || listed.load(mo_relaxed, $) == 0) return;
        waiting.lock($);
        woken.notify_one($);
        waiting.unlock($);
    }
    void thread(unsigned) {
        lock();
        payload($) = payload($) + 1;
        unlock();
    }
    void after() { RL_ASSERT(payload($) == 3); }
};

const registration here{{"word_lock",
                         {"takes_relaxed", "leaves_relaxed", "enters_without_fence", "wakes_without_fence",
                          "takes_without_mark", "marks_nothing", "looks_never", "wakes_nobody"},
                         search<word_lock>,
                         {2, 20000}}};

} // namespace
} // namespace model
