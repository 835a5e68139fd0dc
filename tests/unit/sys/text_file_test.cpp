#include "sys/text_file.hpp"

#include <gtest/gtest.h>

#include "fake_tree.hpp"

using namespace comity::sys;

TEST(text_file, lines_come_in_order_and_a_last_one_without_its_end_counts) {
    fake_tree tree;
    tree.add("/f", "one\n\nthree");
    line_reader file(tree.path("/f").c_str());
    EXPECT_TRUE(file.is_open());
    EXPECT_STREQ(file.next(), "one");
    EXPECT_STREQ(file.next(), "");
    EXPECT_STREQ(file.next(), "three");
    EXPECT_EQ(file.next(), nullptr);
    EXPECT_EQ(file.next(), nullptr);
}

TEST(text_file, a_missing_file_and_a_folder_have_no_lines) {
    fake_tree tree;
    line_reader missing(tree.path("/none").c_str());
    EXPECT_FALSE(missing.is_open());
    EXPECT_EQ(missing.next(), nullptr);
    line_reader folder(tree.root());
    EXPECT_EQ(folder.next(), nullptr);
}

TEST(text_file, a_long_line_is_cut_and_the_next_one_is_whole) {
    fake_tree tree;
    tree.add("/f", std::string(5000, 'a') + "\nb\n");
    line_reader file(tree.path("/f").c_str());
    EXPECT_EQ(std::string(file.next()), std::string(1024, 'a'));
    EXPECT_STREQ(file.next(), "b");
}

TEST(text_file, numbers_are_whole_and_fit) {
    std::int64_t value = 7;
    EXPECT_TRUE(read_number(" 42\n", value));
    EXPECT_EQ(value, 42);
    EXPECT_TRUE(read_number("-9223372036854775808", value));
    EXPECT_EQ(value, INT64_MIN);
    EXPECT_TRUE(read_number("9223372036854775807", value));
    EXPECT_EQ(value, INT64_MAX);
    value = 7;
    for (const char *bad : {"", " ", "-", "x", "1x", "1 2", "+1", "9223372036854775808", "0x10", "1.5"})
        EXPECT_FALSE(read_number(bad, value)) << bad;
    EXPECT_EQ(value, 7);
}
