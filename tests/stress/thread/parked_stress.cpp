// A hundred thousand threads that are parked at the same time: what they cost, and that all of them come back.
#include "comity/sync.hpp"
#include "comity/thread.h"

#include "../../unit/sanitizers.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include <unistd.h>

namespace {

constexpr bool sanitized = thread_sanitizer || address_sanitizer;
constexpr std::size_t threads = sanitized ? 3000 : 100'000;

double resident_bytes() {
    long pages = 0;
    std::FILE *f = std::fopen("/proc/self/statm", "r");
    EXPECT_EQ(std::fscanf(f, "%*d %ld", &pages), 1);
    std::fclose(f);
    return static_cast<double>(pages) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

struct car_park {
    std::atomic<std::size_t> arrived{0}, left{0};
    comity::event open;

    static void *park(void *argument) {
        auto *self = static_cast<car_park *>(argument);
        self->arrived.fetch_add(1, std::memory_order_relaxed);
        self->open.wait();
        self->left.fetch_add(1, std::memory_order_relaxed);
        return argument;
    }
};

struct kind {
    std::string name;
    comity_technique_t technique;
    std::size_t stack_size;
    double most_bytes; // resident, of a parked thread
};

class parked_threads : public testing::TestWithParam<kind> {};

// A guarded thread: a page of stack, its context (192 bytes), its descriptor (128). A small one: half of the page.
INSTANTIATE_TEST_SUITE_P(of, parked_threads,
                         testing::Values(kind{"roc_l_small", COMITY_TECHNIQUE_ROC_L, 2048, 2700},
                                         kind{"full_small", COMITY_TECHNIQUE_FULL, 2048, 2700},
                                         kind{"roc_l", COMITY_TECHNIQUE_ROC_L, 16384, 4500},
                                         kind{"full", COMITY_TECHNIQUE_FULL, 16384, 4500},
                                         kind{"ss_l", COMITY_TECHNIQUE_SS_L, 16384, 4500},
                                         kind{"c_roc_e", COMITY_TECHNIQUE_C_ROC_E, 16384, 4500},
                                         kind{"sc_of_default_size", COMITY_TECHNIQUE_SC, 0, 4600}),
                         [](const auto &i) { return i.param.name; });

} // namespace

TEST_P(parked_threads, cost_what_is_promised_and_all_come_back) {
    ASSERT_EQ(comity_threads_begin(), 0);
    const comity_thread_attr_t attr{GetParam().technique, GetParam().stack_size, 0, 0};
    std::vector<comity_thread_t *> handles(threads);
    car_park park;
    for (int round = 0; round < 2; ++round) {
        park.arrived = park.left = 0;
        park.open.reset();
        const double before = resident_bytes();
        for (comity_thread_t *&t : handles) ASSERT_EQ(comity_thread_create(&t, &attr, car_park::park, &park), 0);
        while (park.arrived != threads) comity_thread_yield();
        const double each = (resident_bytes() - before) / static_cast<double>(threads);
        std::printf("%.0f resident bytes for each\n", each);
        if (!sanitized && round == 0) {
            EXPECT_LT(each, GetParam().most_bytes);
        }
        park.open.set();
        for (comity_thread_t *t : handles) {
            void *result = nullptr;
            ASSERT_EQ(comity_thread_join(t, &result), 0);
            ASSERT_EQ(result, &park);
        }
        EXPECT_EQ(park.left, threads);
    }
    comity_threads_end();
}
