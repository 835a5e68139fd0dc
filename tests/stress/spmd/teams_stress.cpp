// Teams under stress: barriers in flat and nested regions, several threads of the program at once, gangs, contended
// wake-ups across teams. Also run under the chaos scheduler and with more harts than cores.
#include "comity/core.h"
#include "core/base.hpp"
#include "core/promotion.hpp"
#include "core/runtime.hpp"
#include "core/sched.hpp"
#include "model/spmd/team.hpp"
#include "sync/wait_list.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <random>
#include <thread>
#include <vector>

#include <sched.h>

namespace {

using namespace comity;

struct counting_barrier {
    std::atomic<unsigned> arrived{0}, round{0};
    sync::wait_list waiting;
    unsigned size = 0;
    bool stands_by = false;

    void wait() {
        const unsigned mine = round.load();
        if (arrived.fetch_add(1) == size - 1) {
            arrived = 0;
            round.store(mine + 1);
            waiting.wake_all();
            if (stands_by) spmd::call_for_standbys();
        } else if (stands_by) {
            stand_by_until([&]() noexcept { return round.load() != mine; });
        } else {
            waiting.wait([&] { return round.load() != mine; });
        }
    }
    template <class Over> void stand_by_until(Over over) {
        spmd::standby place{[](void *argument) noexcept { return (*static_cast<Over *>(argument))(); }, &over};
        for (int looks = 0; !over();) {
            const spmd::standby_end end = spmd::stand_by(place);
            if (end == spmd::standby_end::in_vain || (end != spmd::standby_end::over && ++looks > 500))
                return static_cast<void>(waiting.block_until(over, sys::no_deadline));
        }
    }
};

struct rounds {
    counting_barrier barrier;
    std::atomic<long> sum{0};
    std::atomic<int> early{0}; // ranks that saw another one in the wrong round
    std::vector<std::atomic<int>> at;
    int count;
    rounds(unsigned size, int n) : at(size), count(n) { barrier.size = size; }
};

void walk_rounds(void *argument, unsigned rank) {
    auto *r = static_cast<rounds *>(argument);
    for (int i = 0; i < r->count; ++i) {
        r->at[rank] = i;
        r->sum += rank;
        r->barrier.wait();
        for (const auto &other : r->at) // all have reached round i, and none has left round i + 1
            if (other < i || other > i + 1) ++r->early;
        r->barrier.wait();
    }
}

void check_rounds(unsigned ranks, int count, bool stands_by = false) {
    spmd::team *t = spmd::prepare(ranks);
    ASSERT_EQ(spmd::size(t), ranks);
    rounds r(ranks, count);
    r.barrier.stands_by = stands_by;
    spmd::run(t, walk_rounds, &r);
    ASSERT_EQ(r.sum, static_cast<long>(count) * ranks * (ranks - 1) / 2);
    ASSERT_EQ(r.early, 0);
}

TEST(spmd_stress, barriers_separate_rounds_in_teams_of_any_size) {
    for (int again = 0; again < 20; ++again)
        for (const unsigned ranks : {1U, 2U, 3U, 8U, 17U}) check_rounds(ranks, 40);
}

TEST(spmd_stress, barriers_separate_rounds_of_ranks_that_stand_by) {
    for (int again = 0; again < 40; ++again)
        for (const unsigned ranks : {2U, 3U, 8U, 17U}) check_rounds(ranks, 40, true);
}

// Harts leave ranks that stand by for regions below, and come back to them.
TEST(spmd_stress, ranks_stand_by_around_nested_regions) {
    struct outer {
        counting_barrier barrier;
        static void body(void *argument, unsigned rank) {
            auto *o = static_cast<outer *>(argument);
            for (unsigned i = 0; i < 6; ++i) {
                if ((rank + i) % 3 == 0) check_rounds(2 + (rank + i) % 4, 4, i % 2 == 0);
                o->barrier.wait();
            }
        }
    };
    for (int again = 0; again < 20; ++again) {
        outer o;
        o.barrier.size = 7;
        o.barrier.stands_by = true;
        spmd::run(spmd::prepare(7), outer::body, &o);
        ASSERT_EQ(o.barrier.round, 6U);
    }
}

// Who opens the barrier goes on on its hart without an end, until all others have passed, but the thread that opened
// the region: that may have to go on on the same kernel thread.
TEST(spmd_stress, ranks_that_stand_by_on_a_busy_hart_go_on_elsewhere) {
    core::ensure_started();
    const unsigned harts = core::base().hart_count(), ranks = 2 * harts + 1;
    if (harts == 1) GTEST_SKIP() << "with one hart there is no other one";
    struct shared {
        counting_barrier barrier;
        std::atomic<unsigned> passed{0}, promoted{0};
        static void body(void *argument, unsigned rank) {
            auto *s = static_cast<shared *>(argument);
            const bool opens = rank == s->barrier.size - 1;
            while (opens && s->barrier.arrived != rank) core::let_others_run();
            s->barrier.wait();
            if (core::is_promoted(core::current_context())) ++s->promoted;
            s->passed += rank != 0;
            while (opens && s->passed != rank) {
            }
        }
    };
    unsigned promoted = 0;
    constexpr unsigned times = 50;
    for (unsigned again = 0; again < times; ++again) {
        shared s;
        s.barrier.size = ranks;
        s.barrier.stands_by = true;
        spmd::run(spmd::prepare(ranks), shared::body, &s);
        promoted += s.promoted != 0;
    }
    EXPECT_LT(promoted, times / 4); // that takes the watch 50 ms
}

TEST(spmd_stress, threads_whose_ranks_stand_by_share_the_harts) {
    std::vector<std::thread> threads;
    for (int i = 0; i < 6; ++i)
        threads.emplace_back([] {
            for (int again = 0; again < 50; ++again) check_rounds(8, 5, true);
        });
    for (auto &t : threads) t.join();
}

TEST(spmd_stress, nested_regions_run_every_rank_once) {
    struct leaf {
        static void body(void *argument, unsigned) { ++*static_cast<std::atomic<int> *>(argument); }
    };
    struct middle {
        static void body(void *argument, unsigned) { spmd::run(spmd::prepare(5), leaf::body, argument); }
    };
    for (int again = 0; again < 300; ++again) {
        std::atomic<int> runs{0};
        spmd::run(spmd::prepare(7), middle::body, &runs);
        ASSERT_EQ(runs, 35);
    }
}

// Regions of one size after another, so that harts have the ranks that they had before; then of another one, or so
// short that nobody is dealt any, or with regions in them, or a gang.
TEST(spmd_stress, each_rank_runs_once_whatever_regions_came_before) {
    struct region {
        std::atomic<int> runs[12] = {};
        int work = 0;
        bool nests = false;
        static void leaf(void *argument, unsigned) { ++*static_cast<std::atomic<int> *>(argument); }
        static void body(void *argument, unsigned rank) {
            auto *r = static_cast<region *>(argument);
            ++r->runs[rank];
            for (int i = 0; i < r->work; ++i) asm volatile("");
            if (!r->nests) return;
            std::atomic<int> below{0};
            spmd::run(spmd::prepare(3), leaf, &below);
            if (below != 3) r->runs[rank] += 1000;
        }
    };
    std::minstd_rand random(7); // NOLINT(cert-msc51-cpp): the same regions in each run
    for (int series = 0; series < 300; ++series) {
        const unsigned ranks = 1 + random() % 12, kind = random() % 8;
        for (unsigned again = 1 + random() % 12; again != 0; --again) {
            region r;
            r.work = kind < 5 ? 3000 : 10;
            r.nests = kind == 4;
            const auto how = kind == 7 ? spmd::region_kind::gang : spmd::region_kind::cooperative;
            spmd::run(spmd::prepare(ranks), region::body, &r, how);
            for (unsigned rank = 0; rank < 12; ++rank)
                ASSERT_EQ(r.runs[rank], rank < ranks) << "rank " << rank << " of " << ranks << ", kind " << kind;
        }
    }
}

TEST(spmd_stress, nested_barriers_do_not_meet) {
    struct outer {
        static void body(void *, unsigned rank) { check_rounds(2 + rank % 4, 10); }
    };
    for (int again = 0; again < 20; ++again) spmd::run(spmd::prepare(6), outer::body, nullptr);
}

TEST(spmd_stress, threads_of_the_program_share_the_harts) {
    std::vector<std::thread> threads;
    for (int i = 0; i < 6; ++i)
        threads.emplace_back([] {
            for (int again = 0; again < 50; ++again) check_rounds(8, 5);
        });
    for (auto &t : threads) t.join();
}

struct gang {
    std::atomic<unsigned> in{0};
    unsigned size = 0;
    static void body(void *argument, unsigned) {
        auto *g = static_cast<gang *>(argument);
        ++g->in;
        while (g->in < g->size) { // tells nobody that it waits
        }
    }
};

TEST(spmd_stress, gang_ranks_all_run_at_once) {
    for (int again = 0; again < 10; ++again)
        for (const unsigned ranks : {2U, 3U, 5U}) {
            gang g;
            g.size = ranks;
            spmd::run(spmd::prepare(ranks), gang::body, &g, spmd::region_kind::gang);
            ASSERT_EQ(g.in, ranks);
        }
}

// Harts that come may have to leave ranks to those that are at their places, and nobody helps them here.
TEST(spmd_stress, gang_ranks_that_are_bound_all_run_at_once) {
    static const sys::cpu_set everywhere = sys::cpu_set::every();
    spmd::set_places([](unsigned) noexcept -> const sys::cpu_set * { return &everywhere; });
    constexpr unsigned ranks = 4;
    for (unsigned places = 1; places <= ranks; ++places)
        for (int again = 0; again < 10; ++again) {
            gang g;
            g.size = ranks;
            spmd::team *t = spmd::prepare(ranks);
            ASSERT_EQ(spmd::size(t), ranks);
            unsigned place[ranks];
            for (unsigned r = 0; r < ranks; ++r) place[r] = 1 + r * places / ranks;
            spmd::bind_ranks(t, place);
            spmd::run(t, gang::body, &g, spmd::region_kind::gang);
            ASSERT_EQ(g.in, ranks);
        }
}

// A rank of one team wakes ranks of others: late wake-ups meet teams that end.
TEST(spmd_stress, a_lock_across_teams_excludes_and_loses_nobody) {
    struct lock {
        std::atomic<bool> held{false};
        sync::wait_list waiting;
        long value = 0;
        void add() {
            while (held.exchange(true)) waiting.wait([&] { return !held.load(); });
            ++value;
            held.store(false);
            waiting.wake_one();
        }
        static void body(void *argument, unsigned) {
            for (int i = 0; i < 20; ++i) static_cast<lock *>(argument)->add();
        }
    } shared;
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i)
        threads.emplace_back([&] {
            for (int again = 0; again < 40; ++again) spmd::run(spmd::prepare(4), lock::body, &shared);
        });
    for (auto &t : threads) t.join();
    EXPECT_EQ(shared.value, 3L * 40 * 4 * 20);
}

