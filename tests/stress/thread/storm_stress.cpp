// Storms: threads of all techniques suspend themselves, move from hart to hart, give the hart to each other, keep
// values and clean up, while other threads and a kernel thread resume and cancel them at any time.
#include "comity/thread.h"

#include "../../unit/sanitizers.hpp"
#include "random.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <iterator>
#include <thread>
#include <vector>

namespace {

constexpr comity_technique_t techniques[] = {COMITY_TECHNIQUE_FULL,     COMITY_TECHNIQUE_FULL_L, COMITY_TECHNIQUE_ROC,
                                             COMITY_TECHNIQUE_ROC_L,    COMITY_TECHNIQUE_SS,     COMITY_TECHNIQUE_SS_L,
                                             COMITY_TECHNIQUE_SC,       COMITY_TECHNIQUE_C_FULL, COMITY_TECHNIQUE_C_ROC,
                                             COMITY_TECHNIQUE_C_FULL_E, COMITY_TECHNIQUE_C_ROC_E};
constexpr bool sanitized = thread_sanitizer || address_sanitizer;
constexpr unsigned workers = sanitized ? 12 : 24, rounds = sanitized ? 20 : 100, actions = 60;

struct storm;

struct worker {
    storm *in = nullptr;
    std::uint64_t seed = 0;
    std::atomic<comity_thread_t *> handle{nullptr};
    std::atomic<bool> cleaned{false}, destroyed{false};
    bool has_value = false; // written by the worker before it ends
};

struct storm {
    comity_key_t key{};
    std::atomic<unsigned> ended{0};
    std::atomic<bool> all_there{false};
    worker all[workers];
};

void clean(void *w) {
    EXPECT_FALSE(static_cast<worker *>(w)->cleaned.exchange(true));
    ++static_cast<worker *>(w)->in->ended;
}

void *short_life(void *p) {
    comity_thread_yield();
    return p;
}

void act(worker &self, seeded_random &r) {
    storm &s = *self.in;
    switch (r(8)) {
    case 0:
    case 1:
        EXPECT_EQ(comity_thread_suspend(), 0);
        break;
    case 2:
        EXPECT_EQ(comity_thread_migrate(static_cast<int>(r(static_cast<std::uint32_t>(comity_hart_count())))), 0);
        break;
    case 3: {
        const int error = comity_thread_yield_to(s.all[r(workers)].handle);
        EXPECT_TRUE(error == 0 || error == EBUSY || error == ESRCH) << error;
        break;
    }
    case 4:
        if (!self.has_value) {
            self.has_value = true;
            EXPECT_EQ(comity_key_set(s.key, &self), 0);
        }
        EXPECT_EQ(comity_key_get(s.key), &self);
        break;
    case 5: {
        comity_thread_t *t = nullptr;
        comity_thread_attr_t attr{};
        attr.technique = techniques[r(std::size(techniques))];
        comity_thread_set_cancel(0); // nobody else would join it
        EXPECT_EQ(comity_thread_create(&t, &attr, short_life, &self), 0);
        EXPECT_EQ(comity_thread_join(t, nullptr), 0);
        comity_thread_set_cancel(1);
        break;
    }
    case 6:
        EXPECT_EQ(comity_thread_testcancel(), 0);
        break;
    default:
        comity_thread_yield();
    }
}

void *work(void *argument) {
    auto &self = *static_cast<worker *>(argument);
    seeded_random r(self.seed);
    comity_cleanup_t cleanup;
    EXPECT_EQ(comity_thread_cleanup_push(&cleanup, clean, &self), 0);
    while (!self.in->all_there) comity_thread_yield();
    for (unsigned i = 0; i < actions; ++i) act(self, r);
    comity_thread_cleanup_pop(&cleanup, 1);
    return &self;
}

// Resumes and, seldom, cancels whomever it meets, until all have ended.
struct driver {
    storm *in;
    std::uint64_t seed;
    void run() const {
        seeded_random r(seed);
        while (in->ended != workers) {
            comity_thread_t *t = in->all[r(workers)].handle;
            const int error = r(200) == 0 ? comity_thread_cancel(t) : comity_thread_resume(t);
            EXPECT_TRUE(error == 0 || error == EINVAL || error == ESRCH) << error;
            if (comity_thread_self())
                comity_thread_yield();
            else if (r(20) == 0)
                std::this_thread::yield();
        }
    }
};

void rage(std::uint64_t seed) {
    storm s;
    seeded_random r(seed);
    ASSERT_EQ(
        comity_key_create(&s.key, [](void *w) { EXPECT_FALSE(static_cast<worker *>(w)->destroyed.exchange(true)); }),
        0);
    ASSERT_EQ(comity_threads_begin(), 0);
    for (worker &w : s.all) {
        w.in = &s;
        w.seed = r(1u << 30);
        comity_thread_attr_t attr{};
        attr.technique = techniques[r(std::size(techniques))];
        comity_thread_t *t = nullptr;
        ASSERT_EQ(comity_thread_create(&t, &attr, work, &w), 0);
        w.handle = t;
    }
    s.all_there = true;
    std::thread outside([&s, seed] { driver{&s, seed + 1}.run(); });
    driver inside{&s, seed + 2};
    comity_thread_t *drives = nullptr;
    ASSERT_EQ(comity_thread_create(
                  &drives, nullptr,
                  [](void *d) {
                      static_cast<driver *>(d)->run();
                      return d;
                  },
                  &inside),
              0);
    EXPECT_EQ(comity_thread_join(drives, nullptr), 0);
    outside.join();
    for (worker &w : s.all) {
        void *result = nullptr;
        EXPECT_EQ(comity_thread_join(w.handle, &result), 0);
        EXPECT_TRUE(result == &w || result == COMITY_THREAD_CANCELLED);
        EXPECT_TRUE(w.cleaned);
        EXPECT_EQ(w.destroyed, w.has_value);
    }
    comity_threads_end();
    EXPECT_EQ(comity_key_delete(s.key), 0);
}

} // namespace

