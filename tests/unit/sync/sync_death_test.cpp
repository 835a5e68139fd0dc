#include "comity/sync.hpp"
#include "comity/thread.hpp"

#include <csignal>
#include <mutex>

#include <gtest/gtest.h>

namespace {
class sync_death : public testing::Test {
protected:
    void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};
} // namespace

TEST_F(sync_death, unlocking_what_is_not_locked) {
    EXPECT_DEATH(
        {
            comity_mutex_t m = COMITY_MUTEX_INIT;
            comity_mutex_unlock(&m);
        },
        "comity_mutex_unlock.*not locked");
}

TEST_F(sync_death, destroying_a_locked_mutex) {
    EXPECT_DEATH(
        {
            comity_mutex_t m = COMITY_MUTEX_INIT;
            comity_mutex_lock(&m);
            comity_mutex_fini(&m);
        },
        "comity_mutex_fini.*locked");
}

TEST_F(sync_death, destroying_other_locks_that_are_locked) {
    EXPECT_DEATH(
        {
            comity_recursive_mutex_t m = COMITY_RECURSIVE_MUTEX_INIT;
            comity_recursive_mutex_lock(&m);
            comity_recursive_mutex_fini(&m);
        },
        "comity_recursive_mutex_fini.*locked");
    EXPECT_DEATH(
        {
            comity_rwlock_t l = COMITY_RWLOCK_INIT;
            comity_rwlock_rdlock(&l);
            comity_rwlock_fini(&l);
        },
        "comity_rwlock_fini.*locked");
}

TEST_F(sync_death, unlocking_a_readers_writer_lock_otherwise_than_it_is_locked) {
    EXPECT_DEATH(
        {
            comity_rwlock_t l = COMITY_RWLOCK_INIT;
            comity_rwlock_rdlock(&l);
            comity_rwlock_wrunlock(&l);
        },
        "comity_rwlock_wrunlock.*not locked for writing");
    EXPECT_DEATH(
        {
            comity_rwlock_t l = COMITY_RWLOCK_INIT;
            comity_rwlock_wrlock(&l);
            comity_rwlock_rdunlock(&l);
        },
        "comity_rwlock_rdunlock.*not locked for reading");
}

TEST_F(sync_death, arriving_when_everybody_has_dropped_out) {
    EXPECT_DEATH(
        {
            comity_barrier_t b;
            comity_barrier_init(&b, 1);
            comity_barrier_drop(&b);
            comity_barrier_wait(&b);
        },
        "comity_barrier_wait.*dropped out");
}

TEST_F(sync_death, ending_what_nobody_has_begun) {
    EXPECT_DEATH(
        {
            comity_once_t o = COMITY_ONCE_INIT;
            comity_once_end(&o, 1);
        },
        "comity_once_end.*begun");
}

// Found by the handler of the fault: nothing looks for it before.
TEST_F(sync_death, null_in_place_of_an_object_is_named_with_the_call) {
    const testing::KilledBySignal crash(SIGSEGV);
    EXPECT_EXIT(comity_mutex_lock(nullptr), crash, "comity: comity_mutex_lock: NULL was given");
    EXPECT_EXIT(comity_event_wait(nullptr), crash, "comity: comity_event_wait: NULL was given");
    EXPECT_EXIT(comity_condition_signal(nullptr), crash, "comity: comity_condition_signal: NULL was given");
    EXPECT_EXIT(comity_timer_stop(nullptr), crash, "comity: comity_timer_stop: NULL was given");
    EXPECT_EXIT(comity_semaphore_fini(nullptr), crash, "comity: comity_semaphore_fini: NULL was given");
}

TEST_F(sync_death, waiting_for_a_condition_without_its_mutex_names_the_wait) {
    EXPECT_DEATH(
        {
            comity_mutex_t m = COMITY_MUTEX_INIT;
            comity_condition_t c = COMITY_CONDITION_INIT;
            comity_condition_wait(&c, &m);
        },
        "comity: comity_condition_[a-z]*wait: the mutex is not locked");
}

TEST_F(sync_death, destroying_what_a_thread_waits_for) {
    const auto destroy = [](auto *object, auto wait) {
        const comity::threads scope;
        comity::thread t([&] { wait(*object); });
        comity::this_thread::yield();
        comity::this_thread::sleep_for(std::chrono::milliseconds(20));
        delete object;
    };
    EXPECT_DEATH(destroy(new comity::event, [](auto &e) { e.wait(); }), "comity_event_fini: a thread waits for it");
    EXPECT_DEATH(destroy(new comity::semaphore(0), [](auto &s) { s.acquire(); }),
                 "comity_semaphore_fini: a thread waits for it");
    EXPECT_DEATH(destroy(new comity::latch(1), [](auto &l) { l.wait(); }), "comity_latch_fini: a thread waits for it");
    EXPECT_DEATH(destroy(new comity::barrier(2), [](auto &b) { b.wait(); }),
                 "comity_barrier_fini: a thread waits for it");
    EXPECT_DEATH(destroy(new comity::condition,
                         [](auto &c) {
                             comity::mutex m;
                             std::unique_lock lock(m);
                             c.wait(lock);
                         }),
                 "comity_condition_fini: a thread waits for it");
}

TEST_F(sync_death, once_within_itself) {
    static comity::once_flag f;
    EXPECT_DEATH(comity::call_once(f, [] { comity::call_once(f, [] {}); }), "comity_once_[a-z]*: .* calls it again");
}
