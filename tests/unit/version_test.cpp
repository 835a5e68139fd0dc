#include "comity/version.h"

#include <cstdio>

#include <gtest/gtest.h>

TEST(version, has_three_numeric_parts) {
    int major = -1, minor = -1, patch = -1;
    char rest = 0;
    EXPECT_EQ(std::sscanf(comity_version(), "%d.%d.%d%c", &major, &minor, &patch, &rest), 3);
    EXPECT_GE(major, 0);
    EXPECT_GE(minor, 0);
    EXPECT_GE(patch, 0);
}
