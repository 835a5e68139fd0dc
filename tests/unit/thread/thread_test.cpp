// The C interface, for each technique, with and without thread-local storage of the threads' own.
#include "comity/thread.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <cfenv>
#include <cstdint>
#include <numeric>
#include <thread>
#include <vector>

namespace {

void *number(std::uintptr_t n) { return reinterpret_cast<void *>(n); }

struct kind {
    comity_technique_t technique;
    int own_tls;
};

class thread_kinds : public testing::TestWithParam<kind> {
public:
    comity_thread_attr_t attr() const { return {GetParam().technique, 0, GetParam().own_tls, 0}; }
    comity_thread_t *create(void *(*fn)(void *), void *arg) const {
        const comity_thread_attr_t a = attr();
        comity_thread_t *t = nullptr;
        EXPECT_EQ(comity_thread_create(&t, &a, fn, arg), 0);
        return t;
    }
};

void *join(comity_thread_t *t) {
    void *result = nullptr;
    EXPECT_EQ(comity_thread_join(t, &result), 0);
    return result;
}

INSTANTIATE_TEST_SUITE_P(all, thread_kinds,
                         testing::Values(kind{COMITY_TECHNIQUE_ROC_L, 0}, kind{COMITY_TECHNIQUE_FULL, 0},
                                         kind{COMITY_TECHNIQUE_ROC_L, 1}, kind{COMITY_TECHNIQUE_FULL, 1}),
                         [](const auto &i) {
                             return std::string(i.param.technique == COMITY_TECHNIQUE_FULL ? "full" : "roc_l") +
                                    (i.param.own_tls ? "_own_tls" : "");
                         });

} // namespace

TEST_P(thread_kinds, returns_its_result_to_the_joiner) {
    EXPECT_EQ(join(create([](void *p) { return p; }, number(7))), number(7));
}

TEST_P(thread_kinds, without_a_scheduler_the_last_join_ends_the_implicit_one) {
    EXPECT_EQ(comity_sched_current(), nullptr);
    comity_thread_t *a = create([](void *p) { return p; }, number(1)),
                    *b = create([](void *p) { return p; }, number(2));
    EXPECT_NE(comity_sched_current(), nullptr);
    EXPECT_EQ(join(a), number(1));
    EXPECT_EQ(join(b), number(2));
    EXPECT_EQ(comity_sched_current(), nullptr);
}

TEST_P(thread_kinds, every_join_order_gives_every_result) {
    ASSERT_EQ(comity_threads_begin(), 0);
    const auto work = [](void *p) {
        if (reinterpret_cast<std::uintptr_t>(p) % 3 == 0) comity_thread_yield();
        return p;
    };
    for (const int order : {0, 1, 2}) {
        constexpr std::size_t n = 300; // more than the first ring of a deque
        std::vector<comity_thread_t *> threads(n);
        for (std::size_t i = 0; i < n; ++i) threads[i] = create(work, number(i + 1));
        for (std::size_t i = 0; i < n; ++i) {
            const std::size_t which = order == 0 ? i : order == 1 ? n - 1 - i : (i * 7) % n;
            ASSERT_EQ(join(threads[which]), number(which + 1));
        }
    }
    comity_threads_end();
}

TEST_P(thread_kinds, threads_create_and_join_threads) {
    struct tree {
        const thread_kinds *test;
        int depth;
        static void *walk(void *p) {
            const tree *t = static_cast<tree *>(p);
            if (t->depth == 0) return number(1);
            tree below{t->test, t->depth - 1};
            comity_thread_t *a = t->test->create(walk, &below), *b = t->test->create(walk, &below);
            const auto left = reinterpret_cast<std::uintptr_t>(join(a)),
                       right = reinterpret_cast<std::uintptr_t>(join(b));
            return number(left + right);
        }
    };
    tree top{this, 6};
    EXPECT_EQ(tree::walk(&top), number(64));
}

TEST_P(thread_kinds, yielding_threads_take_turns_and_all_end) {
    ASSERT_EQ(comity_threads_begin(), 0);
    static std::atomic<int> total;
    total = 0;
    std::vector<comity_thread_t *> threads;
    for (int i = 0; i < 20; ++i)
        threads.push_back(create(
            [](void *) -> void * {
                for (int round = 0; round < 50; ++round) {
                    ++total;
                    comity_thread_yield();
                }
                return nullptr;
            },
            nullptr));
    for (comity_thread_t *t : threads) join(t);
    EXPECT_EQ(total, 1000);
    comity_threads_end();
}

