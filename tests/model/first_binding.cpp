// The first binding of a hart, and a spare worker that is given that hart: src/core/binding.cpp bind_hart and
// bind_slowly, base.cpp finds_worker. Whoever comes second must see the other one, or the worker runs anywhere. The
// hart's CPUs and the version stand under locks and behind a fence of their own; here they are one word.
#include "checker.hpp"

namespace model {
namespace {

enum bug { none, gives_without_fence, binds_without_fence, looks_before_the_flag };

struct first_binding : rl::test_suite<first_binding, 3> {
    atomic<int> flag_, places_, own_; // harts_are_bound; they are made; the worker is the hart's
    atomic<bool> bound_;              // the worker's kernel thread has the hart's CPUs
    parker worker_;

    void before() {
        for (atomic<int> *a : {&flag_, &places_, &own_}) a->store(0, mo_relaxed, $);
        bound_.store(false, mo_relaxed, $);
    }
    void after() { RL_ASSERT(bound_.load(mo_relaxed, $)); }

    void give() {
        own_.store(1, mo_relaxed, $);
        fence_unless(gives_without_fence); // seq_cst[first-binding]
        worker_.wake();
    }
    void take_up() {
        worker_.wait();
        if (!flag_.load(mo_relaxed, $)) return;
        if (!places_.load(mo_acquire, $)) return; // acquire[places]
        bound_.store(true, mo_relaxed, $);
    }
    void bind() {
        places_.store(1, mo_release, $); // release[places]
        const int own_before = seeded(looks_before_the_flag) ? own_.load(mo_relaxed, $) : 0;
        flag_.exchange(1, mo_relaxed, $);
        fence_unless(binds_without_fence); // seq_cst[first-binding]
        if (seeded(looks_before_the_flag) ? own_before : own_.load(mo_relaxed, $)) bound_.store(true, mo_relaxed, $);
    }
    void thread(unsigned id) { id == 0 ? give() : id == 1 ? take_up() : bind(); }
};

const registration here{{"first_binding",
                         {"gives_without_fence", "binds_without_fence", "looks_before_the_flag"},
                         search<first_binding>,
                         {3, 20000}}};

} // namespace
} // namespace model
