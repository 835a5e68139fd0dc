// Part of each program here: run again with watching_tool.cpp, is the tool there?
#include <cstdlib>
#include <dlfcn.h>

#include <gtest/gtest.h>

extern "C" void GOMP_parallel(void (*)(void *), void *, unsigned, unsigned);

namespace {

TEST(openmp_tool, is_told_of_regions_if_there_is_one) {
    const char *tool = std::getenv("OMP_TOOL_LIBRARIES");
    if (!tool) GTEST_SKIP() << "no tool";
    GOMP_parallel([](void *) {}, nullptr, 2, 0);
    void *library = dlopen(tool, RTLD_LAZY | RTLD_NOLOAD);
    ASSERT_TRUE(library);
    const auto events = reinterpret_cast<int (*)()>(dlsym(library, "watching_tool_events"));
    ASSERT_TRUE(events);
    EXPECT_EQ(events(), 1);
    dlclose(library);
}

} // namespace
