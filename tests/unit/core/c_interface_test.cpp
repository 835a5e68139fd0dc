#include <gtest/gtest.h>

extern "C" int run_scheduler_in_c(void);

TEST(c_interface, a_scheduler_in_c_runs_its_context) { EXPECT_EQ(run_scheduler_in_c(), 1); }
