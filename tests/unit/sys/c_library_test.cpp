#include "sys/c_library.hpp"

#include <cstdlib>

#include <sys/auxv.h>

#include <gtest/gtest.h>

using namespace comity::sys;

TEST(c_library, symbols_are_found_by_name_and_none_is_nullptr) {
    EXPECT_NE(find_symbol("malloc"), nullptr);
    EXPECT_EQ(find_symbol("comity_has_no_such_symbol"), nullptr);
}

TEST(c_library, the_auxiliary_vector_is_the_kernels) {
    EXPECT_EQ(auxiliary_value(AT_PAGESZ), getauxval(AT_PAGESZ));
    EXPECT_EQ(auxiliary_value(123456), 0U);
}
