// Join: src/model/spmd, unfinished_ and master_waiting (join, master_parks, flush, finish) over two regions. The
// master's hart parks the master and is done; two harts end two ranks each, which they subtract together or one by one
// (when the second blocks meanwhile), and whoever ends the last one resumes the master.
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
    static constexpr unsigned master_waiting = 0x80000000, regions = 2, harts = 2, ranks = 2;
    atomic<unsigned> unfinished_, region_;
    parker resumed;
    var<int> result[harts][ranks],
        saved; // saved: the master's context, written when it is paused, read by whoever resumes it

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
            unfinished_.store(harts * ranks, mo_relaxed, $);
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
            for (auto &hart : result)
                for (auto &r : hart) RL_ASSERT(r($) == static_cast<int>(region));
        }
    }
    void resume_master(unsigned region) {
        RL_ASSERT(saved($) == static_cast<int>(region));
        unfinished_.store(0, mo_relaxed, $);
        resumed.wake();
    }
    void finish(unsigned me, unsigned region) {
        unsigned finished = 0;
        for (unsigned rank = 0; rank < ranks; ++rank) {
            result[me][rank]($) = static_cast<int>(region);
            ++finished;
            if (rank + 1 < ranks && rl::rand(2)) flush(finished, region); // the next one blocks before it ends
        }
        // All that is missing ended here: nobody else can finish the region.
        if (unfinished_.load(unless(shortcut_relaxed, mo_acquire), $) ==
            (master_waiting | finished)) // acquire[team-join]
            return resume_master(region);
        flush(finished, region);
    }
    void flush(unsigned &finished, unsigned region) {
        const unsigned last = seeded(last_ignores_the_master) ? finished : master_waiting | finished;
        if (unfinished_.fetch_sub(finished, unless(flush_relaxed, mo_acq_rel), $) == last) // acq_rel[team-join]
            resume_master(region);
        finished = 0;
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
