// The main ULT of Argobots, which only the program's own thread can run: src/personality/argobots/streams.cpp
// (main_stops, main_goes_on, claim_main, send_main, poke_main) and work.cpp go_on. Thread 0 is the program's: it runs
// the main ULT, and carries a stream while that waits. Thread 1 is a worker's hart, which comes when it is called. Two
// streams have the main ULT's pool, and whichever takes it up has it until it stops again; the first is the primary
// one. The main ULT blocks, and thread 2 makes it ready; then it yields. How a stream sleeps is the matter of
// abt_stream.cpp.
#include "checker.hpp"

namespace model {
namespace {

enum bug {
    none,
    stops_after_it_is_known,
    goes_back_by_store,
    claims_without_the_mark,
    sends_by_store,
    sends_relaxed,
    goes_on_relaxed,
    pokes_by_store,
    posts_twice
};

struct abt_main : rl::test_suite<abt_main, 3> {
    static constexpr unsigned runs = 0, waiting = 1, posted = 2, turn = 4;
    static constexpr unsigned away = 0, ready = 1, asleep = 2; // carrier::home_state
    atomic<unsigned> main_, home_, stream_ready_, blocked_;
    bool main_direct_; // on the program's thread
    parker park_, worker_;
    var<int> message_, stream_context_[2]; // stream_context_: 1, it is saved
    int under_;                            // the stream that has the main ULT; on the program's thread
    var<int> taken_by_;                    // the same, by whoever takes it up
    lock lock_;
    bool pooled_, sleeping_[2], listed_[2], over_; // under lock_

    void before() {
        worker_.wake(); // it is here, and looks
        for (auto *a : {&main_, &home_, &stream_ready_, &blocked_}) a->store(0, mo_relaxed, $);
        main_direct_ = pooled_ = over_ = false;
        message_($) = 0;
        under_ = 0;
        taken_by_($) = 0;
        for (int i : {0, 1}) {
            stream_context_[i]($) = 1;
            sleeping_[i] = i == 1;
            listed_[i] = false;
        }
    }
    // A stream that may go on, or -1.
    int pop_ready() {
        lock_.acquire();
        const int i = listed_[0] ? 0 : listed_[1] ? 1 : -1;
        if (i >= 0) listed_[i] = false;
        lock_.release();
        return i;
    }

    // ---- core: home (home.cpp)
    void post_home() {
        if (home_.exchange(ready, mo_acq_rel, $) == asleep) park_.wake(); // acq_rel[home]
    }
    bool take_home() {
        return home_.load(mo_relaxed, $) == ready && home_.exchange(away, mo_acquire, $) == ready; // acquire[home]
    }
    void sleep_without_hart() {
        unsigned expected = away;
        if (home_.compare_exchange_strong(expected, asleep, mo_acq_rel, $)) park_.wait(); // acq_rel[home]
        home_.exchange(away, mo_acquire, $);                                              // acquire[home]
    }

    // ---- The main ULT
    bool goes_on() {
        // A mark that nobody has announced would end another wait of this thread.
        RL_ASSERT(main_direct_ || main_.load(mo_relaxed, $) & posted);
        if (main_direct_) {
            main_direct_ = false;
            return true;
        }
        for (;;) {
            if (main_.exchange(runs, unless(goes_on_relaxed, mo_acq_rel), $) & turn) return true; // acq_rel[abt-main]
            unsigned expected = runs;
            if (seeded(goes_back_by_store)) {
                main_.store(waiting, mo_release, $);
                return false;
            }
            if (main_.compare_exchange_strong(expected, waiting, mo_acq_rel, $)) return false; // acq_rel[abt-main]
        }
    }
    void claim_main() {
        const unsigned before = main_.exchange(runs, mo_acq_rel, $); // acq_rel[abt-main]
        rl::linear_backoff b;
        if (before & posted && !seeded(claims_without_the_mark))
            while (!take_home()) b.yield($);
        main_direct_ = true;
    }
    void send_main() {
        unsigned before;
        if (seeded(sends_by_store)) {
            before = main_.load(mo_acquire, $);
            main_.store(before | turn | posted, mo_release, $);
        } else {
            before = main_.fetch_or(turn | posted, unless(sends_relaxed, mo_acq_rel), $); // acq_rel[abt-main]
        }
        if (before == waiting || seeded(posts_twice)) post_home();
    }
    bool poke_main() {
        if (home_.load(mo_relaxed, $) != asleep) return false;
        unsigned expected = waiting;
        if (seeded(pokes_by_store)) {
            if (main_.load(mo_relaxed, $) != waiting) return false;
            main_.store(waiting | posted, mo_release, $);
        } else if (!main_.compare_exchange_strong(expected, waiting | posted, mo_acq_rel, $)) { // acq_rel[abt-main]
            return false;
        }
        post_home();
        return true;
    }

