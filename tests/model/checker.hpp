// What the models under Relacy share: the seeded bugs, the search, and stand-ins for the kernel's futex and the core's
// locks.
//
// A model says what its protocol's code says: the same words, states, order of steps and memory orders; what the code
// does around it is left out. `seeded(bug)` marks the places where a seeded bug removes a fence, a re-check or a mark.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <ostream>
#include <streambuf>
#include <vector>

#include <relacy/relacy.hpp>

namespace model {

using rl::atomic;
using rl::mo_acq_rel;
using rl::mo_acquire;
using rl::mo_relaxed;
using rl::mo_release;
using rl::mo_seq_cst;
using rl::var;

// Which bug is seeded in this run; 0: none. Written once, before the search.
extern int seed;
inline bool seeded(int bug) { return seed == bug; }
// The memory order of the code, or relaxed where the bug takes it away.
inline rl::memory_order unless(int bug, rl::memory_order order) { return seeded(bug) ? mo_relaxed : order; }
inline void fence_unless(int bug) {
    if (!seeded(bug)) rl::atomic_thread_fence(mo_seq_cst, $);
}

struct search_size {
    unsigned context_bound; // of the systematic search: every execution with at most so many switches away from a
                            // thread that could go on
    unsigned long random;   // executions of the random search, which comes first
};

struct program {
    const char *name;
    std::vector<const char *> bugs;     // bugs[i] is number i + 1; empty: not seen in this model
    const char *(*search)(search_size); // what was found; null: nothing
    search_size size;
};
std::vector<program> &programs();

struct registration {
    explicit registration(program p) { programs().push_back(p); }
};

// The checker's own output, the history of the execution that fails: shown with COMITY_MODEL_VERBOSE, else dropped. It
// cannot be kept in a string, since the checker takes over the heap.
class output {
public:
    output() : stream_(std::getenv("COMITY_MODEL_VERBOSE") ? std::cout.rdbuf() : &nowhere_) {}
    std::ostream *stream() { return &stream_; }

private:
    struct : std::streambuf {
        int overflow(int c) override { return c; }
        std::streamsize xsputn(const char *, std::streamsize n) override { return n; }
    } nowhere_;
    std::ostream stream_;
};

template <class Suite> const char *search(search_size size) {
    output out;
    for (const bool random : {true, false}) {
        rl::test_params params;
        params.search_type = random ? rl::sched_random : rl::sched_bound;
        params.context_bound = size.context_bound;
        params.iteration_count = size.random;
        params.execution_depth_limit = 3000;
        params.output_stream = params.progress_stream = out.stream();
        if (!rl::simulate<Suite>(params)) return rl::test_result_str(params.test_result);
        std::printf("%s: %lu executions\n", random ? "random" : "systematic",
                    static_cast<unsigned long>(params.stop_iteration));
    }
    return nullptr;
}

// A scheduler's or a list's lock: under the models that are not about it.
class lock {
public:
    void acquire() { mutex_.lock($); }
    void release() { mutex_.unlock($); }

private:
    rl::mutex mutex_;
};

// The kernel's futex on one word.
class futex {
public:
    void wait(atomic<unsigned> &word, unsigned expected) {
        mutex_.lock($);
        if (word.load(mo_relaxed, $) == expected) woken_.wait(mutex_, $);
        mutex_.unlock($);
    }
    void wake() {
        mutex_.lock($);
        woken_.notify_all($);
        mutex_.unlock($);
    }

private:
    rl::mutex mutex_;
    rl::condition_variable woken_;
};

// The parker of src/core/carrier, for the models that are not about it.
class parker {
public:
    parker() { word_.store(empty, mo_relaxed, $); }
    void wait() {
        unsigned expected = empty;
        if (word_.compare_exchange_strong(expected, parked, mo_relaxed, $))
            while (word_.load(mo_relaxed, $) != token) futex_.wait(word_, parked);
        word_.exchange(empty, mo_acquire, $);
    }
    // The same, but the deadline passes when the search says so; false: before there was a token.
    bool wait_until() {
        unsigned expected = empty;
        if (word_.compare_exchange_strong(expected, parked, mo_relaxed, $))
            while (word_.load(mo_relaxed, $) != token) {
                expected = parked;
                if (!rl::rand(2))
                    futex_.wait(word_, parked);
                else if (word_.compare_exchange_strong(expected, empty, mo_relaxed, $))
                    return false;
            }
        word_.exchange(empty, mo_acquire, $);
        return true;
    }
    void wake() {
        if (word_.exchange(token, mo_release, $) == parked) futex_.wake();
    }

private:
    static constexpr unsigned empty = 0, parked = 1, token = 2;
    atomic<unsigned> word_;
    futex futex_;
};

} // namespace model
