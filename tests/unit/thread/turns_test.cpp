// Chains of threads that start at once, or that their joiners run themselves, let others go on now and then.
#include "comity/thread.h"

#include "techniques.hpp"

#include <atomic>

namespace {

std::atomic<bool> over;

void *nothing(void *p) { return p; }

class endless_chains : public each_technique {
protected:
    void SetUp() override {
        ASSERT_EQ(comity_threads_begin(), 0);
        over = false;
    }
    void TearDown() override { comity_threads_end(); }
    // Runs `chain`, which ends when a sleeper wakes, on every hart.
    static void run(void *(*chain)(void *)) {
        static comity_technique_t how;
        how = GetParam();
        comity_thread_t *sleeper = nullptr, *all[4] = {};
        ASSERT_EQ(comity_thread_create(
                      &sleeper, nullptr,
                      [](void *p) {
                          comity_thread_sleep_for(5'000'000);
                          over = true;
                          return p;
                      },
                      nullptr),
                  0);
        while (comity_thread_state(sleeper) != COMITY_THREAD_PAUSED && !over) comity_thread_yield();
        for (comity_thread_t *&t : all) ASSERT_EQ(comity_thread_create(&t, nullptr, chain, &how), 0);
        for (comity_thread_t *t : all) EXPECT_EQ(comity_thread_join(t, nullptr), 0);
        EXPECT_EQ(comity_thread_join(sleeper, nullptr), 0);
    }
};
INSTANTIATE_TEST_SUITE_P(each, endless_chains,
                         testing::Values(COMITY_TECHNIQUE_C_FULL, COMITY_TECHNIQUE_C_FULL_E, COMITY_TECHNIQUE_C_ROC,
                                         COMITY_TECHNIQUE_C_ROC_E, COMITY_TECHNIQUE_ROC_L, COMITY_TECHNIQUE_FULL,
                                         COMITY_TECHNIQUE_STACKLESS),
                         technique_name);

} // namespace

TEST_P(endless_chains, of_threads_that_are_joined_let_a_sleeper_wake) {
    run([](void *how) {
        comity_thread_attr_t attr{};
        attr.technique = *static_cast<comity_technique_t *>(how);
        while (!over) {
            comity_thread_t *t = nullptr;
            EXPECT_EQ(comity_thread_create(&t, &attr, nothing, nullptr), 0);
            EXPECT_EQ(comity_thread_join(t, nullptr), 0);
        }
        return how;
    });
}

TEST_P(endless_chains, of_detached_threads_let_a_sleeper_wake) {
    if (GetParam() < COMITY_TECHNIQUE_C_FULL) GTEST_SKIP() << "creating one only puts it into a queue";
    run([](void *how) {
        comity_thread_attr_t attr{};
        attr.technique = *static_cast<comity_technique_t *>(how);
        attr.detached = 1;
        while (!over) EXPECT_EQ(comity_thread_create(nullptr, &attr, nothing, nullptr), 0);
        return how;
    });
}
