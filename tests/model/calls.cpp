// Team start where each hart has the rank that it had in the region before: src/model/spmd, deal, deals_as_before,
// take_spread, beside steal_from over a region that is not dealt. Hart 0 is the master's; the others look for ranks a
// few times and leave, as harts may at any time. Each rank must run once in its region and see the region's body.
#include "checker.hpp"

namespace model {
namespace {

enum bug {
    none,
    call_relaxed,
    take_relaxed,
    takes_without_second_look,
    thief_forgets_its_rank,
    mixing_is_not_told,
    deal_keeps_the_call,
    deal_leaves_old_ranks,
    deal_trusts_a_thief,
    calls_after_mixing,
    writes_over_its_rank
};

struct region {
    unsigned ranks;
    unsigned dealt_to; // the first so many of the others are present; 0: the region is brief, nothing is dealt
    unsigned by = 0;   // the master's hart
};
// Each rank is called twice: a thief may be one region late.
constexpr region again[] = {{3, 2}, {3, 2}, {3, 2}};
// The ranks of a brief region go from slot to slot; then those that had one each are wanted again.
constexpr region mixed[] = {{3, 2}, {4, 0}, {3, 2}};
// A hart less, and a call that must not find the rank which it had.
constexpr region fewer[] = {{3, 2}, {3, 2}, {2, 1}, {2, 1}};
// The same, and that hart is stealing from the brief region before.
constexpr region late[] = {{3, 2}, {4, 0}, {2, 1}, {2, 1}};

// In between the master is on another hart, to which he had dealt; that one's kernel thread is gone.
constexpr region moved[] = {{3, 2}, {3, 0, 2}, {3, 2}};

template <const region *Plan, unsigned Regions, unsigned Threads = 3>
struct calls : rl::test_suite<calls<Plan, Regions, Threads>, Threads> {
    static constexpr unsigned harts = 3, regions = Regions, looks = 2, most_ranks = 4;
    // begin, end, the region, spread
    static constexpr unsigned spread = 0x8000, stealing = 0xf; // empty, as every range with begin >= end
    static unsigned begin(unsigned r) { return r & 0xf; }
    static unsigned end(unsigned r) { return r >> 4 & 0xf; }
    static unsigned region_of(unsigned r) { return r >> 8 & 0x7f; }
    static bool empty(unsigned r) { return begin(r) >= end(r); }
    static unsigned part(unsigned r, unsigned b, unsigned e) { return (r & ~0xffU) | e << 4 | b; }
    static bool is_spent(unsigned r) { return r & spread && end(r) != 0 && begin(r) == end(r); }
    static bool is_called(unsigned r, unsigned call) {
        return r & call & spread && is_spent(r) && region_of(r) != region_of(call);
    }

    atomic<unsigned> range[harts], call_, mixed_, unfinished_;
    var<int> body_;
    unsigned dealt_ranks_; // the master's
    bool is_dealt[harts];
    int runs[regions][most_ranks];

    void before() {
        for (auto &r : range) r.store(0, mo_relaxed, $);
        call_.store(0, mo_relaxed, $);
        mixed_.store(0, mo_relaxed, $);
        unfinished_.store(0, mo_relaxed, $);
        dealt_ranks_ = 0;
        for (bool &is : is_dealt) is = false;
        for (auto &of : runs)
            for (int &n : of) n = 0;
    }

    // ---- The master

    void distribute(unsigned number) {
        const region &now = Plan[number - 1];
        if (now.dealt_to == 0) {
            call_nobody();
            if (!seeded(writes_over_its_rank) && is_dealt[now.by]) dealt_ranks_ = 0;
            range[now.by].store(part(number << 8, 1, now.ranks), mo_release, $); // release[team-ranks]
        } else if (dealt_ranks_ == now.ranks && (seeded(calls_after_mixing) || !mixed_.load(mo_relaxed, $))) {
            call_.store(number << 8 | spread, unless(call_relaxed, mo_release), $); // release[team-call]
        } else {
            deal(now, number << 8 | spread);
        }
    }
    void call_nobody() {
        const unsigned call = call_.load(mo_relaxed, $);
        if (!seeded(deal_keeps_the_call) && call & spread) call_.store(call & ~spread, mo_relaxed, $);
    }
    void deal(const region &now, unsigned none) {
        call_nobody();
        mixed_.store(0, mo_relaxed, $);
        dealt_ranks_ = 0;
        bool is_clean = true;
        unsigned e = now.ranks;
        for (unsigned i = harts; i-- > 0;) {
            const bool gets = i != 0 && i <= now.dealt_to;
            unsigned r = range[i].load(mo_relaxed, $);
            const bool may_be_old = is_spent(r) || (r == stealing && !seeded(deal_trusts_a_thief));
            is_dealt[i] = false;
            if (!gets && (seeded(deal_leaves_old_ranks) || !may_be_old)) continue;
            const bool is_done = r != stealing && empty(r) &&
                                 range[i].compare_exchange_strong(r, part(none, gets ? e - 1 : 0, gets ? e : 0),
                                                                  mo_acq_rel, $); // acq_rel[team-ranks]
            is_clean = is_clean && is_done;
            is_dealt[i] = is_done && gets;
            e -= is_dealt[i];
        }
        if (is_clean && e == 1) dealt_ranks_ = now.ranks;
        if (e > 1) range[0].store(part(none & ~spread, 1, e), mo_release, $); // release[team-ranks]
    }

