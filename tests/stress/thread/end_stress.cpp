// Threads that end while others still have to do with them.
#include "comity/thread.h"

#include <gtest/gtest.h>

#include <atomic>
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
std::atomic<bool> there{false}, names_it{false};

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
