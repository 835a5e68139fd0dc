#include "sys/message.hpp"

#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <string>

#include <gtest/gtest.h>

using namespace comity::sys;

namespace {

// What both formatters make of the same arguments.
#define EXPECT_AS_PRINTF(...)                                                                                          \
    do {                                                                                                               \
        char ours[256], theirs[256];                                                                                   \
        const std::size_t length = format_text(ours, sizeof ours, __VA_ARGS__);                                        \
        EXPECT_EQ(length, static_cast<std::size_t>(std::snprintf(theirs, sizeof theirs, __VA_ARGS__)));                \
        EXPECT_STREQ(ours, theirs);                                                                                    \
    } while (0)

} // namespace

TEST(message, conversions_agree_with_printf) {
    EXPECT_AS_PRINTF("plain");
    EXPECT_AS_PRINTF("%s|%s|%c%%", "a", "", 'z');
    EXPECT_AS_PRINTF("%d %d %d %i", 0, INT_MAX, INT_MIN, -1);
    EXPECT_AS_PRINTF("%u %x %lu %llu", UINT_MAX, 0xbeefU, ULONG_MAX, ULLONG_MAX);
    EXPECT_AS_PRINTF("%ld %lld %zu %zd %jd", LONG_MIN, LLONG_MIN, SIZE_MAX, static_cast<ssize_t>(-3), intmax_t{-4});
    EXPECT_AS_PRINTF("%p", reinterpret_cast<void *>(0x1234));
}

TEST(message, text_that_does_not_fit_is_cut_and_terminated) {
    char buffer[6] = "zzzzz";
    EXPECT_EQ(format_text(buffer, 4, "%s", "abcdef"), 3U);
    EXPECT_STREQ(buffer, "abc");
    EXPECT_EQ(buffer[4], 'z');
    EXPECT_EQ(format_text(buffer, 1, "%d", 5), 0U);
    EXPECT_STREQ(buffer, "");
}

TEST(message, a_warning_is_one_line_and_keeps_errno) {
    testing::internal::CaptureStderr();
    errno = ERANGE;
    warn("%s costs %d", "this", 3);
    EXPECT_EQ(errno, ERANGE);
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "comity: this costs 3\n");
}

TEST(message, a_very_long_warning_is_cut_but_stays_a_line) {
    testing::internal::CaptureStderr();
    warn("%s", std::string(5000, 'x').c_str());
    const std::string line = testing::internal::GetCapturedStderr();
    EXPECT_LT(line.size(), 1100U);
    EXPECT_EQ(line.find('\n'), line.size() - 1);
}

TEST(message_death, fatal_names_the_call_and_aborts) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(fatal("comity_yield", "no parent on hart %u", 7U), testing::KilledBySignal(SIGABRT),
                "comity: comity_yield: no parent on hart 7\n");
}