    // ---- All

    int claim(unsigned hart) {
        unsigned r = range[hart].load(mo_relaxed, $);
        while (!empty(r)) {
            const unsigned b = begin(r);
            if (range[hart].compare_exchange_weak(r, part(r, b + 1, end(r)), mo_acq_rel, $, mo_relaxed,
                                                  $)) // acq_rel[team-ranks]
                return static_cast<int>(b);
        }
        if (is_spent(r))
            if (const int rank = take_spread(hart); rank >= 0) return rank;
        return steal(hart);
    }
    bool has_ranks(unsigned r) { return !empty(r) || is_called(r, call_.load(mo_relaxed, $)); }
    int take_spread(unsigned from) {
        for (;;) {
            const unsigned call = call_.load(mo_acquire, $); // acquire[team-call]
            unsigned r = range[from].load(mo_acquire, $);    // acquire[team-ranks]
            const bool is_left = !empty(r);
            if (!is_left && !seeded(takes_without_second_look) && call_.load(mo_relaxed, $) != call) continue;
            if (!(r & spread) || !(is_left || is_called(r, call))) return -1;
            const unsigned e = end(r);
            if (range[from].compare_exchange_weak(r, part(is_left ? r : call, e, e), unless(take_relaxed, mo_acq_rel),
                                                  $, mo_relaxed, $)) // acq_rel[team-ranks]
                return static_cast<int>(e - 1);
        }
    }
    int steal(unsigned own) {
        for (unsigned i = 1; i < harts; ++i) {
            const unsigned victim = (own + i) % harts;
            const unsigned r = range[victim].load(mo_relaxed, $);
            if (!has_ranks(r)) continue;
            const int rank = r & spread ? take_spread(victim) : steal_from(victim, own);
            if (rank >= 0) return rank;
            if (has_ranks(range[own].load(mo_relaxed, $))) return claim(own); // the master has just filled it
        }
        return -1;
    }
    int steal_from(unsigned victim, unsigned own) {
        unsigned mine = range[own].load(mo_relaxed, $);
        if (!empty(mine) || !range[own].compare_exchange_strong(mine, stealing, mo_acq_rel, $)) // acq_rel[team-ranks]
            return -1;
        unsigned rest = seeded(thief_forgets_its_rank) ? 0 : mine;
        int rank = -1;
        unsigned r = range[victim].load(mo_acquire, $); // acquire[team-ranks]
        while (!empty(r)) {
            const unsigned b = begin(r), e = end(r), middle = b + (e - b) / 2;
            if (!range[victim].compare_exchange_weak(r, part(r, b, middle), mo_acq_rel, $, mo_acquire,
                                                     $)) // acq_rel[team-ranks]
                continue;
            rank = static_cast<int>(middle);
            rest = part(r, middle + 1, e);
            if (!seeded(mixing_is_not_told)) mixed_.store(1, mo_relaxed, $);
            break;
        }
        range[own].store(rest, mo_release, $); // release[team-ranks]
        return rank;
    }
    // Runs ranks until there are none; subtracts them.
    void work(unsigned hart) {
        unsigned finished = 0;
        for (int rank; (rank = claim(hart)) >= 0; ++finished) {
            const int number = body_($);
            RL_ASSERT(rank < static_cast<int>(Plan[number - 1].ranks));
            RL_ASSERT(++runs[number - 1][rank] == 1);
        }
        if (finished) unfinished_.fetch_sub(finished, mo_acq_rel, $); // acq_rel[team-join]
    }
    void thread(unsigned id) {
        if (id != 0) {
            for (unsigned i = 0; i < looks; ++i) work(id);
            return;
        }
        for (unsigned number = 1; number <= regions; ++number) {
            body_($) = static_cast<int>(number);
            unfinished_.store(Plan[number - 1].ranks - 1, mo_relaxed, $);
            distribute(number);
            rl::linear_backoff b;
            const unsigned own = Plan[number - 1].by;
            for (work(own); unfinished_.load(mo_acquire, $) != 0; work(own)) // acquire[team-join]
                b.yield($);
        }
    }
    void after() {
        for (unsigned number = 1; number <= regions; ++number)
            for (unsigned r = 1; r < Plan[number - 1].ranks; ++r) RL_ASSERT(runs[number - 1][r] == 1);
    }
};

const registration twice{{"calls_again",
                          {"call_relaxed", "take_relaxed", "takes_without_second_look"},
                          search<calls<again, 3>>,
                          {0, 200000}}};
const registration after_mixing{
    {"calls_after_a_brief_region",
     {"", "", "", "thief_forgets_its_rank", "mixing_is_not_told", "", "", "", "calls_after_mixing"},
     search<calls<mixed, 3>>,
     {0, 200000}}};
const registration with_fewer{{"calls_with_fewer_harts",
                               {"", "", "", "", "", "deal_keeps_the_call", "deal_leaves_old_ranks"},
                               search<calls<fewer, 4>>,
                               {0, 200000}}};
const registration beside_thief{{"calls_beside_a_late_thief",
                                 {"", "", "", "", "", "", "deal_leaves_old_ranks", "deal_trusts_a_thief"},
                                 search<calls<late, 4>>,
                                 {0, 200000}}};
const registration on_another{{"calls_after_another_hart",
                               {"", "", "", "", "", "", "", "", "", "writes_over_its_rank"},
                               search<calls<moved, 3, 2>>,
                               {0, 100000}}};

} // namespace
} // namespace model