TEST(storms, leave_every_thread_ended_cleaned_up_and_joined) {
    for (std::uint64_t seed = 1; seed <= rounds && !testing::Test::HasFailure(); ++seed) rage(seed);
}

TEST(storms, of_several_kernel_threads_do_not_disturb_each_other) {
    std::vector<std::thread> all;
    for (std::uint64_t i = 1; i <= 3; ++i)
        all.emplace_back([i] {
            for (std::uint64_t seed = 1; seed <= rounds / 4 && !testing::Test::HasFailure(); ++seed)
                rage(1000 * i + seed);
        });
    for (std::thread &t : all) t.join();
}

TEST(storms, of_revivals_run_each_life_once) {
    constexpr unsigned lives = 40;
    ASSERT_EQ(comity_threads_begin(), 0);
    static std::atomic<unsigned> lived;
    lived = 0;
    const auto live = [](void *p) {
        if (lived.fetch_add(1) % 2) comity_thread_yield();
        return p;
    };
    std::vector<comity_thread_t *> threads;
    for (unsigned i = 0; i < 100; ++i) {
        comity_thread_attr_t attr{};
        attr.technique = techniques[i % std::size(techniques)];
        comity_thread_t *t = nullptr;
        ASSERT_EQ(comity_thread_create(&t, &attr, live, nullptr), 0);
        threads.push_back(t);
    }
    for (unsigned life = 1; life < lives; ++life)
        for (comity_thread_t *t : threads) {
            ASSERT_EQ(comity_thread_wait(t, nullptr), 0);
            ASSERT_EQ(comity_thread_revive(t, live, nullptr), 0);
        }
    EXPECT_EQ(comity_thread_join_many(threads.data(), threads.size(), nullptr), 0);
    comity_threads_end();
    EXPECT_EQ(lived, 100 * lives);
}