// Fails by hanging, with a single hart.
TEST(spmd_stress, a_region_below_is_not_starved_by_ranks_that_yield) {
    struct shared {
        std::atomic<bool> waits{false}, go{false}, over{false};
        sync::wait_list waiting;
        static void below(void *argument, unsigned rank) {
            auto *s = static_cast<shared *>(argument);
            if (rank == 0) return;
            s->waits = true;
            s->waiting.wait([s] { return s->go.load(); });
            s->over = true;
        }
        static void body(void *argument, unsigned rank) {
            auto *s = static_cast<shared *>(argument);
            if (rank == 2) return spmd::run(spmd::prepare(2), below, argument);
            while (!s->waits) comity::core::let_others_run();
            s->go = true;
            s->waiting.wake_all();
            while (!s->over) comity::core::let_others_run();
        }
    };
    for (int again = 0; again < 50; ++again) {
        shared s;
        spmd::run(spmd::prepare(3), shared::body, &s);
        ASSERT_TRUE(s.over);
    }
}

// Fails by hanging, with two harts: the region below ends on another hart than that of the thread which opened
// it, and that one is busy with a rank that yields until the thread has gone on.
TEST(spmd_stress, a_thread_goes_on_although_ranks_yield_on_its_hart) {
    if (comity_hart_count() != 2) GTEST_SKIP() << "with others the thread need not keep its hart";
    struct shared {
        std::atomic<int> hart{-1};
        std::atomic<bool> below_runs{false}, above_runs{false}, over{false};
        std::atomic<bool> is_void{false}; // a rank has lost its hart: on a busy machine it seems to stand still
        static void below(void *argument, unsigned rank) {
            auto *s = static_cast<shared *>(argument);
            if (rank == 0) {
                while (!s->below_runs) sched_yield(); // keeps the hart: another one must take up the other rank
                s->hart = comity_hart_id();
            } else {
                s->below_runs = true;
                while (!s->above_runs) sched_yield();
            }
        }
        static void body(void *argument, unsigned rank) {
            auto *s = static_cast<shared *>(argument);
            if (rank == 0) {
                spmd::run(spmd::prepare(2), below, argument);
                s->over = true;
                return;
            }
            while (!s->over) {
                const int here = comity_hart_id();
                if (here < 0) s->is_void = true;
                if (here < 0 || here == s->hart) s->above_runs = true;
                comity::core::let_others_run();
            }
        }
    };
    constexpr int rounds = 50;
    int told = 0;
    for (int again = 0; again < rounds; ++again) {
        shared s;
        spmd::run(spmd::prepare(3), shared::body, &s);
        ASSERT_TRUE(s.over);
        told += !s.is_void;
    }
    EXPECT_GT(told, rounds / 2);
}

