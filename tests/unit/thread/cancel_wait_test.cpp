// A request to cancel a thread ends its wait, with each technique and at each cancellation point that waits, and takes
// nothing of what it waited for.
#include "comity/sync.hpp"
#include "comity/sync/future.hpp"
#include "comity/thread.hpp"

#include "techniques.hpp"

#include <sys/resource.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <thread>
#include <tuple>

using namespace std::chrono_literals;

namespace {

// What the threads wait for. Nothing here is ever signalled, set or posted while they do.
struct objects {
    comity_mutex_t mutex = COMITY_MUTEX_INIT;
    comity_condition_t condition = COMITY_CONDITION_INIT;
    comity_semaphore_t semaphore = COMITY_SEMAPHORE_INIT;
    comity_latch_t latch;
    comity_event_t event = COMITY_EVENT_INIT;
    comity_eventual_t eventual;
    comity_future_t future;
    comity_thread_t *other = nullptr;
    std::atomic<int> steps{0};
    std::atomic<bool> disabled{false};

    objects() {
        comity_latch_init(&latch, 1);
        EXPECT_EQ(comity_eventual_init(&eventual, 0), 0);
        EXPECT_EQ(comity_future_init(&future, 1, nullptr, nullptr), 0);
    }
    ~objects() {
        comity_eventual_fini(&eventual);
        comity_future_fini(&future);
    }
};
objects *now = nullptr;

std::int64_t late() { return comity_deadline_in(3'600'000'000'000); }

struct wait_kind {
    const char *name;
    int (*wait)();
    bool locks = false; // with the mutex held, before and afterwards
};

const wait_kind kinds[] = {
    {"condition", [] { return comity_condition_wait(&now->condition, &now->mutex); }, true},
    {"condition_timed", [] { return comity_condition_timedwait(&now->condition, &now->mutex, late()); }, true},
    {"condition_prepared",
     [] { return comity_condition_wait_prepared(&now->condition, comity_condition_prepare(&now->condition), late()); }},
    {"semaphore", [] { return comity_semaphore_wait(&now->semaphore); }},
    {"semaphore_timed", [] { return comity_semaphore_timedwait(&now->semaphore, late()); }},
    {"latch", [] { return comity_latch_wait(&now->latch); }},
    {"latch_timed", [] { return comity_latch_timedwait(&now->latch, late()); }},
    {"event", [] { return comity_event_wait(&now->event); }},
    {"event_timed", [] { return comity_event_timedwait(&now->event, late()); }},
    {"eventual", [] { return comity_eventual_wait(&now->eventual, nullptr); }},
    {"eventual_timed", [] { return comity_eventual_timedwait(&now->eventual, nullptr, late()); }},
    {"future", [] { return comity_future_wait(&now->future, nullptr); }},
    {"future_timed", [] { return comity_future_timedwait(&now->future, nullptr, late()); }},
    {"sleep_for", [] { return comity_thread_sleep_for(3'600'000'000'000); }},
    {"sleep_until", [] { return comity_thread_sleep_until(late()); }},
    {"join", [] { return comity_thread_join(now->other, nullptr); }},
    {"wait", [] { return comity_thread_wait(now->other, nullptr); }},
    {"timedjoin", [] { return comity_thread_timedjoin(now->other, nullptr, late()); }},
};
const wait_kind *kind = nullptr;

// C programs hold the mutex in their cleanup handlers.
void clean(void *) {
    if (kind->locks) {
        EXPECT_EQ(comity_mutex_trylock(&now->mutex), 0) << "the mutex is not locked again";
        comity_mutex_unlock(&now->mutex);
    }
    now->steps += 100;
}

void *waits(void *p) {
    comity_cleanup_t cleanup;
    if (now->disabled) comity_thread_set_cancel(0);
    if (kind->locks) comity_mutex_lock(&now->mutex);
    comity_thread_cleanup_push(&cleanup, clean, nullptr);
    ++now->steps;
    kind->wait();
    if (!now->disabled) ADD_FAILURE() << kind->name << " has returned";
    if (kind->locks) comity_mutex_unlock(&now->mutex);
    comity_thread_cleanup_pop(&cleanup, 0);
    return p;
}

using parameters = std::tuple<comity_technique_t, unsigned>;

class threads_that_wait_for : public testing::TestWithParam<parameters> {
protected:
    void SetUp() override {
        ASSERT_EQ(comity_threads_begin(), 0);
        now = new objects;
        kind = &kinds[std::get<1>(GetParam())];
        // Something that runs until it is told, which nobody can take back to run it himself.
        ASSERT_EQ(comity_thread_create(
                      &now->other, nullptr,
                      [](void *p) {
                          comity_thread_suspend();
                          return p;
                      },
                      nullptr),
                  0);
        while (comity_thread_state(now->other) != COMITY_THREAD_SUSPENDED) comity_thread_yield();
    }
    void TearDown() override {
        EXPECT_EQ(comity_thread_resume(now->other), 0);
        EXPECT_EQ(comity_thread_join(now->other, nullptr), 0) << "it was not left to others";
        EXPECT_EQ(comity_mutex_trylock(&now->mutex), 1);
        comity_mutex_unlock(&now->mutex);
        EXPECT_EQ(comity_semaphore_post(&now->semaphore), 0);
        EXPECT_EQ(comity_semaphore_value(&now->semaphore), 1u);
        comity_condition_signal(&now->condition);
        comity_event_set(&now->event);
        comity_semaphore_fini(&now->semaphore);
        comity_condition_fini(&now->condition);
        comity_event_fini(&now->event);
        delete now;
        comity_threads_end();
    }
    static comity_thread_t *create() {
        comity_thread_attr_t attr{};
        attr.technique = std::get<0>(GetParam());
        comity_thread_t *t = nullptr;
        EXPECT_EQ(comity_thread_create(&t, &attr, waits, nullptr), 0);
        return t;
    }
    static void until_it_waits(const comity_thread_t *t) {
        while (now->steps == 0 || comity_thread_state(t) != COMITY_THREAD_PAUSED) comity_thread_yield();
    }
    static void *join(comity_thread_t *t) {
        void *result = nullptr;
        EXPECT_EQ(comity_thread_join(t, &result), 0);
        return result;
    }
};
INSTANTIATE_TEST_SUITE_P(each, threads_that_wait_for,
                         testing::Combine(techniques_that_wait, testing::Range(0u, unsigned{std::size(kinds)})),
                         [](const testing::TestParamInfo<parameters> &i) {
                             return technique_name({std::get<0>(i.param), 0}) + "_" + kinds[std::get<1>(i.param)].name;
                         });

} // namespace