    // ---- A stream, on either hart: takes the main ULT up or sleeps. True: the caller goes on with the main ULT.
    bool stream(int i, bool own_thread) {
        RL_ASSERT(stream_context_[i]($) == 1);
        stream_context_[i]($) = 0;
        lock_.acquire();
        const bool found = pooled_;
        pooled_ = false;
        stream_context_[i]($) = 1; // it stops in either case, and is known only then
        sleeping_[i] = !found;
        lock_.release();
        if (!found) return false;
        taken_by_($) = i;
        if (own_thread) {
            claim_main();
            return true;
        }
        send_main();
        return false;
    }
    // streams::next on the program's thread, until the main ULT is resumed there
    void next_at_home() {
        for (;;) {
            if (take_home()) {
                if (goes_on()) return;
                continue;
            }
            if (const int i = pop_ready(); i >= 0) {
                if (stream(i, true)) break;
                continue;
            }
            sleep_without_hart();
            if (goes_on()) return;
        }
        const bool direct = goes_on();
        RL_ASSERT(direct);
    }
    // Puts the main ULT into the pool, and wakes a stream.
    void push_main() {
        lock_.acquire();
        pooled_ = true;
        const int woken = sleeping_[0] ? 0 : sleeping_[1] ? 1 : -1;
        if (woken >= 0) {
            sleeping_[woken] = false;
            listed_[woken] = true; // streams::make_ready
        }
        lock_.release();
        if (woken >= 0 && !(woken == 0 && poke_main())) worker_.wake();
    }
    // The main ULT stops; `known` makes it known, on the stream's stack.
    template <class Known> void stop_main(Known known) {
        if (!seeded(stops_after_it_is_known)) main_.store(waiting, mo_release, $); // release[abt-main]
        known();
        if (seeded(stops_after_it_is_known)) main_.store(waiting, mo_release, $);
        if (stream(under_, true)) {
            const bool direct = goes_on();
            RL_ASSERT(direct);
        } else {
            next_at_home();
        }
        RL_ASSERT(main_.load(mo_relaxed, $) == runs);
        under_ = taken_by_($);
    }
    void main_ult() {
        stop_main([this] { blocked_.store(1, mo_release, $); });
        RL_ASSERT(message_($) == 1); // of who made it ready
        stop_main([this] { push_main(); });
        lock_.acquire();
        over_ = true;
        lock_.release();
        worker_.wake();
    }

    // ---- The others
    void worker() {
        for (;;) {
            worker_.wait();
            for (int i; (i = pop_ready()) >= 0;) stream(i, false);
            lock_.acquire();
            const bool over = over_;
            lock_.release();
            if (over) return;
        }
    }
    void waker() {
        rl::linear_backoff b;
        while (!blocked_.load(mo_acquire, $)) b.yield($);
        message_($) = 1;
        push_main();
    }
    void after() { RL_ASSERT(home_.load(mo_relaxed, $) == away); } // each post has been taken
    void thread(unsigned id) { id == 0 ? main_ult() : id == 1 ? worker() : waker(); }
};

const registration here{{"abt_main",
                         {"stops_after_it_is_known", "goes_back_by_store", "claims_without_the_mark", "sends_by_store",
                          "sends_relaxed", "goes_on_relaxed", "pokes_by_store", "posts_twice"},
                         search<abt_main>,
                         {2, 100000}}};

} // namespace
} // namespace model