TEST(spmd_stress, threads_that_come_and_go_leave_nothing_behind) {
    for (int again = 0; again < 60; ++again) std::thread([] { check_rounds(3, 3); }).join();
}

// Two ranks that wait for each other without telling Comity, as a program may where there are harts enough.
struct meeting {
    std::atomic<int> here{0};
    std::atomic<bool> met{true};
    static void body(void *argument, unsigned) {
        auto *m = static_cast<meeting *>(argument);
        ++m->here;
        for (const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20); m->here < 2;)
            if (std::chrono::steady_clock::now() > end) {
                m->met = false;
                return;
            }
    }
    static bool takes_place() {
        meeting m;
        spmd::run(spmd::prepare(2), body, &m);
        return m.met;
    }
};

TEST(spmd_stress, a_region_gets_the_harts_that_are_free_whatever_came_before) {
    core::ensure_started();
    if (core::base().hart_count() < 2) GTEST_SKIP() << "needs two harts";
    ASSERT_TRUE(meeting::takes_place()) << "the first region";
    for (int again = 0; again < 10; ++again) {
        bool met = false;
        std::thread([&met] { // our own hart is kept for us until we have slept for 10 ms
            std::this_thread::sleep_for(std::chrono::milliseconds(15));
            met = meeting::takes_place();
        })
            .join();
        ASSERT_TRUE(met) << "the first region of a thread";
    }
    for (int pause_us = 0; pause_us < 400; pause_us += 7) {
        const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(pause_us);
        while (std::chrono::steady_clock::now() < end) {
        }
        ASSERT_TRUE(meeting::takes_place()) << pause_us << " us after another one";
    }
}

