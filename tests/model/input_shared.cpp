// One waits for several descriptors at what others share: src/core/input.cpp watch, tell and look,
// src/personality/pthread/threads/input.cpp input_wait. It may be late, and wait again while it is told of the first
// wait. And the descriptor is closed as it begins to wait.
#include "checker.hpp"

namespace model {
namespace {

enum bug { none, watches_before_it_says_where, tells_before_it_counts, looks_for_closers_relaxed };

struct input_shared : rl::test_suite<input_shared, 3> {
    atomic<unsigned> told_too_, shared_, is_watched_, watched_, over_;
    rl::mutex kernel_;
    int given_;     // under kernel_
    bool is_armed_; // so
    futex at_shared_;

    void before() {
        for (auto *a : {&told_too_, &shared_, &is_watched_, &watched_, &over_}) a->store(0, mo_relaxed, $);
        given_ = 0;
        is_armed_ = false;
    }
    bool read() {
        kernel_.lock($);
        const bool got = given_ != 0;
        given_ -= got;
        kernel_.unlock($);
        return got;
    }
    void set_armed() {
        kernel_.lock($);
        is_armed_ = true;
        kernel_.unlock($);
    }
    bool take() {
        kernel_.lock($);
        const bool got = is_armed_ && given_ != 0;
        is_armed_ = is_armed_ && !got;
        kernel_.unlock($);
        return got;
    }
    void count_out() {
        if (is_watched_.exchange(0, mo_acq_rel, $)) watched_.fetch_sub(1, mo_relaxed, $); // acq_rel[input-counted]
    }
    void tell() {
        if (!seeded(tells_before_it_counts)) count_out();
        // seq_cst[input-shared]
        if (told_too_.load(mo_seq_cst, $) != 0 && told_too_.exchange(0, mo_seq_cst, $) != 0) {
            shared_.fetch_add(1, mo_release, $); // release[input-report]
            at_shared_.wake();
        }
        if (seeded(tells_before_it_counts)) count_out();
    }
    void wait(bool is_late) {
        const unsigned seen = shared_.load(mo_acquire, $);                                 // acquire[input-report]
        if (!seeded(watches_before_it_says_where)) told_too_.fetch_or(1, mo_seq_cst, $);   // seq_cst[input-shared]
        if (!is_watched_.exchange(1, mo_acq_rel, $)) watched_.fetch_add(1, mo_relaxed, $); // acq_rel[input-counted]
        set_armed();
        if (seeded(watches_before_it_says_where)) told_too_.fetch_or(1, mo_seq_cst, $);
        if (is_late) return;
        while (shared_.load(mo_acquire, $) == seen) at_shared_.wait(shared_, seen);
    }
    void thread(unsigned id) {
        if (id == 0) {
            wait(true);
            while (!read()) wait(false);
            over_.store(1, mo_relaxed, $);
        } else if (id == 1) { // a hart without work
            rl::linear_backoff b;
            while (over_.load(mo_relaxed, $) == 0)
                if (watched_.load(mo_relaxed, $) != 0 && take())
                    tell();
                else
                    b.yield($);
        } else {
            kernel_.lock($);
            ++given_;
            kernel_.unlock($);
        }
    }
};

struct input_shared_closes : rl::test_suite<input_shared_closes, 2> {
    atomic<unsigned> told_too_, shared_, closers_;
    futex at_shared_;

    void before() {
        for (auto *a : {&told_too_, &shared_, &closers_}) a->store(0, mo_relaxed, $);
    }
    void thread(unsigned id) {
        if (id == 0) {
            const unsigned seen = shared_.load(mo_acquire, $);                                // acquire[input-report]
            told_too_.fetch_or(1, mo_seq_cst, $);                                             // seq_cst[input-shared]
            if (closers_.load(unless(looks_for_closers_relaxed, mo_seq_cst), $) != 0) return; // seq_cst[input-closing]
            while (shared_.load(mo_acquire, $) == seen) at_shared_.wait(shared_, seen);
        } else {
            closers_.fetch_add(1, mo_seq_cst, $); // seq_cst[input-closing]
            // seq_cst[input-shared]
            if (told_too_.load(mo_seq_cst, $) == 0 || told_too_.exchange(0, mo_seq_cst, $) == 0) return;
            shared_.fetch_add(1, mo_release, $); // release[input-report]
            at_shared_.wake();
        }
    }
};

const registration waits{
    {"input_shared", {"watches_before_it_says_where", "tells_before_it_counts"}, search<input_shared>, {3, 20000}}};
const registration closes{
    {"input_shared_closes", {"", "", "looks_for_closers_relaxed"}, search<input_shared_closes>, {4, 10000}}};

} // namespace
} // namespace model