TEST_P(thread_kinds, a_thread_that_yields_lets_one_run_that_has_not_started) {
    ASSERT_EQ(comity_threads_begin(), 0);
    static std::atomic<bool> flag;
    flag = false;
    comity_thread_t *waits = create(
        [](void *) -> void * {
            while (!flag) comity_thread_yield();
            return nullptr;
        },
        nullptr);
    comity_thread_t *sets = create(
        [](void *) -> void * {
            flag = true;
            return nullptr;
        },
        nullptr);
    join(waits);
    join(sets);
    comity_threads_end();
}

TEST_P(thread_kinds, the_creator_that_yields_lets_its_threads_run) {
    ASSERT_EQ(comity_threads_begin(), 0);
    static std::atomic<bool> ran;
    ran = false;
    comity_thread_t *t = create(
        [](void *) -> void * {
            ran = true;
            return nullptr;
        },
        nullptr);
    while (!ran) comity_thread_yield();
    join(t);
    comity_threads_end();
}

TEST_P(thread_kinds, exit_ends_the_thread_from_any_depth) {
    static void *(*const deep)(int) = [](int n) -> void * {
        if (n == 0) comity_thread_exit(number(42));
        return deep(n - 1);
    };
    EXPECT_EQ(join(create([](void *) { return deep(10); }, nullptr)), number(42));
    // also after it was stopped
    EXPECT_EQ(join(create(
                  [](void *) {
                      comity_thread_yield();
                      return deep(3);
                  },
                  nullptr)),
              number(42));
}

TEST_P(thread_kinds, self_is_the_handle_and_null_outside) {
    EXPECT_EQ(comity_thread_self(), nullptr);
    comity_thread_t *t = create([](void *) -> void * { return comity_thread_self(); }, nullptr);
    EXPECT_EQ(join(t), t);
    EXPECT_EQ(comity_thread_self(), nullptr);
}

TEST_P(thread_kinds, self_is_the_handle_in_a_stackless_thread_that_it_joins) {
    comity_thread_t *t = create(
        [](void *) -> void * {
            const comity_thread_attr_t a{COMITY_TECHNIQUE_STACKLESS, 0, 0, 0};
            comity_thread_t *inner = nullptr;
            if (comity_thread_create(
                    &inner, &a, [](void *) -> void * { return comity_thread_self(); }, nullptr) != 0)
                return nullptr;
            comity_thread_t *const handle = inner;
            return join(inner) == handle ? comity_thread_self() : nullptr;
        },
        nullptr);
    EXPECT_EQ(join(t), t);
}

TEST_P(thread_kinds, a_thread_may_be_joined_by_a_kernel_thread_that_holds_no_hart) {
    ASSERT_EQ(comity_threads_begin(), 0);
    comity_thread_t *t = create(
        [](void *p) {
            for (int i = 0; i < 100; ++i) comity_thread_yield();
            return p;
        },
        number(9));
    std::atomic<void *> result{nullptr};
    std::thread joiner([&] { result = join(t); });
    while (!result) comity_thread_yield();
    joiner.join();
    EXPECT_EQ(result, number(9));
    comity_threads_end();
}

TEST_P(thread_kinds, the_end_of_the_scheduler_waits_for_detached_threads) {
    ASSERT_EQ(comity_threads_begin(), 0);
    static std::atomic<int> done;
    done = 0;
    comity_thread_attr_t a = attr();
    a.detached = 1;
    for (int i = 0; i < 50; ++i)
        ASSERT_EQ(comity_thread_create(
                      nullptr, &a,
                      [](void *) -> void * {
                          for (int round = 0; round < 10; ++round) comity_thread_yield();
                          ++done;
                          return nullptr;
                      },
                      nullptr),
                  0);
    comity_thread_t *later = create(
        [](void *) -> void * {
            comity_thread_yield();
            ++done;
            return nullptr;
        },
        nullptr);
    EXPECT_EQ(comity_thread_detach(later), 0);
    comity_threads_end();
    EXPECT_EQ(done, 51);
}

