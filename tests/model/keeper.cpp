// Kept harts: src/core/base.cpp, leave, acquire, take_kept and keep_for_outsider. A thread of the program keeps its
// hart outside its region and takes it back, some times, while two others may take it for themselves, of whom one keeps
// it for the thread after that.
#include "checker.hpp"

namespace model {
namespace {

enum bug { none, keeps_relaxed, takes_relaxed, takes_blindly, returns_blindly, hands_on_relaxed };

struct keeper : rl::test_suite<keeper, 3> {
    atomic<int> keeper_; // 1: the thread keeps the hart; 0: a carrier has it
    var<int> uses;
    int holders;

    void before() {
        keeper_.store(0, mo_relaxed, $);
        uses($) = 0;
        holders = 0;
    }
    void use() {
        RL_ASSERT(++holders == 1);
        uses($) = uses($) + 1;
        --holders;
    }
    void thread(unsigned id) {
        if (id == 0) {
            bool holds = true;
            for (int region = 0; region < 3; ++region) {
                if (holds) {
                    use();
                    keeper_.store(1, unless(keeps_relaxed, mo_release), $); // release[keeper]
                }
                int expected = 1;
                if (seeded(returns_blindly)) keeper_.store(0, mo_relaxed, $);
                // False: somebody took it, and may keep it for this thread later.
                holds = seeded(returns_blindly) ||
                        keeper_.compare_exchange_strong(expected, 0, mo_acq_rel, $); // acq_rel[keeper]
            }
            if (holds) use();
        } else {
            int seen = keeper_.load(unless(takes_relaxed, mo_acquire), $); // acquire[keeper]
            if (seen == 0) return;
            if (seeded(takes_blindly))
                keeper_.store(0, mo_relaxed, $);
            else if (!keeper_.compare_exchange_strong(seen, 0, unless(takes_relaxed, mo_acq_rel), $)) // acq_rel[keeper]
                return;
            use();
            if (id == 2) keeper_.store(1, unless(hands_on_relaxed, mo_release), $); // release[keeper]
        }
    }
};

const registration here{{"keeper",
                         {"keeps_relaxed", "takes_relaxed", "takes_blindly", "returns_blindly", "hands_on_relaxed"},
                         search<keeper>,
                         {4, 20000}}};

} // namespace
} // namespace model
