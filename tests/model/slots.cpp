// Team start: src/model/spmd, the slots (distribute, claim, steal_from) over two regions. Hart 0 is the master's; the
// others look for ranks a few times and leave, as harts may at any time. Each rank must run once in its region and see
// the region's body.
#include "checker.hpp"

namespace model {
namespace {

enum bug {
    none,
    thief_leaves_no_mark,
    master_ignores_the_mark,
    thief_takes_blindly,
    fill_relaxed,
    claim_relaxed,
    master_fills_by_store,
    master_overwrites_the_booty
};

template <unsigned Harts> struct slots : rl::test_suite<slots<Harts>, Harts> {
    static constexpr unsigned harts = Harts, regions = 2, looks = 1;
    static constexpr unsigned ranks = harts == 2 ? 4 : 10; // of three harts' shares, half leaves a booty to keep
    static constexpr unsigned stealing = 0x0000ffff;       // empty, as every range with begin >= end
    static unsigned begin(unsigned r) { return r & 0xffff; }
    static unsigned end(unsigned r) { return r >> 16; }
    static unsigned pack(unsigned b, unsigned e) { return e << 16 | b; }

    atomic<unsigned> range[harts], unfinished_;
    var<int> body_;
    int runs[regions][ranks];

    void before() {
        for (auto &r : range) r.store(0, mo_relaxed, $);
        unfinished_.store(0, mo_relaxed, $);
        for (auto &region : runs)
            for (int &n : region) n = 0;
    }
    bool empty(unsigned hart) {
        const unsigned r = range[hart].load(mo_relaxed, $);
        return begin(r) >= end(r);
    }
    void distribute() {
        unsigned e = ranks;
        for (unsigned i = harts, others = harts - 1; i-- > 1; --others) {
            const unsigned share = e / (others + 1);
            unsigned r = range[i].load(mo_relaxed, $);
            if (!seeded(master_ignores_the_mark) && r == stealing) continue;
            if (!seeded(master_overwrites_the_booty) && begin(r) < end(r)) continue;
            if (seeded(master_fills_by_store))
                range[i].store(pack(e - share, e), mo_release, $);
            else if (!range[i].compare_exchange_strong(r, pack(e - share, e), unless(fill_relaxed, mo_acq_rel),
                                                       $)) // acq_rel[team-ranks]
                continue;
            e -= share;
        }
        if (e > 1) range[0].store(pack(1, e), unless(fill_relaxed, mo_release), $); // release[team-ranks]
    }
    int claim(unsigned hart) {
        unsigned r = range[hart].load(mo_relaxed, $);
        while (begin(r) < end(r)) {
            const unsigned b = begin(r);
            if (range[hart].compare_exchange_weak(r, pack(b + 1, end(r)), unless(claim_relaxed, mo_acq_rel), $,
                                                  mo_relaxed, $)) // acq_rel[team-ranks]
                return static_cast<int>(b);
        }
        return steal(hart);
    }
    int steal(unsigned own) {
        for (unsigned i = 1; i < harts; ++i) {
            const unsigned victim = (own + i) % harts;
            if (empty(victim)) continue;
            if (const int rank = steal_from(victim, own); rank >= 0) return rank;
            if (!empty(own)) // the master has just filled it
                return claim(own);
        }
        return -1;
    }
    int steal_from(unsigned victim, unsigned own) {
        unsigned mine = range[own].load(mo_relaxed, $);
        if (begin(mine) < end(mine)) return -1;
        if (!seeded(thief_leaves_no_mark) &&
            !range[own].compare_exchange_strong(mine, stealing, mo_acq_rel, $)) // acq_rel[team-ranks]
            return -1;
        unsigned rest = mine;
        int rank = -1;
        unsigned r = range[victim].load(mo_acquire, $); // acquire[team-ranks]
        while (begin(r) < end(r)) {
            const unsigned b = begin(r), e = end(r), middle = b + (e - b) / 2;
            if (seeded(thief_takes_blindly))
                range[victim].store(pack(b, middle), mo_release, $);
            else if (!range[victim].compare_exchange_weak(r, pack(b, middle), mo_acq_rel, $, mo_acquire,
                                                          $)) // acq_rel[team-ranks]
                continue;
            rank = static_cast<int>(middle);
            rest = pack(middle + 1, e);
            break;
        }
        range[own].store(rest, mo_release, $); // release[team-ranks]
        return rank;
    }
    // Runs ranks until there are none; subtracts them.
    void work(unsigned hart) {
        unsigned finished = 0;
        for (int rank; (rank = claim(hart)) >= 0; ++finished) {
            const int region = body_($);
            RL_ASSERT(++runs[region][rank] == 1);
        }
        if (finished) unfinished_.fetch_sub(finished, mo_acq_rel, $); // acq_rel[team-join]
    }
    void thread(unsigned id) {
        if (id != 0) {
            for (unsigned i = 0; i < looks; ++i) work(id);
            return;
        }
        for (unsigned region = 0; region < regions; ++region) {
            body_($) = static_cast<int>(region);
            unfinished_.store(ranks - 1, mo_relaxed, $);
            distribute();
            rl::linear_backoff b;
            for (work(0); unfinished_.load(mo_acquire, $) != 0; work(0)) // acquire[team-join]
                b.yield($);
        }
    }
    void after() {
        for (const auto &region : runs)
            for (unsigned r = 1; r < ranks; ++r) RL_ASSERT(region[r] == 1);
    }
};

const registration two{{"slots_of_two_harts",
                        {"thief_leaves_no_mark", "", "thief_takes_blindly", "fill_relaxed", "claim_relaxed"},
                        search<slots<2>>,
                        {2, 10000}}};
const registration three{{"slots_of_three_harts",
                          {"thief_leaves_no_mark", "master_ignores_the_mark", "thief_takes_blindly", "fill_relaxed",
                           "claim_relaxed", "master_fills_by_store", "master_overwrites_the_booty"},
                          search<slots<3>>,
                          {0, 20000}}};

} // namespace
} // namespace model