TEST_P(threads_that_wait_for, something_are_woken_to_be_cancelled) {
    comity_thread_t *t = create();
    until_it_waits(t);
    EXPECT_EQ(comity_thread_cancel(t), 0);
    EXPECT_EQ(join(t), COMITY_THREAD_CANCELLED);
    EXPECT_EQ(now->steps, 101);
}

TEST_P(threads_that_wait_for, something_are_cancelled_before_they_wait) {
    now->disabled = false;
    comity_thread_t *t = nullptr;
    comity_thread_attr_t attr{};
    attr.technique = std::get<0>(GetParam());
    EXPECT_EQ(comity_thread_create(
                  &t, &attr,
                  [](void *p) {
                      EXPECT_EQ(comity_thread_cancel(comity_thread_self()), 0);
                      return waits(p);
                  },
                  nullptr),
              0);
    EXPECT_EQ(join(t), COMITY_THREAD_CANCELLED);
    EXPECT_EQ(now->steps, 101);
}

TEST_P(threads_that_wait_for, something_are_woken_by_a_kernel_thread_that_cancels_them) {
    comity_thread_t *t = create();
    until_it_waits(t);
    std::thread canceller([t] { EXPECT_EQ(comity_thread_cancel(t), 0); });
    EXPECT_EQ(join(t), COMITY_THREAD_CANCELLED);
    canceller.join();
}

// ---- What ends no wait

namespace {

class threads_that_cannot_be_cancelled : public threads_that_wait_for {};
INSTANTIATE_TEST_SUITE_P(each, threads_that_cannot_be_cancelled,
                         testing::Combine(testing::Values(COMITY_TECHNIQUE_ROC_L), testing::Values(3u, 7u)),
                         [](const testing::TestParamInfo<parameters> &i) {
                             return std::string(kinds[std::get<1>(i.param)].name);
                         });

} // namespace

TEST_P(threads_that_cannot_be_cancelled, at_the_moment_wait_to_the_end) {
    now->disabled = true;
    comity_thread_t *t = create();
    until_it_waits(t);
    EXPECT_EQ(comity_thread_cancel(t), 0);
    for (int i = 0; i < 100; ++i) comity_thread_yield();
    EXPECT_EQ(comity_thread_state(t), COMITY_THREAD_PAUSED);
    comity_event_set(&now->event);
    comity_semaphore_post(&now->semaphore);
    EXPECT_EQ(join(t), nullptr);
    while (comity_semaphore_trywait(&now->semaphore)) {
    }
}

TEST(waits_that_are_no_cancellation_points, go_on_to_their_end) {
    ASSERT_EQ(comity_threads_begin(), 0);
    static comity_mutex_t mutex;
    static comity_barrier_t barrier;
    static std::atomic<int> steps;
    comity_mutex_init(&mutex);
    comity_barrier_init(&barrier, 2);
    comity_mutex_lock(&mutex);
    comity_thread_t *t = nullptr;
    ASSERT_EQ(comity_thread_create(
                  &t, nullptr,
                  [](void *p) {
                      ++steps;
                      comity_mutex_lock(&mutex);
                      comity_mutex_unlock(&mutex);
                      ++steps;
                      comity_barrier_wait(&barrier);
                      ++steps;
                      return p;
                  },
                  &steps),
              0);
    while (steps < 1 || comity_thread_state(t) != COMITY_THREAD_PAUSED) comity_thread_yield();
    EXPECT_EQ(comity_thread_cancel(t), 0);
    for (int i = 0; i < 100; ++i) comity_thread_yield();
    EXPECT_EQ(steps, 1);
    comity_mutex_unlock(&mutex);
    comity_barrier_wait(&barrier);
    void *result = nullptr;
    EXPECT_EQ(comity_thread_join(t, &result), 0);
    EXPECT_EQ(result, &steps);
    EXPECT_EQ(steps, 3);
    comity_mutex_fini(&mutex);
    comity_barrier_fini(&barrier);
    comity_threads_end();
}