// Ranks of regions that were brief so far are left to the hart that opens them, and nobody is called for them; this one
// waits for another hart. The watch would find it after 50 ms, if no hart did.
struct brief_until_now {
    static constexpr int times = 20;
    int late = 0; // in a region's rank 0 only
    void run() {
        const auto nothing = [](void *, unsigned) {};
        for (int i = 0; i < times; ++i) {
            for (int again = 0; again < 300; ++again)
                spmd::run(spmd::prepare(2), nothing, nullptr, spmd::region_kind::cooperative, &late);
            meeting m;
            const auto begin = std::chrono::steady_clock::now();
            spmd::run(spmd::prepare(2), meeting::body, &m, spmd::region_kind::cooperative, &late);
            late += std::chrono::steady_clock::now() - begin > std::chrono::milliseconds(40);
        }
    }
    static void body(void *argument, unsigned rank) {
        if (rank == 0) static_cast<brief_until_now *>(argument)->run();
    }
};

TEST(spmd_stress, a_region_that_is_not_as_brief_as_those_before_gets_a_hart) {
    core::ensure_started();
    if (core::base().hart_count() < 2) GTEST_SKIP() << "needs two harts";
    brief_until_now flat, nested;
    flat.run();
    EXPECT_LT(flat.late, brief_until_now::times / 2);
    spmd::run(spmd::prepare(2), brief_until_now::body, &nested);
    EXPECT_LT(nested.late, brief_until_now::times / 2) << "below another region";
}

// Ranks that wait for each other in a loop of their own, more than there are harts: those without one are found and go
// on on kernel threads. Fails by hanging.
struct own_barrier {
    explicit own_barrier(unsigned n) : size(n) {}
    const unsigned size;
    std::atomic<unsigned> arrived{0}, phase{0};
    void wait() {
        const unsigned now = phase;
        if (++arrived == size) {
            arrived = 0;
            ++phase;
        } else {
            while (phase == now) {
            }
        }
    }
};

