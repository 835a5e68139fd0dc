// A descriptor that is closed while somebody waits for its input: src/personality/pthread/threads/input.cpp
// called_file, input_wait and closing. The other one shuts it down, closes it, and its number is another file's at
// once.
#include "checker.hpp"

namespace model {
namespace {

enum bug {
    none,
    sleeps_through_the_closing,
    looks_for_closers_relaxed,
    looks_for_waiters_relaxed,
    keeps_what_was_closed
};

struct input_closes : rl::test_suite<input_closes, 2> {
    enum file { open, shut_down, anothers };
    atomic<unsigned> waiters_, closers_, closed_, reports_;
    rl::mutex kernel_;
    file file_; // behind the number; under kernel_
    futex at_reports_;

    void before() {
        for (auto *a : {&waiters_, &closers_, &closed_, &reports_}) a->store(0, mo_relaxed, $);
        file_ = open;
    }
    file look() {
        kernel_.lock($);
        const file f = file_;
        kernel_.unlock($);
        return f;
    }
    void become(file f) {
        kernel_.lock($);
        file_ = f;
        kernel_.unlock($);
    }
    bool is_being_closed(unsigned before) {
        // seq_cst[input-closing], seq_cst[input-closed]
        return closers_.load(mo_seq_cst, $) != 0 || closed_.load(mo_relaxed, $) != before;
    }
    void read() {
        waiters_.fetch_add(1, mo_seq_cst, $); // seq_cst[input-closing]
        const unsigned closed = closed_.load(mo_relaxed, $);
        if (closers_.load(unless(looks_for_closers_relaxed, mo_seq_cst), $) != 0) { // seq_cst[input-closing]
            waiters_.fetch_sub(1, mo_relaxed, $);
            return; // by the kernel alone
        }
        const file f = look();
        if (f != open) return static_cast<void>(waiters_.fetch_sub(1, mo_relaxed, $));
        const unsigned seen = reports_.load(mo_acquire, $); // acquire[input-report]
        if (look() == anothers) return;                     // what cannot be watched any more is not waited for
        if (seeded(sleeps_through_the_closing) || !is_being_closed(closed))
            while (reports_.load(mo_acquire, $) == seen) at_reports_.wait(reports_, seen);
        RL_ASSERT(is_being_closed(closed));
        const file kept = look();                                                            // by a number of its own
        if (!seeded(keeps_what_was_closed) && closed_.load(mo_relaxed, $) != closed) return; // EBADF
        RL_ASSERT(kept != anothers);
        waiters_.fetch_sub(1, mo_relaxed, $);
    }
    void close() {
        if (rl::rand(2)) become(shut_down);
        closers_.fetch_add(1, mo_seq_cst, $);                                       // seq_cst[input-closing]
        if (waiters_.load(unless(looks_for_waiters_relaxed, mo_seq_cst), $) != 0) { // seq_cst[input-closing]
            reports_.fetch_add(1, mo_release, $);                                   // release[input-report]
            at_reports_.wake();
            for (int i = 0; i < 2 && waiters_.load(mo_seq_cst, $) != 0; ++i) rl::yield(1, $); // not for ever
        }
        closed_.fetch_add(1, mo_relaxed, $);
        become(anothers);
        closers_.fetch_sub(1, mo_release, $); // release[input-closed]
    }
    void thread(unsigned id) { id == 0 ? read() : close(); }
};

const registration closes{
    {"input_closes",
     {"sleeps_through_the_closing", "looks_for_closers_relaxed", "looks_for_waiters_relaxed", "keeps_what_was_closed"},
     search<input_closes>,
     {3, 20000}}};

} // namespace
} // namespace model
