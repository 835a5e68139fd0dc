#include "sys/options.hpp"

#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include <sched.h>
#include <sys/resource.h>

#include <gtest/gtest.h>

#include "sys/cpu_limits.hpp"

using namespace comity::sys;

namespace {

struct environment {
    std::map<std::string, std::string> variables;
    std::vector<std::string> complaints;

    options parse(unsigned cores = 2) {
        return parse_options(
            [](const char *name, void *data) {
                const auto &all = static_cast<environment *>(data)->variables;
                const auto at = all.find(name);
                return at == all.end() ? nullptr : at->second.c_str();
            },
            [](const option &, const char *text, void *data) {
                static_cast<environment *>(data)->complaints.emplace_back(text);
            },
            this, cores);
    }
};

environment with(const std::string &name, const std::string &value) { return {{{name, value}}, {}}; }

} // namespace

TEST(options, without_an_environment_the_defaults_hold_and_nothing_is_said) {
    environment nothing;
    const options o = nothing.parse(5);
    EXPECT_EQ(o.harts, 5U);
    EXPECT_FALSE(o.harts_given || o.run || o.nested || o.nested_given || o.stats || o.verbose);
    EXPECT_EQ(o.tls, tls_choice::automatic);
    EXPECT_EQ(o.chaos, 0U);
    EXPECT_EQ(o.spin_us, 20U);
    EXPECT_GE(o.stack_size, 16384U);
    EXPECT_TRUE(nothing.complaints.empty());
}

