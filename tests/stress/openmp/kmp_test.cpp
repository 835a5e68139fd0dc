// What LLVM's ABI does by protocols of its own over the core, called as compilers do: data that is not atomic is
// written on one side of a construct and read on the other, for ThreadSanitizer.
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace {

using i32 = std::int32_t;
using i64 = std::int64_t;
using u64 = std::uint64_t;
using i32_pair = void (*)(i32 *, i32 *, ...);
using name_words = i32[8];

struct ident {
    i32 reserved_1 = 0, flags = 2, reserved_2 = 0, reserved_3 = 0;
    const char *source = ";test;;0;0;;";
};
ident here;

struct dimension {
    i64 lower, upper, step;
};
struct reduction_input {
    void *shared, *original;
    std::size_t size;
    void *begin, *end, *combine;
    unsigned flags;
};
struct kmp_task {
    void *shared;
    i32 (*routine)(i32, kmp_task *);
    i32 part;
    void *first, *second;
};

} // namespace

extern "C" {
i32 __kmpc_global_thread_num(ident *);
void __kmpc_push_num_threads(ident *, i32, i32);
void __kmpc_fork_call(ident *, i32, i32_pair, ...);
void __kmpc_serialized_parallel(ident *, i32);
void __kmpc_end_serialized_parallel(ident *, i32);
void __kmpc_barrier(ident *, i32);
i32 __kmpc_reduce(ident *, i32, i32, std::size_t, void *, void (*)(void *, void *), name_words *);
void __kmpc_end_reduce(ident *, i32, name_words *);
i32 __kmpc_single(ident *, i32);
void __kmpc_copyprivate(ident *, i32, std::size_t, void *, void (*)(void *, void *), i32);
void __kmpc_doacross_init(ident *, i32, i32, const dimension *);
void __kmpc_doacross_post(ident *, i32, const i64 *);
void __kmpc_doacross_wait(ident *, i32, const i64 *);
void __kmpc_doacross_fini(ident *, i32);
void __kmpc_dispatch_init_8(ident *, i32, i32, i64, i64, i64, i64);
i32 __kmpc_dispatch_next_8(ident *, i32, i32 *, i64 *, i64 *, i64 *);
kmp_task *__kmpc_omp_task_alloc(ident *, i32, i32, std::size_t, std::size_t, i32 (*)(i32, kmp_task *));
i32 __kmpc_omp_task(ident *, i32, kmp_task *);
void __kmpc_taskloop(ident *, i32, kmp_task *, i32, u64 *, u64 *, i64, i32, i32, u64, void *);
void __kmpc_taskgroup(ident *, i32);
void __kmpc_end_taskgroup(ident *, i32);
void *__kmpc_taskred_init(int, int, void *);
void *__kmpc_taskred_modifier_init(ident *, int, int, int, void *);
void __kmpc_task_reduction_modifier_fini(ident *, int, int);
void *__kmpc_task_reduction_get_th_data(int, void *, void *);
void *__kmpc_threadprivate_cached(ident *, i32, void *, std::size_t, void ***);
void __kmpc_atomic_cmplx8_add(ident *, int, double *, __complex__ double);
int omp_get_thread_num();
int omp_get_num_threads();
int omp_get_level();
}

