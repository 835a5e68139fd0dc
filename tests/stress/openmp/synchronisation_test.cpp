// What OpenMP's constructs promise about memory, by calling the ABI as compilers do: data that is not atomic is written
// on one side of a construct and read on the other. ThreadSanitizer then sees every missing edge; without it wrong sums
// show lost ones.
#include <atomic>
#include <cstdint>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

extern "C" {
void GOMP_parallel(void (*)(void *), void *, unsigned, unsigned);
void GOMP_parallel_loop_dynamic(void (*)(void *), void *, unsigned, long, long, long, long, unsigned);
void GOMP_barrier();
void GOMP_critical_start();
void GOMP_critical_end();
bool GOMP_single_start();
void *GOMP_single_copy_start();
void GOMP_single_copy_end(void *);
bool GOMP_loop_dynamic_start(long, long, long, long, long *, long *);
bool GOMP_loop_dynamic_next(long *, long *);
bool GOMP_loop_runtime_start(long, long, long, long *, long *);
bool GOMP_loop_runtime_next(long *, long *);
bool GOMP_loop_start(long, long, long, long, long, long *, long *, std::uintptr_t *, void **);
bool GOMP_loop_ordered_dynamic_start(long, long, long, long, long *, long *);
bool GOMP_loop_ordered_dynamic_next(long *, long *);
bool GOMP_loop_doacross_dynamic_start(unsigned, long *, long, long *, long *);
void GOMP_doacross_post(long *);
void GOMP_doacross_wait(long, ...);
void GOMP_loop_end();
void GOMP_loop_end_nowait();
unsigned GOMP_sections_start(unsigned);
unsigned GOMP_sections_next();
void GOMP_sections_end_nowait();
void GOMP_ordered_start();
void GOMP_ordered_end();
void GOMP_task(void (*)(void *), void *, void (*)(void *, void *), long, long, bool, unsigned, void **, int, void *);
void GOMP_taskwait();
void GOMP_taskgroup_start();
void GOMP_taskgroup_end();
void GOMP_parallel_start(void (*)(void *), void *, unsigned);
void GOMP_parallel_end();
int omp_get_thread_num();
int omp_get_num_threads();
void omp_set_max_active_levels(int);
void omp_set_schedule(unsigned kind, int chunk);
}

