// Threads that end while others still have to do with them.
#include "comity/thread.h"

#include "../../unit/sanitizers.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <iterator>
#include <thread>

namespace {

// What a kernel thread is to do next with a thread; null: nothing yet.
class helper {
public:
    explicit helper(void (*with)(comity_thread_t *)) : thread_([this, with] { work(with); }) {}
    ~helper() {
        over_ = true;
        thread_.join();
    }
    helper(const helper &) = delete;
    helper &operator=(const helper &) = delete;
    void give(comity_thread_t *t) { next_ = t; }
    void await() const {
        while (next_) comity_thread_yield();
    }

private:
    void work(void (*with)(comity_thread_t *)) {
        while (!over_) {
            if (comity_thread_t *t = next_) {
                with(t);
                next_ = nullptr;
            }
            std::this_thread::yield();
        }
    }
    std::atomic<comity_thread_t *> next_{nullptr};
    std::atomic<bool> over_{false};
    std::thread thread_;
};

std::atomic<int> handled{0};
std::atomic<bool> there{false}, names_it{false}, may_end{false};

} // namespace

// Joined as soon as the request has ended it, while whoever has made that may still be on his way out.
TEST(thread_ends, by_a_request_while_somebody_joins) {
    ASSERT_EQ(comity_threads_begin(), 0);
    {
        helper cancels([](comity_thread_t *t) { EXPECT_EQ(comity_thread_cancel(t), 0); });
        for (int i = 0; i < 3000; ++i) {
            comity_thread_t *t = nullptr;
            ASSERT_EQ(comity_thread_create(
                          &t, nullptr,
                          [](void *p) {
                              while (!comity_thread_testcancel()) comity_thread_yield();
                              return p;
                          },
                          nullptr),
                      0);
            cancels.give(t);
            void *result = nullptr;
            ASSERT_EQ(comity_thread_join(t, &result), 0);
            EXPECT_EQ(result, COMITY_THREAD_CANCELLED);
            cancels.await();
        }
    }
    comity_threads_end();
}

// Its first cleanup handler and its first name come at the same moment.
TEST(thread_ends, with_its_cleanup_handlers_whoever_names_it_meanwhile) {
    constexpr int rounds = 3000;
    handled = 0;
    ASSERT_EQ(comity_threads_begin(), 0);
    {
        helper names([](comity_thread_t *t) {
            while (!there) std::this_thread::yield();
            names_it = true;
            EXPECT_EQ(comity_thread_set_name(t, "somebody"), 0);
        });
        for (int i = 0; i < rounds; ++i) {
            there = names_it = false;
            int delay = i % 300;
            comity_thread_t *t = nullptr;
            ASSERT_EQ(comity_thread_create(
                          &t, nullptr,
                          [](void *p) -> void * {
                              there = true;
                              while (!names_it) comity_thread_yield();
                              for (volatile long n = *static_cast<int *>(p); n > 0;) n = n - 1;
                              comity_cleanup_t place;
                              EXPECT_EQ(comity_thread_cleanup_push(
                                            &place, [](void *) { ++handled; }, nullptr),
                                        0);
                              comity_thread_exit(p);
                          },
                          &delay),
                      0);
            names.give(t);
            names.await(); // before the join: the handle is valid until then
            ASSERT_EQ(comity_thread_join(t, nullptr), 0);
        }
    }
    comity_threads_end();
    EXPECT_EQ(handled, rounds);
}

// A request to cancel who joins it comes at the moment of its end: who waits goes on once, whoever was faster. The
// techniques that end by a switch go on with him themselves.
TEST(thread_ends, while_its_joiner_is_cancelled) {
    constexpr comity_technique_t by_switch[] = {COMITY_TECHNIQUE_FULL, COMITY_TECHNIQUE_FULL_L, COMITY_TECHNIQUE_C_FULL,
                                                COMITY_TECHNIQUE_C_FULL_E, COMITY_TECHNIQUE_ROC_L};
    const unsigned rounds = thread_sanitizer || address_sanitizer ? 3000 : std::getenv("COMITY_CHAOS") ? 5000 : 200000;
    ASSERT_EQ(comity_threads_begin(), 0);
    for (unsigned i = 0; i < rounds && !testing::Test::HasFailure(); ++i) {
        there = may_end = false;
        comity_thread_attr_t attr{};
        attr.technique = by_switch[i % std::size(by_switch)];
        comity_thread_t *t = nullptr, *joiner = nullptr;
        ASSERT_EQ(comity_thread_create(
                      &t, &attr,
                      [](void *p) {
                          there = true;
                          while (!may_end) comity_thread_yield();
                          return p;
                      },
                      nullptr),
                  0);
        while (!there) comity_thread_yield(); // or its joiner runs it itself
        ASSERT_EQ(comity_thread_create(
                      &joiner, nullptr,
                      [](void *p) {
                          EXPECT_EQ(comity_thread_join(static_cast<comity_thread_t *>(p), nullptr), 0);
                          return p;
                      },
                      t),
                  0);
        while (comity_thread_state(joiner) != COMITY_THREAD_PAUSED) comity_thread_yield();
        may_end = true;
        for (volatile unsigned n = i % 200; n > 0;) n = n - 1;
        const int error = comity_thread_cancel(joiner);
        EXPECT_TRUE(error == 0 || error == ESRCH) << error; // ESRCH: it has ended, too
        void *result = nullptr;
        ASSERT_EQ(comity_thread_join(joiner, &result), 0);
        if (result == t) continue;
        EXPECT_EQ(result, COMITY_THREAD_CANCELLED);
        ASSERT_EQ(comity_thread_join(t, nullptr), 0);
    }
    comity_threads_end();
}