TEST_P(thread_kinds, a_stack_is_as_large_as_asked) {
    comity_thread_attr_t a = attr();
    a.stack_size = 4 << 20;
    comity_thread_t *t = nullptr;
    ASSERT_EQ(comity_thread_create(
                  &t, &a,
                  [](void *) -> void * {
                      volatile char large[3 << 20];
                      large[0] = 1;
                      large[sizeof large - 1] = 2;
                      return number(static_cast<std::uintptr_t>(large[0] + large[sizeof large - 1]));
                  },
                  nullptr),
              0);
    EXPECT_EQ(join(t), number(3));
}

TEST_P(thread_kinds, errno_stays_with_a_thread_that_has_its_own_tls) {
    if (!GetParam().own_tls) GTEST_SKIP() << "errno belongs to the carrier";
    ASSERT_EQ(comity_threads_begin(), 0);
    std::vector<comity_thread_t *> threads;
    for (std::uintptr_t i = 1; i <= 20; ++i)
        threads.push_back(create(
            [](void *p) -> void * {
                int *const where = &errno;
                errno = static_cast<int>(reinterpret_cast<std::uintptr_t>(p));
                for (int round = 0; round < 20; ++round) comity_thread_yield();
                return number(errno == static_cast<int>(reinterpret_cast<std::uintptr_t>(p)) && where == &errno);
            },
            number(i)));
    for (comity_thread_t *t : threads) EXPECT_EQ(join(t), number(1));
    comity_threads_end();
}

TEST_P(thread_kinds, the_rounding_mode_stays_with_a_thread) {
    const int before = std::fegetround();
    ASSERT_EQ(comity_threads_begin(), 0);
    std::vector<comity_thread_t *> threads;
    for (std::uintptr_t i = 0; i < 20; ++i)
        threads.push_back(create(
            [](void *p) -> void * {
                const int mine = reinterpret_cast<std::uintptr_t>(p) % 2 ? FE_UPWARD : FE_DOWNWARD;
                std::fesetround(mine);
                volatile double one = 1, three = 3;
                const double third = one / three; // inexact: raises a flag, which the switch does not look at
                bool same = true;
                for (int round = 0; round < 20; ++round) {
                    comity_thread_yield();
                    same = same && std::fegetround() == mine && one / three == third;
                }
                return number(same);
            },
            number(i)));
    for (comity_thread_t *t : threads) EXPECT_EQ(join(t), number(1));
    EXPECT_EQ(std::fegetround(), before);
    comity_threads_end();
}

TEST(threads, data_in_the_descriptor_reaches_the_function) {
    comity_thread_t *t = nullptr;
    void *data = nullptr;
    ASSERT_EQ(comity_thread_prepare(
                  &t, nullptr,
                  [](void *p) {
                      const auto *n = static_cast<std::uint64_t *>(p);
                      return number(std::accumulate(n, n + COMITY_THREAD_DATA / 8, std::uint64_t{0}));
                  },
                  &data),
              0);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(data) % 16, 0U);
    for (std::uint64_t i = 0; i < COMITY_THREAD_DATA / 8; ++i) static_cast<std::uint64_t *>(data)[i] = i;
    ASSERT_EQ(comity_thread_launch(t), 0);
    EXPECT_EQ(join(t), number(15));
}

TEST(threads, bad_arguments_are_errors) {
    comity_thread_t *t = nullptr;
    const auto nothing = [](void *) -> void * { return nullptr; };
    comity_thread_attr_t a{};
    EXPECT_EQ(comity_thread_create(&t, nullptr, nullptr, nullptr), EINVAL);
    EXPECT_EQ(comity_thread_create(nullptr, nullptr, nothing, nullptr), EINVAL);
    a.technique = static_cast<comity_technique_t>(99);
    EXPECT_EQ(comity_thread_create(&t, &a, nothing, nullptr), EINVAL);
    a = {};
    a.stack_size = std::size_t{1} << 40;
    EXPECT_EQ(comity_thread_create(&t, &a, nothing, nullptr), EINVAL);
    EXPECT_EQ(comity_sched_current(), nullptr);
}

