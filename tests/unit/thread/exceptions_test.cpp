// The C++ runtime's state of exceptions belongs to each thread, whatever its technique, and wherever it is started.
#include "comity/fork.hpp"
#include "comity/sync.hpp"
#include "comity/thread.hpp"

#include "../sanitizers.hpp"
#include "techniques.hpp"

#include <atomic>
#include <exception>
#include <stdexcept>

namespace {

class exceptions_of : public each_technique {
protected:
    void SetUp() override { ASSERT_EQ(comity_threads_begin(), 0); }
    void TearDown() override { comity_threads_end(); }
};
INSTANTIATE_TEST_SUITE_P(each, exceptions_of, all_techniques, technique_name);

// A thread that knows of no exception but its own.
void *is_clean(void *p) {
    EXPECT_EQ(std::uncaught_exceptions(), 0);
    EXPECT_FALSE(std::current_exception());
    try {
        throw std::runtime_error("own");
    } catch (const std::exception &e) {
        EXPECT_STREQ(e.what(), "own");
    }
    EXPECT_FALSE(std::current_exception());
    if (!is_stackless(comity_thread_self())) comity_thread_yield();
    EXPECT_EQ(std::uncaught_exceptions(), 0);
    return p;
}

struct joins_at_its_end {
    comity_thread_t *t;
    ~joins_at_its_end() {
        EXPECT_EQ(std::uncaught_exceptions(), 1);
        EXPECT_EQ(comity_thread_join(t, nullptr), 0);
        EXPECT_EQ(std::uncaught_exceptions(), 1);
    }
};

} // namespace

TEST_P(exceptions_of, a_joiner_that_unwinds_are_not_the_threads) {
    try {
        const joins_at_its_end joins{create(is_clean, nullptr)};
        throw std::runtime_error("the joiner's");
    } catch (const std::exception &e) {
        EXPECT_STREQ(e.what(), "the joiner's");
    }
    EXPECT_EQ(std::uncaught_exceptions(), 0);
}

TEST_P(exceptions_of, a_joiner_that_handles_one_are_not_the_threads) {
    comity_thread_t *t = create(is_clean, nullptr);
    try {
        throw std::runtime_error("the joiner's");
    } catch (...) {
        EXPECT_EQ(comity_thread_join(t, nullptr), 0);
        EXPECT_TRUE(std::current_exception());
    }
}

// One thread after the other stops in a handler, and those that the scheduler starts on the same harts are clean.
TEST_P(exceptions_of, a_thread_that_stops_in_a_handler_are_not_the_next_ones) {
    static comity_event_t go_on;
    static std::atomic<int> stopped;
    comity_event_init(&go_on);
    stopped = 0;
    comity_thread_t *stops[8] = {}, *next[64] = {};
    for (comity_thread_t *&t : stops)
        ASSERT_EQ(comity_thread_create(
                      &t, nullptr,
                      [](void *p) {
                          try {
                              throw std::runtime_error("kept");
                          } catch (const std::exception &e) {
                              ++stopped;
                              comity_event_wait(&go_on);
                              EXPECT_STREQ(e.what(), "kept");
                              EXPECT_TRUE(std::current_exception());
                          }
                          EXPECT_FALSE(std::current_exception());
                          return p;
                      },
                      nullptr),
                  0);
    for (comity_thread_t *&t : next) t = create(is_clean, nullptr);
    while (stopped != 8) comity_thread_yield();
    for (comity_thread_t *t : next) EXPECT_EQ(comity_thread_wait(t, nullptr), 0); // by the scheduler, not by the joiner
    comity_event_set(&go_on);
    for (comity_thread_t *t : stops) EXPECT_EQ(comity_thread_join(t, nullptr), 0);
    for (comity_thread_t *t : next) EXPECT_EQ(comity_thread_join(t, nullptr), 0);
}

// comity_thread_exit leaves frames through which an exception is on its way; the next thread on the context is clean.
TEST_P(exceptions_of, a_thread_that_exits_while_it_unwinds_are_gone_with_it) {
    if (GetParam() == COMITY_TECHNIQUE_STACKLESS) GTEST_SKIP() << "ends by returning";
    struct exits {
        ~exits() { comity_thread_exit(nullptr); }
    };
    for (int i = 0; i < 4; ++i) {
        comity_thread_t *t = create(
            [](void *) -> void * {
                const exits at_the_end;
                const unwatched_memory lost; // nobody knows the exception any more that is on its way
                throw std::runtime_error("on its way");
            },
            nullptr);
        EXPECT_EQ(comity_thread_join(t, nullptr), 0);
        EXPECT_EQ(std::uncaught_exceptions(), 0);
        EXPECT_EQ(comity_thread_join(create(is_clean, nullptr), nullptr), 0);
    }
}

// ---- Ends inside of a fork

namespace {

class ends_in_a_fork : public testing::Test {
protected:
    void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

void exit_in(void (*fork)()) {
    const comity::threads scope;
    static void (*forks)();
    forks = fork;
    comity_thread_t *t = nullptr;
    comity_thread_create(
        &t, nullptr,
        [](void *p) {
            forks();
            return p;
        },
        nullptr);
    comity_thread_join(t, nullptr);
}

} // namespace

TEST_F(ends_in_a_fork, name_the_call) {
    EXPECT_DEATH(exit_in([] { comity::join([] { comity_thread_exit(nullptr); }, [] {}); }), "half of a fork");
    EXPECT_DEATH(exit_in([] {
                     comity_fork_t fork;
                     comity_fork_begin(
                         &fork, [](void *) {}, nullptr);
                     comity_thread_exit(nullptr);
                 }),
                 "comity_fork_begin");
}

TEST_F(ends_in_a_fork, after_it_are_as_usual) {
    exit_in([] {
        int n = 0;
        comity::join([&] { ++n; }, [&] { n += 2; });
        comity_thread_exit(nullptr);
    });
}

TEST_F(ends_in_a_fork, by_cancellation_come_after_it) {
    const comity::threads scope;
    static std::atomic<bool> in_fork, behind;
    static comity_event_t go_on;
    in_fork = behind = false;
    comity_event_init(&go_on);
    comity_thread_t *t = nullptr;
    ASSERT_EQ(comity_thread_create(
                  &t, nullptr,
                  [](void *p) {
                      comity::join(
                          [] {
                              in_fork = true;
                              comity_event_wait(&go_on);
                              comity_thread_testcancel();
                          },
                          [] {});
                      behind = true;
                      comity_thread_testcancel();
                      return p;
                  },
                  nullptr),
              0);
    while (!in_fork || comity_thread_state(t) != COMITY_THREAD_PAUSED) comity_thread_yield();
    EXPECT_EQ(comity_thread_cancel(t), 0);
    for (int i = 0; i < 100; ++i) comity_thread_yield();
    EXPECT_FALSE(behind);
    comity_event_set(&go_on);
    void *result = nullptr;
    EXPECT_EQ(comity_thread_join(t, &result), 0);
    EXPECT_EQ(result, COMITY_THREAD_CANCELLED);
    EXPECT_TRUE(behind);
}