TEST(options, good_values_are_taken) {
    environment e{{{"COMITY_HARTS", "1024"},
                   {"COMITY_STATS", "1"},
                   {"COMITY_VERBOSE", "yes"},
                   {"COMITY_RUN", "on"},
                   {"COMITY_NESTED", "0"},
                   {"COMITY_CHAOS", "18446744073709551615"},
                   {"COMITY_TLS", "glibc"},
                   {"COMITY_SPIN_US", "0"},
                   {"COMITY_HOT_TEAMS", "off"},
                   {"COMITY_TEAM_TREE", "no"},
                   {"COMITY_STALL_MS", "60000"},
                   {"COMITY_STACK_SIZE", "64K"},
                   {"COMITY_RUN_PROCESS", "1"}},
                  {}};
    const options o = e.parse();
    EXPECT_EQ(o.harts, 1024U);
    EXPECT_TRUE(o.harts_given && o.stats && o.verbose && o.run && o.nested_given);
    EXPECT_FALSE(o.nested);
    EXPECT_EQ(o.chaos, UINT64_MAX);
    EXPECT_EQ(o.tls, tls_choice::glibc);
    EXPECT_EQ(o.spin_us, 0U);
    EXPECT_TRUE(o.spin_given);
    EXPECT_FALSE(o.hot_teams);
    EXPECT_FALSE(o.team_tree);
    EXPECT_EQ(o.stall_ms, 60'000U);
    EXPECT_EQ(o.stack_size, 65536U);
    EXPECT_TRUE(e.complaints.empty());
}

TEST(options, run_turns_nested_on_unless_it_is_given) {
    EXPECT_TRUE(with("COMITY_RUN", "1").parse().nested);
    EXPECT_TRUE(with("COMITY_NESTED", "1").parse().nested);
    EXPECT_FALSE(with("COMITY_RUN", "0").parse().nested);
}

TEST(options, each_bad_number_of_harts_gives_one_line_and_the_detected_number) {
    for (const char *bad : {"0", "-3", "1e9", "abc", "1025", "99999999999999999999", "18446744073709551617", "2 ", " 2",
                            "+2", "2.0", "0x2", "4,,2", "\xff"}) {
        environment e = with("COMITY_HARTS", bad);
        const options o = e.parse();
        EXPECT_EQ(o.harts, 2U) << bad;
        EXPECT_FALSE(o.harts_given) << bad;
        ASSERT_EQ(e.complaints.size(), 1U) << bad;
        EXPECT_EQ(e.complaints[0],
                  "COMITY_HARTS=\"" + std::string(bad) + "\": not a whole number from 1 to 1024; using 2 (detected)");
    }
}

TEST(options, an_empty_value_is_none) {
    for (const option &row : get_option_table()) {
        environment e = with(row.variable, "");
        EXPECT_EQ(e.parse().harts, 2U) << row.variable;
        EXPECT_TRUE(e.complaints.empty()) << row.variable;
    }
}

TEST(options, every_variable_survives_hostile_values) {
    const std::string long_text(100'000, 'A');
    for (const option &row : get_option_table())
        for (const std::string &bad : {std::string("%s%n%d"), long_text, std::string("\n\x1b[2J"), std::string("-1"),
                                       std::string("1|2"), std::string("|"), std::string("auto|donor")}) {
            environment e = with(row.variable, bad);
            const options o = e.parse();
            EXPECT_EQ(o.harts, 2U);
            ASSERT_EQ(e.complaints.size(), 1U) << row.variable << '=' << bad;
            EXPECT_LT(e.complaints[0].size(), 400U);
            for (const char c : e.complaints[0]) EXPECT_GE(static_cast<unsigned char>(c), ' ');
        }
}

TEST(options, sizes_take_units_and_refuse_what_overflows) {
    const auto size = [](const char *text) { return with("COMITY_STACK_SIZE", text).parse().stack_size; };
    const std::size_t standard = environment{}.parse().stack_size;
    EXPECT_EQ(size("16384"), 16384U);
    EXPECT_EQ(size("2m"), 2U << 20);
    EXPECT_EQ(size("3MiB"), 3U << 20);
    EXPECT_EQ(size("1GB"), 1U << 30);
    for (const char *bad : {"16383", "15K", "65G", "K", "1T", "64Kb", "64 K", "99999999999999999G", "17179869184G"})
        EXPECT_EQ(size(bad), standard) << bad;
}

TEST(options, the_standard_stack_follows_the_soft_limit) {
    rlimit before{};
    ASSERT_EQ(getrlimit(RLIMIT_STACK, &before), 0);
    rlimit small = before;
    small.rlim_cur = 4 << 20;
    ASSERT_EQ(setrlimit(RLIMIT_STACK, &small), 0);
    EXPECT_EQ(environment{}.parse().stack_size, 4U << 20);
    ASSERT_EQ(setrlimit(RLIMIT_STACK, &before), 0);
}

TEST(options, complaints_name_what_is_allowed) {
    const auto complaint = [](const char *name, const char *value) {
        environment e = with(name, value);
        e.parse();
        return e.complaints.empty() ? std::string() : e.complaints[0];
    };
    EXPECT_EQ(complaint("COMITY_TLS", "x"), "COMITY_TLS=\"x\": not one of auto, donor, glibc; using the default (auto: "
                                            "what the self-test at the start finds best)");
    EXPECT_EQ(complaint("COMITY_STATS", "2"), "COMITY_STATS=\"2\": not 0 or 1; using the default (off)");
    EXPECT_EQ(complaint("COMITY_STACK_SIZE", "5"),
              "COMITY_STACK_SIZE=\"5\": not a size from 16K to 64G (in bytes, or with K, M or G); using the default "
              "(the soft limit of `ulimit -s`, 8 MiB when there is none)");
}

TEST(options, what_is_written_almost_like_one_is_mistyped) {
    const auto meant = [](const char *variable) {
        const char *environment[] = {"HOME=/", variable, nullptr};
        std::string said;
        find_misspelt(
            environment,
            [](const option &row, const char *complaint, void *data) {
                *static_cast<std::string *>(data) += std::string(row.variable) + "|" + complaint;
            },
            &said);
        return said.substr(0, said.find('|'));
    };
    EXPECT_EQ(meant("COMITY_HART=2"), "COMITY_HARTS");
    EXPECT_EQ(meant("COMITY_AHRTS=2"), "COMITY_HARTS");
    EXPECT_EQ(meant("COMITY_HOTTEAMS=2"), "COMITY_HOT_TEAMS");
    EXPECT_EQ(meant("COMITY_STACK=2"), "COMITY_STACK_SIZE");
    EXPECT_EQ(meant("COMITY_TL="), "COMITY_TLS");
    for (const char *other : {"COMITY_HARTS=x", "COMITY_RUN=1", "COMITY_RUNS=1", "COMITY_BLAS=1", "COMITY_PROGRAM=1",
                              "COMITY_T=1", "COMITY_=1", "COMITY_HART", "XCOMITY_HART=1", "COMITY_HARTS_OF_MINE=1"})
        EXPECT_EQ(meant(other), "") << other;
    EXPECT_EQ(meant(("COMITY_" + std::string(100'000, 'S') + "=1").c_str()), "");
}

TEST(options, the_table_is_complete) {
    for (const option &row : get_option_table()) {
        EXPECT_EQ(std::strncmp(row.variable, "COMITY_", 7), 0);
        EXPECT_TRUE(*row.help && *row.standard) << row.variable;
        EXPECT_EQ(row.help[std::strlen(row.help) - 1], '.') << row.variable;
        EXPECT_TRUE(row.kind != option_kind::count || row.least < row.most) << row.variable;
    }
}

TEST(options_death, the_process_reads_its_environment_once_and_says_what_is_wrong) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(
        {
            setenv("COMITY_HARTS", "abc", 1);
            const unsigned harts = number_of_harts();
            setenv("COMITY_HARTS", "7", 1);
            _exit(harts >= 1 && number_of_harts() == harts && !get_options().harts_given ? 0 : 1);
        },
        testing::ExitedWithCode(0),
        "^comity: COMITY_HARTS=\"abc\": not a whole number from 1 to 1024; using [0-9]+ .detected.\n$");
}

TEST(options_death, harts_are_counted_by_the_affinity_mask_from_the_start) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(
        {
            unsetenv("COMITY_HARTS");
            const unsigned before = read_cpu_limits().usable();
            get_options();
            cpu_set_t one;
            CPU_ZERO(&one);
            CPU_SET(sched_getcpu(), &one);
            _exit(sched_setaffinity(0, sizeof one, &one) == 0 && number_of_harts() == before ? 0 : 1);
        },
        testing::ExitedWithCode(0), "");
}