TEST(spmd_stress, ranks_that_wait_for_each_other_in_a_loop_of_their_own_go_on) {
    core::ensure_started();
    const unsigned ranks = 2 * core::base().hart_count() + 1;
    struct shared {
        own_barrier all;
        std::atomic<unsigned> passed{0};
        static void body(void *argument, unsigned) {
            auto *s = static_cast<shared *>(argument);
            for (int i = 0; i < 3; ++i) {
                s->all.wait();
                ++s->passed;
            }
        }
    };
    for (int again = 0; again < 5; ++again) {
        shared s{own_barrier(ranks)};
        spmd::run(spmd::prepare(ranks), shared::body, &s);
        ASSERT_EQ(s.passed, 3 * ranks);
        check_rounds(3, 3); // regions of other kinds are what they were
    }
}

// The same below another region. (That an outer rank waits in such a loop for the thread that opened it is shown in
// tests/integration/openmp: Comity's own object, which this test is linked into, is never interrupted.)
TEST(spmd_stress, ranks_of_nested_regions_that_wait_in_a_loop_of_their_own_go_on) {
    struct shared {
        std::atomic<unsigned> passed{0};
        static void inner_body(void *argument, unsigned) { static_cast<own_barrier *>(argument)->wait(); }
        static void body(void *argument, unsigned) {
            auto *s = static_cast<shared *>(argument);
            own_barrier inner{4};
            spmd::run(spmd::prepare(4), inner_body, &inner);
            ++s->passed;
        }
    };
    for (int again = 0; again < 3; ++again) {
        shared s;
        spmd::run(spmd::prepare(3), shared::body, &s);
        ASSERT_EQ(s.passed, 3U);
    }
}

// A rank that was woken, and finds all harts with ranks that wait for it in a loop.
TEST(spmd_stress, a_rank_that_was_woken_goes_on_although_all_harts_are_with_those_that_wait_for_it) {
    core::ensure_started();
    const unsigned ranks = core::base().hart_count() + 1;
    struct shared {
        sync::wait_list list;
        std::atomic<bool> go{false}, done{false}, waits{false};
        unsigned last = 0;
        static void body(void *argument, unsigned rank) {
            auto *s = static_cast<shared *>(argument);
            if (rank == s->last) {
                s->waits = true;
                s->list.wait([s] { return s->go.load(); });
                s->done = true;
                return;
            }
            while (!s->waits) core::let_others_run();
            if (rank == s->last - 1) {
                s->go = true;
                s->list.wake_all();
            }
            while (!s->done) {
            }
        }
    };
    for (int again = 0; again < 5; ++again) {
        shared s;
        s.last = ranks - 1;
        spmd::run(spmd::prepare(ranks), shared::body, &s);
        ASSERT_TRUE(s.done);
    }
}

// It was woken in vain, for what it waits for until a deadline: it has no hart when it waits again.
TEST(spmd_stress, a_rank_that_was_woken_in_vain_waits_on_without_a_hart) {
    core::ensure_started();
    const unsigned ranks = core::base().hart_count() + 1;
    struct shared {
        sync::wait_list list;
        std::atomic<bool> go{false}, done{false}, waits{false};
        unsigned last = 0;
        static void body(void *argument, unsigned rank) {
            auto *s = static_cast<shared *>(argument);
            const auto from = std::chrono::steady_clock::now();
            if (rank == s->last) {
                s->waits = true;
                EXPECT_TRUE(s->list.wait_until([s] { return s->go.load(); }, comity_now() + 60'000'000'000));
                s->done = true;
                return;
            }
            while (!s->waits) core::let_others_run();
            while (std::chrono::steady_clock::now() - from < std::chrono::milliseconds(20)) core::let_others_run();
            if (rank == s->last - 1) {
                s->list.wake_all();
                while (std::chrono::steady_clock::now() - from < std::chrono::milliseconds(300)) {
                }
                s->go = true;
                s->list.wake_all();
            }
            while (!s->done) {
            }
        }
    };
    for (int again = 0; again < 2; ++again) {
        shared s;
        s.last = ranks - 1;
        spmd::run(spmd::prepare(ranks), shared::body, &s);
        ASSERT_TRUE(s.done);
    }
}

} // namespace
