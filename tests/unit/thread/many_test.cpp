// Many threads at once, joins of other kinds, threads that run again, and threads that say who runs where.
#include "comity/thread.h"

#include "../sanitizers.hpp"
#include "techniques.hpp"

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <vector>

#include <sys/resource.h>
#include <unistd.h>

namespace {

class thread_crowds : public each_technique {};
INSTANTIATE_TEST_SUITE_P(each, thread_crowds, all_techniques, technique_name);
class thread_places : public each_technique {};
INSTANTIATE_TEST_SUITE_P(each, thread_places, techniques_that_wait, technique_name);

std::atomic<int> count{0};

void *square(void *p) {
    auto *n = static_cast<std::uint64_t *>(p);
    *n *= *n;
    ++count;
    return p;
}

struct memory_in_use {
    std::uint64_t mapped = 0, resident = 0; // bytes
};

memory_in_use memory_of_process() {
    std::uint64_t mapped = 0, resident = 0;
    std::FILE *f = std::fopen("/proc/self/statm", "r");
    if (std::fscanf(f, "%lu %lu", &mapped, &resident) != 2) _exit(3);
    std::fclose(f);
    const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
    return {mapped * page, resident * page};
}

// In a child process: creates threads until the memory is gone. Exits with 0 if that was an error and nothing else.
void exhaust_memory() {
    if (comity_threads_begin() != 0) _exit(4);
    const rlimit limit{memory_of_process().mapped + (64 << 20), RLIM_INFINITY};
    if (setrlimit(RLIMIT_AS, &limit) != 0) _exit(5);
    comity_thread_attr_t attr{};
    attr.technique = COMITY_TECHNIQUE_FULL;
    static comity_thread_t *threads[4096];
    unsigned n = 0;
    int error = 0;
    for (; n < 4096; ++n)
        if ((error = comity_thread_create(
                 &threads[n], &attr, [](void *p) { return p; }, nullptr)) != 0)
            break;
    if (error != ENOMEM) _exit(6);
    for (unsigned i = 0; i < n; ++i)
        if (comity_thread_join(threads[i], nullptr) != 0) _exit(7);
    comity_threads_end();
    _exit(n > 0 ? 0 : 8);
}

class thread_memory_death : public testing::Test {
protected:
    void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

} // namespace

TEST_P(thread_crowds, are_created_and_joined_in_one_call) {
    ASSERT_EQ(comity_threads_begin(), 0);
    comity_thread_attr_t attr{};
    attr.technique = GetParam();
    std::vector<std::uint64_t> numbers(300);
    for (std::uint64_t i = 0; i < numbers.size(); ++i) numbers[i] = i;
    std::vector<comity_thread_t *> threads(numbers.size());
    std::vector<void *> results(numbers.size());
    std::size_t made = 0;
    ASSERT_EQ(comity_thread_create_many(threads.data(), threads.size(), &attr, square, numbers.data(),
                                        sizeof numbers[0], &made),
              0);
    EXPECT_EQ(made, numbers.size());
    EXPECT_EQ(comity_thread_join_many(threads.data(), threads.size(), results.data()), 0);
    for (std::uint64_t i = 0; i < numbers.size(); ++i) {
        EXPECT_EQ(numbers[i], i * i);
        EXPECT_EQ(results[i], &numbers[i]);
    }
    count = 0;
    attr.detached = 1;
    std::uint64_t one = 1;
    if (GetParam() == COMITY_TECHNIQUE_FULL) { // no two may write `one` at once: none of them has to
        numbers.assign(50, 2);
        ASSERT_EQ(comity_thread_create_many(nullptr, 50, &attr, square, numbers.data(), sizeof one, nullptr), 0);
    }
    comity_threads_end();
    EXPECT_EQ(count, GetParam() == COMITY_TECHNIQUE_FULL ? 50 : 0);
}

TEST_P(thread_crowds, say_how_many_they_are_when_an_attribute_is_wrong) {
    comity_thread_attr_t attr{};
    attr.technique = static_cast<comity_technique_t>(77);
    comity_thread_t *threads[3] = {};
    std::size_t made = 9;
    EXPECT_EQ(comity_thread_create_many(threads, 3, &attr, square, nullptr, 0, &made), EINVAL);
    EXPECT_EQ(made, 0U);
    EXPECT_EQ(comity_thread_join_many(threads, 3, nullptr), 0); // there are none
}

TEST_P(thread_crowds, run_again_and_again_after_they_were_waited_for) {
    ASSERT_EQ(comity_threads_begin(), 0);
    std::uint64_t n = 2;
    comity_thread_t *t = create(square, &n);
    EXPECT_EQ(comity_thread_set_name(t, "first"), 0);
    for (const std::uint64_t should_be : {4, 16, 256}) {
        void *result = nullptr;
        ASSERT_EQ(comity_thread_wait(t, &result), 0);
        EXPECT_EQ(result, &n);
        EXPECT_EQ(n, should_be);
        EXPECT_EQ(comity_thread_revive(t, nullptr, &n), EINVAL);
        ASSERT_EQ(comity_thread_revive(t, square, &n), 0);
    }
    char name[10] = "x";
    EXPECT_EQ(comity_thread_name(t, name, sizeof name), 0);
    EXPECT_STREQ(name, "");
    EXPECT_EQ(comity_thread_join(t, nullptr), 0);
    EXPECT_EQ(n, 65536U);
    comity_threads_end();
}

TEST(joins, that_do_not_wait_say_whether_the_thread_has_ended) {
    ASSERT_EQ(comity_threads_begin(), 0);
    static std::atomic<bool> go;
    go = false;
    comity_thread_t *t = nullptr;
    ASSERT_EQ(comity_thread_create(
                  &t, nullptr,
                  [](void *p) {
                      while (!go) comity_thread_yield();
                      return p;
                  },
                  &go),
              0);
    void *result = nullptr;
    EXPECT_EQ(comity_thread_tryjoin(t, &result), EBUSY);
    const std::int64_t from = comity_now();
    EXPECT_EQ(comity_thread_timedjoin(t, &result, comity_deadline_in(3'000'000)), ETIMEDOUT);
    EXPECT_GE(comity_now() - from, 3'000'000);
    EXPECT_EQ(comity_thread_revive(t, square, nullptr), EINVAL);
    go = true;
    EXPECT_EQ(comity_thread_timedjoin(t, &result, COMITY_NO_DEADLINE), 0);
    EXPECT_EQ(result, &go);
    ASSERT_EQ(comity_thread_create(
                  &t, nullptr,
                  [](void *) -> void * {
                      return reinterpret_cast<void *>(
                          static_cast<std::intptr_t>(comity_thread_tryjoin(comity_thread_self(), nullptr)));
                  },
                  nullptr),
              0);
    EXPECT_EQ(comity_thread_join(t, &result), 0);
    EXPECT_EQ(result, reinterpret_cast<void *>(EDEADLK));
    comity_threads_end();
}

TEST(joins, of_one_thread_by_several_succeed_once) {
    ASSERT_EQ(comity_threads_begin(), 0);
    static std::atomic<bool> go;
    static comity_thread_t *waits;
    go = false;
    count = 0;
    ASSERT_EQ(comity_thread_create(
                  &waits, nullptr,
                  [](void *p) {
                      while (!go) comity_thread_yield();
                      return p;
                  },
                  nullptr),
              0);
    comity_thread_t *joiners[4];
    for (comity_thread_t *&t : joiners)
        ASSERT_EQ(comity_thread_create(
                      &t, nullptr,
                      [](void *) -> void * {
                          const int error = comity_thread_wait(waits, nullptr);
                          EXPECT_TRUE(error == 0 || error == EINVAL) << error;
                          if (error == 0)
                              count += 100;
                          else if (++count == 3)
                              go = true;
                          return nullptr;
                      },
                      nullptr),
                  0);
    EXPECT_EQ(comity_thread_join_many(joiners, 4, nullptr), 0);
    EXPECT_EQ(count, 103);
    EXPECT_EQ(comity_thread_join(waits, nullptr), 0);
    comity_threads_end();
}

TEST_P(thread_places, are_given_the_hart_at_once) {
    ASSERT_EQ(comity_threads_begin(), 0);
    if (comity_hart_count() == 1) { // with others nobody knows where a thread is
        static std::vector<int> order;
        order.clear();
        static comity_thread_t *third;
        comity_thread_t *threads[3];
        for (int i = 0; i < 3; ++i)
            threads[i] = create(
                [](void *p) {
                    if (!is_stackless(comity_thread_self())) comity_thread_yield();
                    order.push_back(static_cast<int>(reinterpret_cast<std::intptr_t>(p)));
                    return p;
                },
                reinterpret_cast<void *>(static_cast<std::intptr_t>(i)));
        third = threads[2];
        EXPECT_EQ(comity_thread_yield_to(third), 0);
        EXPECT_EQ(comity_thread_join_many(threads, 3, nullptr), 0);
        EXPECT_EQ(order.size(), 3U);
    }
    comity_thread_t *t = create([](void *p) { return p; }, nullptr);
    EXPECT_EQ(comity_thread_wait(t, nullptr), 0);
    EXPECT_EQ(comity_thread_yield_to(t), ESRCH);
    EXPECT_EQ(comity_thread_yield_to(nullptr), EINVAL);
    EXPECT_EQ(comity_thread_join(t, nullptr), 0);
    comity_threads_end();
}

TEST_P(thread_places, in_which_nobody_can_run_are_errors) {
    ASSERT_EQ(comity_threads_begin(), 0);
    comity_thread_t *t = create(
        [](void *p) {
            ++count;
            comity_thread_suspend();
            return p;
        },
        nullptr);
    count = 0;
    while (comity_thread_state(t) != COMITY_THREAD_SUSPENDED) comity_thread_yield();
    EXPECT_EQ(comity_thread_yield_to(t), EBUSY);
    EXPECT_EQ(comity_thread_migrate(-1), EINVAL);
    EXPECT_EQ(comity_thread_migrate(comity_hart_count()), EINVAL);
    EXPECT_EQ(comity_thread_migrate(0), EPERM); // the program's own thread stays where it is
    EXPECT_EQ(comity_thread_resume(t), 0);
    EXPECT_EQ(comity_thread_join(t, nullptr), 0);
    comity_threads_end();
    EXPECT_EQ(comity_thread_migrate(0), EPERM);
}

TEST_P(thread_places, are_reached_by_migration_and_creation) {
    ASSERT_EQ(comity_threads_begin(), 0);
    comity_thread_attr_t attr{};
    attr.technique = GetParam();
    std::vector<comity_thread_t *> threads;
    count = 0;
    for (int hart = 0; hart < comity_hart_count(); ++hart)
        for (int i = 0; i < 20; ++i) {
            comity_thread_t *t = nullptr;
            ASSERT_EQ(comity_thread_create_to(
                          hart, &t, &attr,
                          [](void *p) {
                              for (int next = 0; next < comity_hart_count(); ++next) {
                                  EXPECT_EQ(comity_thread_migrate(next), 0);
                                  count += comity_hart_id() >= 0;
                              }
                              return p;
                          },
                          &count),
                      0);
            threads.push_back(t);
        }
    for (comity_thread_t *t : threads) {
        void *result = nullptr;
        EXPECT_EQ(comity_thread_join(t, &result), 0);
        EXPECT_EQ(result, &count);
    }
    EXPECT_EQ(count, 20 * comity_hart_count() * comity_hart_count());
    comity_thread_t *t = nullptr;
    EXPECT_EQ(comity_thread_create_to(-1, &t, &attr, square, nullptr), EINVAL);
    EXPECT_EQ(comity_thread_create_to(comity_hart_count(), &t, &attr, square, nullptr), EINVAL);
    EXPECT_EQ(comity_thread_create_to(0, nullptr, &attr, square, nullptr), EINVAL);
    attr.technique = COMITY_TECHNIQUE_STACKLESS;
    EXPECT_EQ(comity_thread_create_to(0, &t, &attr, square, nullptr), EINVAL);
    comity_threads_end();
}

TEST_F(thread_memory_death, creating_when_it_is_gone_is_an_error_and_those_made_before_run) {
    if (thread_sanitizer || address_sanitizer) GTEST_SKIP() << "a sanitizer needs address space without end";
    EXPECT_EXIT(exhaust_memory(), testing::ExitedWithCode(0), "");
}

TEST(thread_memory, takes_no_more_than_a_line_and_a_place_before_the_thread_starts) {
    if (thread_sanitizer || address_sanitizer) GTEST_SKIP() << "a sanitizer has memory of its own";
    ASSERT_EQ(comity_threads_begin(), 0);
    comity_thread_attr_t attr{};
    attr.technique = COMITY_TECHNIQUE_STACKLESS;
    std::vector<comity_thread_t *> threads(20000);
    const std::uint64_t before = memory_of_process().resident;
    for (comity_thread_t *&t : threads)
        ASSERT_EQ(comity_thread_create(
                      &t, &attr, [](void *p) { return p; }, nullptr),
                  0);
    EXPECT_LT((memory_of_process().resident - before) / threads.size(), 128U);
    EXPECT_EQ(comity_thread_join_many(threads.data(), threads.size(), nullptr), 0);
    comity_threads_end();
}
