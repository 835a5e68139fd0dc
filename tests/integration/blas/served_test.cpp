// A library with OpenBLAS' protocol of threads, linked as any program links OpenBLAS, under the preload object.
#include "fake_openblas.h"

#include "comity/core.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

std::atomic<int> entered{0}, seen_number{0};
void enter() { ++entered; }
void look_at_number() { seen_number = fake_jobs_of_next_call(); }

// Calls of several threads at once; how many jobs did not run.
int call_from_threads(int threads, int calls, int jobs) {
    entered = 0;
    std::vector<std::thread> all;
    for (int t = 0; t < threads; ++t)
        all.emplace_back([=] {
            for (int i = 0; i < calls; ++i) fake_call_of(jobs, enter);
        });
    for (std::thread &t : all) t.join();
    return threads * calls * jobs - entered;
}

bool eventually(bool (*holds)()) {
    for (int i = 0; i < 1000; ++i) {
        if (holds()) return true;
        fake_call(nullptr);
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
}

int exit_code_of_child(int (*in_child)()) {
    const pid_t child = fork();
    if (child == 0) {
        alarm(30);
        _exit(in_child());
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

} // namespace

TEST(served, runs_every_job_of_a_call_at_the_same_time_and_none_in_the_pool) {
    ASSERT_TRUE(fake_has_callback());
    for (int jobs = 1; jobs <= 8; ++jobs) { // each waits for all the others
        entered = 0;
        EXPECT_EQ(fake_call_of(jobs, enter), jobs);
        EXPECT_EQ(entered, jobs);
    }
    EXPECT_EQ(fake_jobs_of_pool(), 0);
}

TEST(served, gives_no_two_running_jobs_one_number) {
    EXPECT_EQ(call_from_threads(4, 200, 2), 0);
    EXPECT_EQ(call_from_threads(3, 50, 4), 0);
    EXPECT_EQ(fake_shared_numbers(), 0);
}

TEST(served, leaves_the_pools_own_jobs_alone) {
    EXPECT_TRUE(fake_call_beside_pool(50));
    EXPECT_EQ(fake_jobs_of_pool(), 1);
    EXPECT_EQ(fake_shared_numbers(), 0);
}

TEST(served, tells_calls_made_while_all_harts_work_to_be_sequential) {
    seen_number = 0;
    fake_call_of(comity_hart_count(), look_at_number);
    EXPECT_EQ(seen_number, 1);
}

TEST(served, never_gives_a_call_more_jobs_than_harts_or_than_the_user_allows) {
    ASSERT_TRUE(eventually([] { return fake_jobs_of_next_call() == 2; })); // 2 harts
    openblas_set_num_threads(1);
    EXPECT_EQ(call_from_threads(3, 100, 2), 0); // regions come and go
    EXPECT_EQ(fake_jobs_of_next_call(), 1);
    EXPECT_EQ(openblas_get_num_threads(), 1);
    openblas_set_num_threads(2);
    EXPECT_TRUE(eventually([] { return fake_jobs_of_next_call() == 2; }));
}

// As threadpoolctl does it: it looks the functions up, and writes back what it has read, perhaps while calls are to be
// sequential.
namespace {
template <class Function> Function *look_up(const char *name) {
    return reinterpret_cast<Function *>(dlsym(RTLD_DEFAULT, name));
}
std::atomic<int> saved{0};
std::atomic<bool> is_limited{false};
void limit_to_one() { // by one of the jobs
    if (fake_jobs_of_next_call() != 1 || is_limited.exchange(true)) return;
    saved = look_up<int()>("openblas_get_num_threads")();
    look_up<void(int)>("openblas_set_num_threads")(1);
}
} // namespace

TEST(served, tells_who_asks_what_the_user_wants_and_takes_a_limit_of_one_at_any_time) {
    ASSERT_TRUE(eventually([] { return fake_jobs_of_next_call() == 2; }));
    fake_call_of(comity_hart_count(), limit_to_one);
    EXPECT_EQ(saved, 2);
    EXPECT_EQ(call_from_threads(3, 100, 2), 0);
    EXPECT_EQ(fake_jobs_of_next_call(), 1);
    look_up<void(int)>("openblas_set_num_threads")(saved);
    EXPECT_TRUE(eventually([] { return fake_jobs_of_next_call() == 2; }));
    look_up<void(int)>("openblas_set_num_threads")(0); // as many as there are
    EXPECT_EQ(look_up<int()>("openblas_get_num_threads")(), 2);
}

TEST(served, moves_out_of_the_way_of_a_pool_that_grows) {
    openblas_set_num_threads(4);
    EXPECT_TRUE(fake_has_callback());
    EXPECT_TRUE(fake_call_beside_pool(20));
    EXPECT_EQ(call_from_threads(3, 50, 2), 0);
    EXPECT_EQ(fake_shared_numbers(), 0);
    openblas_set_num_threads(12); // too many for the table: it is on its own again
    EXPECT_FALSE(fake_has_callback());
    EXPECT_EQ(call_from_threads(2, 20, 6), 0);
    EXPECT_EQ(fake_shared_numbers(), 0);
}

TEST(served, works_in_the_child_of_a_fork) {
    EXPECT_EQ(fake_call_of(2, nullptr), 2);
    const auto calls = [] { return call_from_threads(2, 20, 2) == 0 && fake_shared_numbers() == 0 ? 7 : 1; };
    EXPECT_EQ(exit_code_of_child(calls), 7);
    EXPECT_EQ(fake_call_of(2, nullptr), 2);
}

TEST(served, survives_forks_while_other_threads_call) {
    std::atomic<bool> over{false};
    std::vector<std::thread> callers;
    for (int i = 0; i < 2; ++i)
        callers.emplace_back([&] {
            while (!over) fake_call_of(2, nullptr);
        });
    for (int i = 0; i < 20; ++i) EXPECT_EQ(exit_code_of_child([] { return fake_call_of(2, nullptr) == 2 ? 7 : 1; }), 7);
    over = true;
    for (std::thread &t : callers) t.join();
    EXPECT_EQ(fake_shared_numbers(), 0);
}

TEST(served, survives_a_fork_beside_the_very_first_call) {
    static int delay; // of the child, in microseconds
    for (delay = 0; delay < 1000; delay += 50)
        ASSERT_EQ(exit_code_of_child([] {
                      std::atomic<bool> go{false};
                      std::thread caller([&go] {
                          while (!go) {
                          }
                          for (int i = 0; i < 20; ++i) fake_call_of(2, nullptr);
                      });
                      go = true;
                      const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(delay);
                      while (std::chrono::steady_clock::now() < until) {
                      }
                      const auto calls = [] { return call_from_threads(2, 20, 2) == 0 ? 7 : 1; };
                      const int code = exit_code_of_child(calls);
                      caller.join();
                      return code;
                  }),
                  7)
            << "after " << delay << " us";
}

TEST(served_death, a_program_may_end_while_a_call_runs) {
    EXPECT_EXIT(
        {
            alarm(30);
            std::thread([] {
                for (;;) fake_call_of(2, nullptr);
            }).detach();
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
            std::exit(3);
        },
        testing::ExitedWithCode(3), "");
}

// ---- Others, loaded later

struct other_library {
    explicit other_library(const char *path) : handle(dlopen(path, RTLD_NOW | RTLD_LOCAL)) {}
    template <class Function> Function *get(const char *name) const {
        return reinterpret_cast<Function *>(dlsym(handle, name));
    }
    void *handle;
};

TEST(not_served, an_openblas_without_the_callback_keeps_its_pool) {
    const other_library old(COMITY_FAKE_OLD_PATH);
    ASSERT_TRUE(old.handle) << dlerror();
    EXPECT_EQ(old.get<int()>("fake_has_callback")(), 0);
    const int before = *old.get<int>("blas_cpu_number");
    EXPECT_EQ(old.get<int(int, void (*)())>("fake_call_of")(2, nullptr), 2);
    EXPECT_EQ(old.get<int()>("fake_jobs_of_pool")(), 1);
    fake_call_of(2, nullptr);
    EXPECT_EQ(*old.get<int>("blas_cpu_number"), before);
}

TEST(large_machine, an_openblas_whose_table_is_full_gets_half_of_it) {
    const other_library full(COMITY_FAKE_FULL_PATH); // 4 threads, a table of 4
    ASSERT_TRUE(full.handle) << dlerror();
    EXPECT_EQ(full.get<int()>("fake_has_callback")(), 1);
    EXPECT_EQ(*full.get<int>("blas_num_threads"), 2);
    EXPECT_EQ(full.get<int(int, void (*)())>("fake_call_of")(2, nullptr), 2);
    EXPECT_EQ(full.get<int()>("fake_jobs_of_pool")(), 0);
}

TEST(debians_openblas, is_left_alone_and_works) {
    const other_library real("libopenblas.so.0");
    if (!real.handle) GTEST_SKIP() << "no libopenblas.so.0 (libopenblas0-pthread) on this machine";
    auto *gemm = real.get<void(int, int, int, int, int, int, double, const double *, int, const double *, int, double,
                               double *, int)>("cblas_dgemm");
    ASSERT_TRUE(gemm);
    constexpr int n = 256;
    std::vector<double> a(n * n, 1.0), c(n * n, 0.0);
    gemm(101, 111, 111, n, n, n, 1.0, a.data(), n, a.data(), n, 0.0, c.data(), n);
    for (const double x : c) ASSERT_EQ(x, n);
}
