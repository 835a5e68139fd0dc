// Join: src/model/spmd, unfinished_ and master_waiting (join, master_parks, flush, finish) over two regions. The
// master's hart parks the master and is done; two harts end ranks, and whoever ends the last one resumes the master.
#include "checker.hpp"

namespace model {
namespace {

enum bug {
    none,
    flush_relaxed,
    waits_by_store,
    waits_before_it_is_saved,
    last_ignores_the_master,
    parks_without_a_look,
    shortcut_relaxed
};

struct join : rl::test_suite<join, 3> {
    static constexpr unsigned master_waiting = 0x80000000, regions = 2;
    atomic<unsigned> unfinished_, region_;
    parker resumed;
    var<int> result[2], saved; // saved: the master's context, written when it is paused, read by whoever resumes it

    void before() {
        unfinished_.store(0, mo_relaxed, $);
        region_.store(0, mo_relaxed, $);
    }
    void announce(unsigned &before) {
        if (seeded(waits_by_store)) {
            before = unfinished_.load(mo_acquire, $);
            unfinished_.store(before | master_waiting, mo_release, $);
        } else {
            before = unfinished_.fetch_or(master_waiting, mo_acq_rel, $); // acq_rel[team-join]
        }
    }
    void master() {
        for (unsigned region = 1; region <= regions; ++region) {
            unfinished_.store(2, mo_relaxed, $);
            region_.store(region, mo_release, $); // stands for the slots
            unsigned before = 1;
            if (unfinished_.load(mo_acquire, $) != 0) { // acquire[team-join]
                if (seeded(waits_before_it_is_saved)) announce(before);
                saved($) = static_cast<int>(region);
                if (!seeded(waits_before_it_is_saved)) announce(before);
                if (before == 0 && !seeded(parks_without_a_look))
                    unfinished_.store(0, mo_relaxed, $);
                else
                    resumed.wait();
            }
            for (auto &r : result) RL_ASSERT(r($) == static_cast<int>(region));
        }
    }
    void resume_master(unsigned region) {
        RL_ASSERT(saved($) == static_cast<int>(region));
        unfinished_.store(0, mo_relaxed, $);
        resumed.wake();
    }
    void finish(unsigned me, unsigned region) {
        result[me]($) = static_cast<int>(region);
        const unsigned finished = 1;
        // All that is missing ended here: nobody else can finish the region.
        if (unfinished_.load(unless(shortcut_relaxed, mo_acquire), $) ==
            (master_waiting | finished)) // acquire[team-join]
            return resume_master(region);
        const unsigned last = seeded(last_ignores_the_master) ? finished : master_waiting | finished;
        if (unfinished_.fetch_sub(finished, unless(flush_relaxed, mo_acq_rel), $) == last) // acq_rel[team-join]
            resume_master(region);
    }
    void thread(unsigned id) {
        if (id == 2) return master();
        for (unsigned region = 1; region <= regions; ++region) {
            rl::linear_backoff b;
            while (region_.load(mo_acquire, $) < region) b.yield($);
            finish(id, region);
        }
    }
};

const registration here{{"join",
                         {"flush_relaxed", "waits_by_store", "waits_before_it_is_saved", "last_ignores_the_master",
                          "parks_without_a_look", "shortcut_relaxed"},
                         search<join>,
                         {1, 20000}}};

} // namespace
} // namespace model
