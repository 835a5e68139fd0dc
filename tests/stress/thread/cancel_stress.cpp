// Threads of all techniques wait for everything there is to wait for, timed and untimed, while others signal, post and
// set at random, and a thread and a kernel thread cancel them: none is woken twice or never, and no token is lost.
#include "comity/sync.h"
#include "comity/thread.h"

#include "../../unit/sanitizers.hpp"
#include "random.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <iterator>
#include <thread>

namespace {

constexpr comity_technique_t techniques[] = {COMITY_TECHNIQUE_FULL,     COMITY_TECHNIQUE_FULL_L, COMITY_TECHNIQUE_ROC,
                                             COMITY_TECHNIQUE_ROC_L,    COMITY_TECHNIQUE_SS,     COMITY_TECHNIQUE_SS_L,
                                             COMITY_TECHNIQUE_SC,       COMITY_TECHNIQUE_C_FULL, COMITY_TECHNIQUE_C_ROC,
                                             COMITY_TECHNIQUE_C_FULL_E, COMITY_TECHNIQUE_C_ROC_E};
constexpr bool sanitized = thread_sanitizer || address_sanitizer;
constexpr unsigned waiters = sanitized ? 16 : 32, rounds = sanitized ? 15 : 60;

struct round;

struct waiter {
    round *in = nullptr;
    std::uint64_t seed = 0;
    comity_thread_t *handle = nullptr;
    std::atomic<unsigned> cleaned{0};
    bool holds = false; // the mutex; written by the waiter
};

struct round {
    comity_mutex_t mutex = COMITY_MUTEX_INIT;
    comity_condition_t condition = COMITY_CONDITION_INIT;
    comity_semaphore_t semaphore = COMITY_SEMAPHORE_INIT;
    comity_event_t event = COMITY_EVENT_INIT;
    std::atomic<unsigned> posted{0}, taken{0}, ended{0}, there{0};
    waiter all[waiters];
};

void clean(void *p) {
    auto &w = *static_cast<waiter *>(p);
    if (w.holds) comity_mutex_unlock(&w.in->mutex);
    ++w.cleaned;
    ++w.in->ended;
}

std::int64_t soon(seeded_random &r) { return comity_deadline_in(r(3) == 0 ? r(200'000) : 3'600'000'000'000); }

void *suspends_for_ever(void *p) {
    comity_thread_sleep_for(3'600'000'000'000);
    return p;
}

// Joins a thread that does not end by itself; who is cancelled meanwhile leaves it to this one's end.
void join_somebody(seeded_random &r) {
    comity_thread_t *t = nullptr;
    comity_thread_attr_t attr{};
    attr.technique = techniques[r(std::size(techniques))];
    comity_thread_set_cancel(0);
    ASSERT_EQ(comity_thread_create(&t, &attr, suspends_for_ever, nullptr), 0);
    struct care {
        comity_thread_t *t;
        bool joined = false;
    } c{t};
    comity_cleanup_t cleanup;
    comity_thread_cleanup_push(
        &cleanup,
        [](void *p) {
            auto *cared = static_cast<care *>(p);
            comity_thread_cancel(cared->t);
            if (!cared->joined) {
                EXPECT_EQ(comity_thread_join(cared->t, nullptr), 0);
            }
        },
        &c);
    comity_thread_set_cancel(1);
    if (r(2))
        c.joined = comity_thread_timedjoin(t, nullptr, comity_deadline_in(r(300'000))) == 0;
    else if (comity_thread_cancel(t) == 0)
        c.joined = comity_thread_join(t, nullptr) == 0;
    comity_thread_cleanup_pop(&cleanup, 0);
    comity_thread_set_cancel(0);
    if (!c.joined) {
        comity_thread_cancel(t);
        EXPECT_EQ(comity_thread_join(t, nullptr), 0);
    }
    comity_thread_set_cancel(1);
}

void wait_once(waiter &w, seeded_random &r) {
    round &in = *w.in;
    switch (r(6)) {
    case 0:
        comity_mutex_lock(&in.mutex);
        w.holds = true;
        if (r(2))
            comity_condition_wait(&in.condition, &in.mutex);
        else
            comity_condition_timedwait(&in.condition, &in.mutex, soon(r));
        w.holds = false;
        comity_mutex_unlock(&in.mutex);
        break;
    case 1:
        comity_semaphore_wait(&in.semaphore);
        ++in.taken;
        break;
    case 2:
        if (comity_semaphore_timedwait(&in.semaphore, soon(r)) == 0) ++in.taken;
        break;
    case 3:
        if (r(2))
            comity_event_wait(&in.event);
        else
            comity_event_timedwait(&in.event, soon(r));
        break;
    case 4:
        comity_thread_sleep_until(soon(r));
        break;
    default:
        join_somebody(r);
    }
}

void *wait_until_cancelled(void *argument) {
    auto &self = *static_cast<waiter *>(argument);
    seeded_random r(self.seed);
    comity_cleanup_t cleanup;
    EXPECT_EQ(comity_thread_cleanup_push(&cleanup, clean, &self), 0);
    ++self.in->there;
    for (;;) wait_once(self, r);
}

// Wakes somebody or other; when each has been there, cancels one after the other.
void drive(round &in, std::uint64_t seed, std::atomic<unsigned> &next) {
    seeded_random r(seed);
    while (in.ended != waiters) {
        switch (r(6)) {
        case 0:
            comity_condition_signal(&in.condition);
            break;
        case 1:
            comity_condition_broadcast(&in.condition);
            break;
        case 2:
            comity_semaphore_post(&in.semaphore);
            ++in.posted;
            break;
        case 3:
            comity_event_set(&in.event);
            comity_event_reset(&in.event);
            break;
        default:
            if (in.there != waiters || r(4) != 0) break;
            if (const unsigned n = next++; n < waiters) {
                EXPECT_EQ(comity_thread_cancel(in.all[n].handle), 0);
            }
        }
        if (comity_thread_self())
            comity_thread_yield();
        else if (r(4) == 0)
            std::this_thread::yield();
    }
}

struct driver {
    round *in;
    std::uint64_t seed;
    std::atomic<unsigned> *next;
};

void play(std::uint64_t seed) {
    round in;
    seeded_random r(seed);
    std::atomic<unsigned> next{0};
    ASSERT_EQ(comity_threads_begin(), 0);
    for (waiter &w : in.all) {
        w.in = &in;
        w.seed = r(1u << 30);
        comity_thread_attr_t attr{};
        attr.technique = techniques[r(std::size(techniques))];
        ASSERT_EQ(comity_thread_create(&w.handle, &attr, wait_until_cancelled, &w), 0);
    }
    std::atomic<bool> over{false};
    std::thread outside([&] {
        drive(in, seed + 1, next);
        over = true;
    });
    driver inside{&in, seed + 2, &next};
    comity_thread_t *drives = nullptr;
    ASSERT_EQ(comity_thread_create(
                  &drives, nullptr,
                  [](void *p) {
                      auto *d = static_cast<driver *>(p);
                      drive(*d->in, d->seed, *d->next);
                      return p;
                  },
                  &inside),
              0);
    EXPECT_EQ(comity_thread_join(drives, nullptr), 0);
    while (!over) comity_thread_sleep_for(100'000); // with one hart the other needs it to cancel who joins
    outside.join();
    for (waiter &w : in.all) {
        void *result = nullptr;
        EXPECT_EQ(comity_thread_join(w.handle, &result), 0);
        EXPECT_EQ(result, COMITY_THREAD_CANCELLED);
        EXPECT_EQ(w.cleaned, 1u);
    }
    EXPECT_EQ(comity_semaphore_value(&in.semaphore), in.posted - in.taken) << "a token was lost";
    comity_threads_end();
    comity_semaphore_fini(&in.semaphore);
    comity_condition_fini(&in.condition);
    comity_event_fini(&in.event);
    comity_mutex_fini(&in.mutex);
}

} // namespace

TEST(cancellation, ends_every_wait_once_and_loses_no_token) {
    for (std::uint64_t seed = 1; seed <= rounds && !testing::Test::HasFailure(); ++seed) play(seed);
}