// ---- In C++ the stack is unwound.

namespace {

struct counts_its_end {
    int &ends;
    ~counts_its_end() { ++ends; }
};

template <class Wait> void is_unwound(Wait wait) {
    const comity::threads scope;
    int ends = 0;
    std::atomic<bool> there{false};
    comity::thread t([&] {
        const counts_its_end here{ends};
        there = true;
        wait();
        ADD_FAILURE() << "it was cancelled";
    });
    while (!there || comity_thread_state(t.native_handle()) != COMITY_THREAD_PAUSED) comity_thread_yield();
    EXPECT_TRUE(t.cancel());
    EXPECT_THROW(t.join(), std::system_error);
    EXPECT_EQ(ends, 1);
}

} // namespace

TEST(a_cancelled_wait_in_cpp, unwinds_the_stack) {
    is_unwound([] { comity::this_thread::sleep_for(1h); });
    comity::event event;
    is_unwound([&] { event.wait(); });
    is_unwound([&] { event.wait_for(1h); });
    comity::semaphore semaphore(0);
    is_unwound([&] { semaphore.acquire(); });
    is_unwound([&] { static_cast<void>(semaphore.try_acquire_for(1h)); });
    comity::latch latch(1);
    is_unwound([&] { latch.wait(); });
    comity::eventual<int> eventual;
    is_unwound([&] { eventual.wait(); });
    comity::promise<int> promise;
    comity::future<int> future = promise.get_future();
    is_unwound([&] { future.wait(); });
}

TEST(a_cancelled_wait_in_cpp, for_a_condition_has_the_lock_again) {
    comity::mutex mutex;
    comity::condition condition;
    is_unwound([&] {
        std::unique_lock lock(mutex);
        condition.wait(lock);
    });
    EXPECT_TRUE(mutex.try_lock());
    mutex.unlock();
    comity::rwlock shared;
    is_unwound([&] {
        std::unique_lock lock(shared);
        condition.wait(lock);
    });
    EXPECT_TRUE(shared.try_lock());
    shared.unlock();
}

// ---- Joins with a deadline

TEST(a_timed_join, notices_the_end_at_once_and_gives_up_at_the_deadline) {
    ASSERT_EQ(comity_threads_begin(), 0);
    static comity_event_t event = COMITY_EVENT_INIT;
    comity_thread_t *t = nullptr;
    ASSERT_EQ(comity_thread_create(
                  &t, nullptr,
                  [](void *p) {
                      comity_event_wait(&event);
                      return p;
                  },
                  &event),
              0);
    comity_thread_yield();
    EXPECT_EQ(comity_thread_timedjoin(t, nullptr, comity_deadline_in(2'000'000)), ETIMEDOUT);
    rusage before{}, after{};
    getrusage(RUSAGE_SELF, &before);
    comity_thread_t *sets = nullptr;
    ASSERT_EQ(comity_thread_create(
                  &sets, nullptr,
                  [](void *p) {
                      comity_thread_sleep_for(200'000'000);
                      comity_event_set(&event);
                      return p;
                  },
                  nullptr),
              0);
    void *result = nullptr;
    EXPECT_EQ(comity_thread_timedjoin(t, &result, comity_deadline_in(60'000'000'000)), 0);
    getrusage(RUSAGE_SELF, &after);
    EXPECT_EQ(result, &event);
    EXPECT_LT(after.ru_nvcsw - before.ru_nvcsw, 150) << "it looked again and again";
    EXPECT_EQ(comity_thread_join(sets, nullptr), 0);
    comity_threads_end();
    comity_event_reset(&event);
}

TEST(a_timed_join, of_a_kernel_thread_sleeps_in_the_kernel) {
    ASSERT_EQ(comity_threads_begin(), 0);
    static comity_event_t event = COMITY_EVENT_INIT;
    static std::atomic<bool> gave_up;
    comity_thread_t *t = nullptr;
    ASSERT_EQ(comity_thread_create(
                  &t, nullptr,
                  [](void *p) {
                      comity_event_wait(&event);
                      return p;
                  },
                  &event),
              0);
    std::thread joiner([t] {
        EXPECT_EQ(comity_thread_timedjoin(t, nullptr, comity_deadline_in(2'000'000)), ETIMEDOUT);
        gave_up = true;
        void *result = nullptr;
        EXPECT_EQ(comity_thread_timedjoin(t, &result, comity_deadline_in(60'000'000'000)), 0);
        EXPECT_EQ(result, &event);
    });
    while (!gave_up) comity_thread_sleep_for(1'000'000);
    comity_event_set(&event);
    comity_threads_end();
    joiner.join();
}
