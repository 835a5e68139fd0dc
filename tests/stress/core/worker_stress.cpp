// When a hart's worker looks for work, and when it sleeps. Protocol "Park and wake": src/core/README.md.
#include "core/base.hpp"
#include "core/carrier.hpp"
#include "core/runtime.hpp"
#include "model/spmd/team.hpp"
#include "sys/clock.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

// The threads of the program have all harts: a worker that spun on for its own would take a core from them.
TEST(worker, sleeps_when_its_hart_is_somebody_elses) {
    namespace core = comity::core;
    namespace spmd = comity::spmd;
    core::ensure_started();
    if (core::base().hart_count() != 2) GTEST_SKIP() << "needs COMITY_HARTS=2";
    std::atomic<unsigned> in{0};
    std::thread([&in] { // both ranks at once: the second hart's worker is there, and idle when the thread ends
        const auto meet = [](void *argument, unsigned) {
            auto *here = static_cast<std::atomic<unsigned> *>(argument);
            for (++*here; *here < 2;) std::this_thread::yield();
        };
        spmd::run(spmd::prepare(2), meet, &in, spmd::region_kind::gang);
    })
        .join();
    std::atomic<bool> has{false}, done{false};
    std::thread other([&] {
        core::carrier *k = core::enter_comity();
        for (has = true; !done;) std::this_thread::yield();
        core::leave_comity(k);
    });
    core::carrier *k = core::enter_comity();
    while (!has) std::this_thread::yield();
    const auto sleeps = [] {
        for (int i = 0; i < 2; ++i)
            if (const core::carrier *worker = core::base().harts()[i].worker.load(); worker && !worker->park.sleeping())
                return false;
        return true;
    };
    const std::int64_t from = comity::sys::now_ns();
    while (!sleeps() && comity::sys::now_ns() - from < 5'000'000'000) std::this_thread::yield();
    EXPECT_LT(comity::sys::now_ns() - from, 500'000'000); // COMITY_SPIN_US is a second
    done = true;
    core::leave_comity(k);
    other.join();
}
