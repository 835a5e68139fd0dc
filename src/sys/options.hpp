// What the user asks for through the environment. One table (options.cpp) makes the parsing, the help of `comity` and
// docs/configuration.md.
#pragma once

#include "sys/shared.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace comity::sys {

struct cpu_limits;

enum class tls_choice : std::uint8_t { automatic, donor, glibc };
enum class posix_choice : std::uint8_t { automatic, off, on };
enum class posix_order : std::uint8_t { space_efficient, df_deques, work_stealing, fifo, lifo };
enum class bind_choice : std::uint8_t { none, cores, numa };

struct options {
    unsigned harts = 1;       // as asked, else what parse_options was told; the process' own: number_of_harts()
    bool harts_given = false; // by COMITY_HARTS, rightly
    bool run = false;         // started by `comity run`
    int run_process = 0;      // the process that `comity run --stats` became, or 0
    bool nested = false;      // are parallel regions within regions parallel? Without COMITY_NESTED: as `run`
    bool nested_given = false;
    bool own_regions = false; // are libraries told only of the parallel regions that they opened themselves?
    bool omp_check = false;   // does OpenMP look for what the specification forbids?
    bool stats = false;
    bool verbose = false;
    tls_choice tls = tls_choice::automatic;
    unsigned tls_threads = 1000; // kernel threads that sleep for that at most
    bind_choice bind = bind_choice::none;
    posix_choice posix = posix_choice::automatic; // does `comity run` have Comity serve the program's own threads?
    posix_order order = posix_order::space_efficient;
    std::size_t posix_quota = 10'000; // 0: none
    unsigned slice_ms = 0;            // of such threads; 0: they run until they wait
    std::uint64_t chaos = 0;          // the chaos scheduler's seed; 0: no chaos
    unsigned spin_us = 0;
    bool spin_given = false;
    bool hot_teams = true;
    bool team_tree = true;
    unsigned stall_ms = 0; // 0: nobody watches
    std::size_t stack_size = 0;
};

// The options, read from the environment by the first call; what changes in the environment later is not seen. A value
// that is not allowed gives one line on standard error and counts as not given, and so does an empty one, without a
// line. A set-user-id program's environment is not trusted: every option has its default there. Any thread, not in a
// signal handler; never switches; never fails.
COMITY_SHARED const options &get_options() noexcept;

// What limits the process, read by the first call. Any thread, not in a signal handler; never switches.
const cpu_limits &get_cpu_limits() noexcept;

// No process has more harts.
inline constexpr unsigned most_harts = 1024;
// How many harts there shall be: `harts` of those, else as many as the process may use cores.
COMITY_SHARED unsigned number_of_harts() noexcept;

enum class option_kind : std::uint8_t {
    count,  // a whole number in [least, most]
    size,   // bytes in [least, most]; K, M and G multiply by powers of 1024
    flag,   // 0 1, no yes, off on, false true
    choice, // one of the words of `values`
};

// A row of the table.
struct option {
    const char *variable;
    option_kind kind;
    std::uint64_t least, most; // of counts and sizes, inclusive
    const char *values;        // of choices: the words, parted by '|'
    const char *standard;      // the default in words
    const char *help;          // one or more whole sentences
    bool internal;             // set by Comity's own tools, not by users
    const char *command_line;  // the same as an option of `comity run`, or nullptr
    // Takes a value that is allowed: a number, a flag as 0 or 1, a choice's position.
    void (*apply)(options &into, std::uint64_t number);
};

struct option_table {
    const option *rows;
    std::size_t size;
    const option *begin() const noexcept { return rows; }
    const option *end() const noexcept { return rows + size; }
};
option_table get_option_table() noexcept;

// Is the text allowed for the row? Then its value is in `number`.
bool parse_option(const option &row, const char *text, std::uint64_t &number) noexcept;
// What a row allows, as a message says it: "a whole number from 1 to 1024". Terminated and cut like format_text.
std::size_t describe_allowed(const option &row, char *buffer, std::size_t size) noexcept;

// The parsing by itself, for tests and tools: `look_up` gives a variable's value or nullptr, `report` takes each
// complaint (without "comity: " and line end), `cores` is how many harts there are by default.
using look_up_function = const char *(*)(const char *variable, void *data);
using report_function = void (*)(const option &row, const char *complaint, void *data);
options parse_options(look_up_function look_up, report_function report, void *data, unsigned cores) noexcept;
// What the environment says now, with one hart by default and without a complaint. Waits for nobody and allocates
// nothing, so it may be called wherever the process has an environment already.
COMITY_SHARED options options_of_environment() noexcept;
// One complaint for each variable of the environment (a list that ends with nullptr) that is no option but is written
// almost like one, which is the row. Other names that begin with COMITY_ are somebody else's.
void find_misspelt(const char *const *environment, report_function report, void *data) noexcept;

// How many letters of `typed` must be changed, added, left out or swapped with the next one to make it `word`. Half of
// the word's and more make it another word, as do three: then, and where one is too long to be a name of ours, it is
// that.
inline constexpr unsigned too_many_misspellings = 3;
inline constexpr std::size_t longest_spelt = 40;
unsigned count_misspellings(std::string_view typed, std::string_view word) noexcept;

} // namespace comity::sys