namespace {

template <class F> void call(i32 *, i32 *, void *f) { (*static_cast<F *>(f))(); }

template <class F> void region(unsigned ranks, F &&f) {
    __kmpc_push_num_threads(&here, __kmpc_global_thread_num(&here), static_cast<i32>(ranks));
    __kmpc_fork_call(&here, 1, reinterpret_cast<i32_pair>(call<std::remove_reference_t<F>>), &f);
}

constexpr i32 tied = 1, dynamic_chunked = 35;

class openmp_kmp : public testing::TestWithParam<unsigned> {
protected:
    unsigned ranks = GetParam();
    static constexpr int rounds = 20;
};

void add_long(void *into, void *from) {
    auto **a = static_cast<long **>(into), **b = static_cast<long **>(from);
    **a += **b;
}

TEST_P(openmp_kmp, a_reduction_is_whole_after_it) {
    static name_words name;
    for (int round = 0; round < rounds; ++round) {
        long sum = 0, wrong = 0;
        std::vector<long> seen(64);
        region(ranks, [&] {
            long mine = omp_get_thread_num() + 1, *list[] = {&mine}, *whole[] = {&sum};
            if (__kmpc_reduce(&here, 0, 1, sizeof list, list, add_long, &name) == 1) {
                add_long(whole, list);
                __kmpc_end_reduce(&here, 0, &name);
            }
            seen[static_cast<unsigned>(omp_get_thread_num())] = sum;
        });
        const long wanted = static_cast<long>(ranks) * (ranks + 1) / 2;
        for (unsigned i = 0; i < ranks; ++i) wrong += seen[i] != wanted;
        ASSERT_EQ(wrong, 0);
    }
}

TEST_P(openmp_kmp, copyprivate_takes_the_data_to_all_before_it_changes_again) {
    std::vector<int> wrong(64);
    region(ranks, [&] {
        for (int round = 1; round <= rounds; ++round) {
            int value = 0;
            const i32 executes = __kmpc_single(&here, 0);
            if (executes) value = round;
            __kmpc_copyprivate(
                &here, 0, sizeof value, &value,
                [](void *to, void *from) { *static_cast<int *>(to) = *static_cast<int *>(from); }, executes);
            wrong[static_cast<unsigned>(omp_get_thread_num())] += value != round;
            value = -1; // of the one that executed it, too
        }
    });
    for (int w : wrong) EXPECT_EQ(w, 0);
}

TEST_P(openmp_kmp, a_doacross_nest_by_value_keeps_its_order) {
    constexpr i64 rows = 10, columns = 7;
    const dimension loops[] = {{rows - 1, 0, -1}, {-3, -3 + 2 * (columns - 1), 2}};
    for (int round = 0; round < rounds; ++round) {
        long table[rows][columns] = {};
        region(ranks, [&] {
            __kmpc_doacross_init(&here, 0, 2, loops);
            __kmpc_dispatch_init_8(&here, 0, dynamic_chunked, rows - 1, 0, -1, 1);
            i64 from, to, step;
            i32 last;
            while (__kmpc_dispatch_next_8(&here, 0, &last, &from, &to, &step))
                for (i64 i = from; i >= to; --i)
                    for (i64 j = 0; j < columns; ++j) {
                        const i64 above[] = {i + 1, -3 + 2 * j}, left[] = {i, -3 + 2 * (j - 1)}, me[] = {i, -3 + 2 * j};
                        __kmpc_doacross_wait(&here, 0, above);
                        __kmpc_doacross_wait(&here, 0, left);
                        table[i][j] = (i + 1 < rows ? table[i + 1][j] : 1) + (j ? table[i][j - 1] : 0);
                        __kmpc_doacross_post(&here, 0, me);
                    }
            __kmpc_doacross_fini(&here, 0);
        });
        long wanted[rows][columns] = {};
        for (i64 i = rows - 1; i >= 0; --i)
            for (i64 j = 0; j < columns; ++j)
                wanted[i][j] = (i + 1 < rows ? wanted[i + 1][j] : 1) + (j ? wanted[i][j - 1] : 0);
        ASSERT_EQ(std::memcmp(table, wanted, sizeof table), 0);
    }
}

void begin_sum(void *copy, void *) { *static_cast<long *>(copy) = 0; }
void combine_sums(void *into, void *from) { *static_cast<long *>(into) += *static_cast<long *>(from); }

struct adding_task {
    kmp_task head;
    void *item;
};
i32 add_one(i32 gtid, kmp_task *t) {
    ++*static_cast<long *>(__kmpc_task_reduction_get_th_data(gtid, nullptr, reinterpret_cast<adding_task *>(t)->item));
    return 0;
}
void make_adding_task(void *item) {
    kmp_task *t = __kmpc_omp_task_alloc(&here, 0, tied, sizeof(adding_task), 0, add_one);
    reinterpret_cast<adding_task *>(t)->item = item;
    __kmpc_omp_task(&here, 0, t);
}

TEST_P(openmp_kmp, a_taskgroups_reduction_has_all_tasks_parts) {
    for (int round = 0; round < rounds; ++round) {
        long sum = 5;
        region(ranks, [&] {
            if (!__kmpc_single(&here, 0)) return;
            __kmpc_taskgroup(&here, 0);
            reduction_input input{&sum,       &sum,
                                  sizeof sum, reinterpret_cast<void *>(begin_sum),
                                  nullptr,    reinterpret_cast<void *>(combine_sums),
                                  0};
            __kmpc_taskred_init(0, 1, &input);
            for (int i = 0; i < 50; ++i) make_adding_task(&sum);
            __kmpc_end_taskgroup(&here, 0);
        });
        ASSERT_EQ(sum, 55);
    }
}

struct looping_task {
    kmp_task head;
    u64 lower, upper;
    long *counts, copied;
};
i32 count_iterations(i32, kmp_task *t) {
    const auto *own = reinterpret_cast<looping_task *>(t);
    for (u64 i = own->lower; i <= own->upper; ++i) own->counts[i] += own->copied;
    return 0;
}
void copy_looping_task(kmp_task *to, kmp_task *, i32) { reinterpret_cast<looping_task *>(to)->copied = 1; }

// The program's functions are of the program's types: for UndefinedBehaviorSanitizer.
TEST_P(openmp_kmp, a_taskloop_runs_each_iteration_once) {
    constexpr u64 iterations = 300;
    for (int round = 0; round < rounds; ++round) {
        for (const i32 deferred : {0, 1}) {
            std::vector<long> counts(iterations);
            region(ranks, [&] {
                if (!__kmpc_single(&here, 0)) return;
                kmp_task *t = __kmpc_omp_task_alloc(&here, 0, tied, sizeof(looping_task), 0, count_iterations);
                auto *own = reinterpret_cast<looping_task *>(t);
                own->lower = 0;
                own->upper = iterations - 1;
                own->counts = counts.data();
                own->copied = 0;
                __kmpc_taskloop(&here, 0, t, deferred, &own->lower, &own->upper, 1, 0, 0, 0,
                                reinterpret_cast<void *>(copy_looping_task));
            });
            ASSERT_EQ(counts, std::vector<long>(iterations, 1));
        }
    }
}

TEST_P(openmp_kmp, ranks_that_share_a_task_reduction_combine_it_once) {
    for (int round = 0; round < rounds; ++round) {
        std::vector<long> parts(64);
        region(ranks, [&] {
            long &mine = parts[static_cast<unsigned>(omp_get_thread_num())];
            reduction_input input{&mine,
                                  &mine,
                                  sizeof mine,
                                  reinterpret_cast<void *>(begin_sum),
                                  nullptr,
                                  reinterpret_cast<void *>(combine_sums),
                                  0};
            __kmpc_taskred_modifier_init(&here, 0, 0, 1, &input);
            for (int i = 0; i < 20; ++i) make_adding_task(&mine);
            __kmpc_task_reduction_modifier_fini(&here, 0, 0);
        });
        long sum = 0;
        for (long part : parts) sum += part;
        ASSERT_EQ(sum, 20 * static_cast<long>(ranks));
    }
}

TEST_P(openmp_kmp, threadprivate_copies_are_each_ranks_own) {
    static int variable = 3;
    std::vector<int> wrong(64);
    for (int round = 0; round < rounds; ++round)
        region(ranks, [&] {
            auto *mine = static_cast<int *>(__kmpc_threadprivate_cached(&here, 0, &variable, sizeof variable, nullptr));
            *mine = omp_get_thread_num();
            __kmpc_barrier(&here, 0);
            wrong[static_cast<unsigned>(omp_get_thread_num())] += *mine != omp_get_thread_num();
        });
    for (int w : wrong) EXPECT_EQ(w, 0);
}

TEST_P(openmp_kmp, a_serialized_region_nests_in_any_other) {
    std::vector<int> wrong(64);
    region(ranks, [&] {
        const int me = omp_get_thread_num(), level = omp_get_level();
        for (int i = 0; i < 3; ++i) __kmpc_serialized_parallel(&here, 0);
        int &w = wrong[static_cast<unsigned>(me)];
        w += omp_get_thread_num() != 0 || omp_get_num_threads() != 1 || omp_get_level() != level + 3;
        __kmpc_barrier(&here, 0);
        for (int i = 0; i < 3; ++i) __kmpc_end_serialized_parallel(&here, 0);
        w += omp_get_thread_num() != me || omp_get_level() != level;
    });
    for (int w : wrong) EXPECT_EQ(w, 0);
}

TEST_P(openmp_kmp, wide_atomics_lose_nothing) {
    alignas(16) double z[2] = {0, 0};
    __complex__ double step;
    __real__ step = 1;
    __imag__ step = 2;
    region(ranks, [&] {
        for (int i = 0; i < 100; ++i) __kmpc_atomic_cmplx8_add(&here, 0, z, step);
    });
    EXPECT_EQ(z[0], 100.0 * ranks);
    EXPECT_EQ(z[1], 200.0 * ranks);
}

INSTANTIATE_TEST_SUITE_P(ranks, openmp_kmp, testing::Values(1u, 2u, 5u, 16u));

} // namespace