TEST(threads, no_handle_is_an_error_everywhere) {
    void *result = nullptr;
    EXPECT_EQ(comity_thread_join(nullptr, &result), EINVAL);
    EXPECT_EQ(comity_thread_tryjoin(nullptr, &result), EINVAL);
    EXPECT_EQ(comity_thread_timedjoin(nullptr, &result, comity_now()), EINVAL);
    EXPECT_EQ(comity_thread_wait(nullptr, &result), EINVAL);
    EXPECT_EQ(comity_thread_detach(nullptr), EINVAL);
    EXPECT_EQ(comity_thread_launch(nullptr), EINVAL);
    EXPECT_EQ(comity_thread_launch_under(nullptr, nullptr, nullptr), EINVAL);
    EXPECT_EQ(comity_thread_revive(nullptr, nullptr, nullptr), EINVAL);
    EXPECT_EQ(comity_thread_cancel(nullptr), EINVAL);
    EXPECT_EQ(comity_thread_resume(nullptr), EINVAL);
    EXPECT_EQ(comity_thread_yield_to(nullptr), EINVAL);
    EXPECT_EQ(comity_thread_set_priority(nullptr, 1), EINVAL);
}

TEST(threads, joining_oneself_is_a_deadlock_and_a_detached_one_invalid) {
    comity_thread_t *t = nullptr;
    ASSERT_EQ(comity_thread_create(
                  &t, nullptr,
                  [](void *) -> void * {
                      return number(static_cast<std::uintptr_t>(comity_thread_join(comity_thread_self(), nullptr)));
                  },
                  nullptr),
              0);
    EXPECT_EQ(join(t), number(EDEADLK));

    ASSERT_EQ(comity_threads_begin(), 0);
    comity_thread_attr_t a{};
    a.detached = 1;
    static std::atomic<bool> go;
    go = false;
    ASSERT_EQ(comity_thread_create(
                  &t, &a,
                  [](void *) -> void * {
                      while (!go) comity_thread_yield();
                      return nullptr;
                  },
                  nullptr),
              0);
    EXPECT_EQ(comity_thread_join(t, nullptr), EINVAL);
    EXPECT_EQ(comity_thread_detach(t), EINVAL);
    go = true;
    comity_threads_end();
}

TEST(threads, a_stack_that_cannot_be_had_is_an_error) {
    comity_thread_t *t = nullptr;
    comity_thread_attr_t a{};
    a.technique = COMITY_TECHNIQUE_FULL;
    a.stack_size = UINT32_MAX; // 4 GiB of address space each: with enough of them the limit is reached
    std::vector<comity_thread_t *> made;
    ASSERT_EQ(comity_threads_begin(), 0);
    int error = 0;
    while (made.size() < 40'000 && (error = comity_thread_create(
                                        &t, &a, [](void *p) { return p; }, nullptr)) == 0)
        made.push_back(t);
    EXPECT_EQ(error, ENOMEM);
    for (comity_thread_t *each : made) join(each);
    EXPECT_EQ(comity_thread_create(
                  &t, nullptr, [](void *p) { return p; }, number(3)),
              0);
    EXPECT_EQ(join(t), number(3));
    comity_threads_end();
}

TEST(threads, a_kernel_thread_that_ends_waits_for_those_that_it_detached_and_gives_its_hart_back) {
    static std::atomic<int> ran;
    ran = 0;
    constexpr int more_than_harts = 70;
    for (int i = 0; i < more_than_harts; ++i)
        std::thread([] {
            comity_thread_attr_t a{};
            a.detached = 1;
            const auto count = [](void *) -> void * {
                comity_thread_yield();
                ++ran;
                return nullptr;
            };
            EXPECT_EQ(comity_thread_create(nullptr, &a, count, nullptr), 0);
        }).join();
    EXPECT_EQ(ran, more_than_harts);
}

TEST(threads, several_kernel_threads_have_schedulers_of_their_own) {
    std::vector<std::thread> kernel_threads;
    std::atomic<int> right{0};
    for (int i = 0; i < 6; ++i)
        kernel_threads.emplace_back([&right] {
            for (std::uintptr_t round = 0; round < 50; ++round) {
                std::vector<comity_thread_t *> threads(8);
                std::uintptr_t sum = 0;
                for (comity_thread_t *&t : threads)
                    ASSERT_EQ(comity_thread_create(
                                  &t, nullptr,
                                  [](void *p) {
                                      comity_thread_yield();
                                      return p;
                                  },
                                  number(round)),
                              0);
                for (comity_thread_t *t : threads) sum += reinterpret_cast<std::uintptr_t>(join(t));
                right += sum == 8 * round;
            }
        });
    for (std::thread &t : kernel_threads) t.join();
    EXPECT_EQ(right, 300);
}