namespace {

template <class F> void call(void *f) { (*static_cast<F *>(f))(); }

template <class F> void region(unsigned ranks, F &&f) { GOMP_parallel(call<std::remove_reference_t<F>>, &f, ranks, 0); }

// A task that runs f, a copy of which it gets; `depend` as compilers give it.
template <class F> void task(F f, void **depend = nullptr) {
    static_assert(std::is_trivially_copyable_v<F>);
    GOMP_task(call<F>, &f, nullptr, sizeof f, alignof(F), true, depend ? 8 : 0, depend, 0, nullptr);
}

class openmp : public testing::TestWithParam<unsigned> {
protected:
    unsigned ranks = GetParam();
    static constexpr int rounds = 30;
};

TEST_P(openmp, the_region_sees_what_came_before_and_its_end_sees_the_region) {
    std::vector<int> data(64);
    for (int round = 0; round < rounds; ++round) {
        int given = round;
        region(ranks, [&] { data[static_cast<unsigned>(omp_get_thread_num())] = given + omp_get_thread_num(); });
        for (unsigned i = 0; i < ranks; ++i) ASSERT_EQ(data[i], round + static_cast<int>(i));
    }
}

TEST_P(openmp, a_barrier_orders_both_sides) {
    std::vector<int> data(64), wrong(64);
    region(ranks, [&] {
        const unsigned me = static_cast<unsigned>(omp_get_thread_num());
        for (int round = 1; round <= rounds; ++round) {
            data[me] = round;
            GOMP_barrier();
            for (unsigned i = 0; i < ranks; ++i) wrong[me] += data[i] != round;
            GOMP_barrier();
        }
    });
    for (unsigned i = 0; i < ranks; ++i) EXPECT_EQ(wrong[i], 0);
}

TEST_P(openmp, critical_regions_are_one_after_the_other) {
    long count = 0;
    region(ranks, [&] {
        for (int i = 0; i < rounds; ++i) {
            GOMP_critical_start();
            ++count;
            GOMP_critical_end();
        }
    });
    EXPECT_EQ(count, long{rounds} * ranks);
}

TEST_P(openmp, single_hands_its_data_to_all) {
    std::vector<int> wrong(64);
    int taken = 0;
    region(ranks, [&] {
        for (int i = 0; i < rounds; ++i) {
            int value = -1;
            if (auto *from = static_cast<int *>(GOMP_single_copy_start())) {
                value = *from;
            } else {
                value = i;
                GOMP_single_copy_end(&value);
            }
            GOMP_barrier();
            wrong[static_cast<unsigned>(omp_get_thread_num())] += value != i;
            if (GOMP_single_start()) ++taken; // by any of the ranks, with a barrier between them
            GOMP_barrier();
        }
    });
    for (int w : wrong) EXPECT_EQ(w, 0);
    EXPECT_EQ(taken, rounds);
}

TEST_P(openmp, loops_share_out_each_iteration_once_even_far_ahead_of_each_other) {
    std::vector<int> ran(100 * rounds);
    region(ranks, [&] {
        for (int round = 0; round < rounds; ++round) {
            long from, to;
            if (GOMP_loop_dynamic_start(0, 100, 1, 3, &from, &to)) do {
                    for (long i = from; i < to; ++i) ++ran[static_cast<unsigned>(100 * round + i)];
                } while (GOMP_loop_dynamic_next(&from, &to));
            GOMP_loop_end_nowait();
        }
    });
    for (int r : ran) ASSERT_EQ(r, 1);
}

// Five kinds of constructs and eight slots: each slot is every kind's in turn. Nobody fills those of plain loops and
// sections; one rank fills those of loops whose schedule the ranks' variables say (static: 1, dynamic: 2; they differ),
// and of those with memory for all.
TEST_P(openmp, constructs_of_all_kinds_follow_each_other_far_ahead) {
    constexpr unsigned wide = 12, kinds = 5;
    std::vector<int> ran(kinds * wide * rounds);
    std::vector<std::vector<long>> order(rounds); // of each round's ordered regions
    std::atomic<int> memory_used_before{0};
    region(ranks, [&] {
        const int mine = omp_get_thread_num();
        for (unsigned round = 0; round < rounds; ++round) {
            int *at = &ran[kinds * wide * round];
            long from, to;
            const auto take = [&](bool some, bool (*next)(long *, long *)) {
                for (; some; some = next(&from, &to))
                    for (long i = from; i < to; ++i) ++at[i];
                GOMP_loop_end_nowait();
                at += wide;
            };
            take(GOMP_loop_dynamic_start(0, wide, 1, 1, &from, &to), GOMP_loop_dynamic_next);
            for (unsigned s = GOMP_sections_start(wide); s != 0; s = GOMP_sections_next()) ++at[s - 1];
            GOMP_sections_end_nowait();
            at += wide;
            omp_set_schedule((mine + static_cast<int>(round)) % 2 ? 1 : 2, 1 + mine);
            take(GOMP_loop_runtime_start(0, wide, 1, &from, &to), GOMP_loop_runtime_next);
            void *memory = reinterpret_cast<void *>(ranks);
            const bool some = GOMP_loop_start(0, wide, 1, 2, 1, &from, &to, nullptr, &memory);
            memory_used_before += static_cast<char *>(memory)[mine]++;
            take(some, GOMP_loop_dynamic_next);
            for (bool more = GOMP_loop_ordered_dynamic_start(0, wide, 1, 1, &from, &to); more;
                 more = GOMP_loop_ordered_dynamic_next(&from, &to))
                for (long i = from; i < to; ++i) {
                    GOMP_ordered_start();
                    order[round].push_back(i);
                    ++at[i];
                    GOMP_ordered_end();
                }
            GOMP_loop_end_nowait();
        }
    });
    for (int r : ran) ASSERT_EQ(r, 1);
    std::vector<long> in_turn(wide);
    std::iota(in_turn.begin(), in_turn.end(), 0);
    for (const auto &o : order) ASSERT_EQ(o, in_turn);
    EXPECT_EQ(memory_used_before, 0);
}

TEST_P(openmp, a_combined_loop_that_nobody_leaves_is_left_at_the_end) {
    for (int round = 0; round < rounds; ++round) {
        int count = 0;
        auto body = [&] {
            GOMP_critical_start();
            ++count;
            GOMP_critical_end();
        };
        GOMP_parallel_loop_dynamic(call<decltype(body)>, &body, ranks, 0, 10, 1, 1, 0);
        ASSERT_EQ(count, static_cast<int>(ranks));
    }
}

TEST_P(openmp, ordered_regions_are_one_after_the_other) {
    std::vector<long> order;
    region(ranks, [&] {
        long from, to;
        if (GOMP_loop_ordered_dynamic_start(0, 100, 1, 2, &from, &to)) do {
                for (long i = from; i < to; ++i) {
                    GOMP_ordered_start();
                    order.push_back(i);
                    GOMP_ordered_end();
                }
            } while (GOMP_loop_ordered_dynamic_next(&from, &to));
        GOMP_loop_end();
    });
    ASSERT_EQ(order.size(), 100u);
    for (long i = 0; i < 100; ++i) EXPECT_EQ(order[static_cast<unsigned long>(i)], i);
}

TEST_P(openmp, doacross_sinks_see_their_sources) {
    std::vector<int> a(100);
    region(ranks, [&] {
        long counts[1] = {100}, from, to;
        if (GOMP_loop_doacross_dynamic_start(1, counts, 1, &from, &to)) do {
                for (long i = from; i < to; ++i) {
                    if (i) GOMP_doacross_wait(i - 1);
                    a[static_cast<unsigned long>(i)] = i ? a[static_cast<unsigned long>(i - 1)] + 1 : 0;
                    GOMP_doacross_post(&i);
                }
            } while (GOMP_loop_dynamic_next(&from, &to));
        GOMP_loop_end();
    });
    EXPECT_EQ(a[99], 99);
}

long tree(int depth) {
    if (!depth) return 1;
    long left = 0, right = 0;
    task([depth, &left] { left = tree(depth - 1); });
    task([depth, &right] { right = tree(depth - 1); });
    GOMP_taskwait();
    return left + right;
}

TEST_P(openmp, taskwait_sees_what_the_children_did) {
    long leaves = 0;
    region(ranks, [&] {
        if (GOMP_single_start()) leaves = tree(9);
        GOMP_barrier();
    });
    EXPECT_EQ(leaves, 512);
}

TEST_P(openmp, every_task_is_done_when_the_region_is) {
    for (int round = 0; round < rounds; ++round) {
        std::vector<int> done(100);
        region(ranks, [&] {
            if (omp_get_thread_num() != 0) return;
            for (unsigned i = 0; i < 100; ++i) task([&done, i] { done[i] = 1; });
        });
        for (int d : done) ASSERT_EQ(d, 1);
    }
}

TEST_P(openmp, a_group_ends_after_its_descendants) {
    region(ranks, [&] {
        if (GOMP_single_start()) {
            std::vector<int> done(20);
            GOMP_taskgroup_start();
            for (unsigned i = 0; i < 20; ++i) task([&done, i] { task([&done, i] { done[i] = 1; }); });
            GOMP_taskgroup_end();
            for (int d : done) EXPECT_EQ(d, 1);
        }
        GOMP_barrier();
    });
}

TEST_P(openmp, dependent_tasks_see_what_they_depend_on) {
    long value = 0;
    std::vector<long> seen(rounds * 2);
    region(ranks, [&] {
        if (GOMP_single_start()) {
            void *writes[] = {reinterpret_cast<void *>(1), reinterpret_cast<void *>(1), &value};
            void *reads[] = {reinterpret_cast<void *>(1), nullptr, &value};
            for (unsigned i = 0; i < rounds; ++i) {
                task([&value] { ++value; }, writes);
                for (unsigned r = 0; r < 2; ++r) task([&value, &seen, i, r] { seen[2 * i + r] = value; }, reads);
            }
        }
        GOMP_barrier();
    });
    EXPECT_EQ(value, rounds);
    for (unsigned i = 0; i < rounds * 2; ++i) EXPECT_EQ(seen[i], static_cast<long>(i / 2 + 1));
}

// Its memory is freed at once: AddressSanitizer sees who still looks at it.
TEST_P(openmp, a_taskgroup_may_go_as_soon_as_its_last_task_is_done) {
    constexpr long groups = 2000;
    std::atomic<long> ran{0};
    region(ranks, [&] {
        if (omp_get_thread_num() == 0)
            for (long i = 0; i < groups; ++i) {
                GOMP_taskgroup_start();
                task([&ran] { ++ran; });
                for (int spin = 0; spin < 5000 && ran == i; ++spin) { // another rank may take it meanwhile
                }
                GOMP_taskgroup_end();
            }
        GOMP_barrier();
    });
    EXPECT_EQ(ran, groups);
}

TEST_P(openmp, regions_nest) {
    omp_set_max_active_levels(8);
    long count = 0;
    region(ranks, [&] {
        long inner = 0;
        region(3, [&] {
            GOMP_critical_start();
            ++inner;
            GOMP_critical_end();
        });
        GOMP_critical_start();
        count += inner;
        GOMP_critical_end();
    });
    EXPECT_EQ(count, 3 * static_cast<long>(ranks));
}

TEST_P(openmp, the_entry_points_of_old_compilers_return_in_the_region) {
    for (int round = 0; round < 5; ++round) {
        std::vector<int> ran(64);
        auto body = [&] {
            ran[static_cast<unsigned>(omp_get_thread_num())] = omp_get_num_threads();
            GOMP_barrier();
        };
        GOMP_parallel_start(call<decltype(body)>, &body, ranks);
        body();
        GOMP_parallel_end();
        EXPECT_EQ(omp_get_num_threads(), 1);
        for (unsigned i = 0; i < ranks; ++i) ASSERT_EQ(ran[i], static_cast<int>(ranks));
    }
}

INSTANTIATE_TEST_SUITE_P(ranks, openmp, testing::Values(1u, 2u, 3u, 9u));

} // namespace
