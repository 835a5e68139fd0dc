#include "sys/options.hpp"

#include <algorithm>
#include <cstring>

#include <sys/auxv.h>
#include <sys/resource.h>
#include <unistd.h>

#include "sys/cpu_limits.hpp"
#include "sys/message.hpp"
#include "sys/process.hpp"

namespace comity::sys {
namespace {

constexpr std::uint64_t kibi = 1024, mebi = 1024 * kibi, gibi = 1024 * mebi;
constexpr std::uint64_t least_stack = 16 * kibi, most_stack = 64 * gibi, usual_stack = 8 * mebi;
constexpr std::uint64_t most_quota = 1024 * gibi;
constexpr std::uint64_t most_spin_us = 1'000'000;
constexpr std::uint64_t most_stall_ms = 60'000;
constexpr unsigned usual_spin_us = 20, usual_stall_ms = 50, usual_slice_ms = 20;

// clang-format off
constexpr option table[] = {
    {"COMITY_HARTS", option_kind::count, 1, most_harts, "",
     "as many as the process may use cores: the smaller of its affinity mask and its control groups' CPU quota, rounded up",
     "How many harts there are, that is, how many computations run at the same time. More harts than cores are allowed; "
     "they only make sense in experiments.",
     false, "--harts N",
     [](options &into, std::uint64_t n) { into.harts = static_cast<unsigned>(n); into.harts_given = true; }},
    {"COMITY_BIND", option_kind::choice, 0, 0, "none|cores|numa", "none: the kernel chooses, and changes its mind",
     "To what harts are bound: each to a core, in the machine's order (when there are more harts than cores, neighbours "
     "share one), or to a NUMA node, so that the nodes get as many harts as their share of the cores. Only cores that the "
     "process may use count. Bound harts look for work with their neighbours first.",
     false, "--bind WHAT", [](options &into, std::uint64_t n) { into.bind = static_cast<bind_choice>(n); }},
    {"COMITY_NESTED", option_kind::flag, 0, 1, "",
     "on under `comity run`, otherwise what the library that Comity stands in for does",
     "Whether parallel regions inside parallel regions run in parallel too.",
     false, "--no-nested",
     [](options &into, std::uint64_t n) { into.nested = n != 0; into.nested_given = true; }},
    {"COMITY_OWN_REGIONS", option_kind::flag, 0, 1, "", "off",
     "Whether a shared library that asks OpenMP if it is in a parallel region is told only of regions that it opened itself. "
     "Libraries that are sequential inside a program's regions then use threads there, too.",
     false, "--own-regions", [](options &into, std::uint64_t n) { into.own_regions = n != 0; }},
    {"COMITY_OMP_CHECK", option_kind::flag, 0, 1, "", "off",
     "Whether OpenMP looks for what the specification forbids: regions that may not be in each other, barriers that not all "
     "threads come to, locks that are set or unset wrongly. The first such thing ends the program with a line that names it.",
     false, nullptr, [](options &into, std::uint64_t n) { into.omp_check = n != 0; }},
    {"COMITY_POSIX", option_kind::choice, 0, 0, "auto|off|on|0|1",
     "auto: on, but for a program that makes threads and is linked with no library that computes in parallel",
     "Whether `comity run` has the program's own threads (pthread_create, std::thread, Python's) run on the harts too, as "
     "user-level threads, so that they share the cores with such libraries. Else they stay the kernel's.",
     false, "--posix, --no-posix",
     [](options &into, std::uint64_t n) {
         into.posix = n == 0 ? posix_choice::automatic : n % 2 == 1 ? posix_choice::off : posix_choice::on;
     }},
    {"COMITY_POSIX_SCHEDULER", option_kind::choice, 0, 0, "space_efficient|df_deques|work_stealing|fifo|lifo",
     "space_efficient: as the program would run without threads, so that few live at once",
     "In which order such threads run. df_deques: nearly space_efficient, for sixteen cores and more.", false, nullptr,
     [](options &into, std::uint64_t n) { into.order = static_cast<posix_order>(n); }},
    {"COMITY_POSIX_QUOTA", option_kind::size, 0, most_quota, "", "10000",
     "In the orders space_efficient and df_deques: how many bytes such a thread may allocate, in all by malloc and its like, from getting "
     "a hart until it waits for those that the program would run before it without threads. The less, the less memory, and "
     "the more switches. 0: any number.",
     false, nullptr, [](options &into, std::uint64_t n) { into.posix_quota = n; }},
    {"COMITY_POSIX_SLICE_MS", option_kind::count, 0, 3'600'000, "", "20",
     "For how many milliseconds (rounded up to tens) such a thread computes while others wait for a hart, before it gives "
     "its hart to them and goes on on a kernel thread of its own, until it waits for something. 0: as long as it likes, but "
     "for a loop that seems to wait.",
     false, nullptr, [](options &into, std::uint64_t n) { into.slice_ms = static_cast<unsigned>(n); }},
    {"COMITY_STATS", option_kind::flag, 0, 1, "", "off",
     "Prints a summary on standard error when the program ends: harts, contexts made, switches, steals, blocks, hart "
     "grants, and the largest number of runnable kernel threads seen.",
     false, "--stats", [](options &into, std::uint64_t n) { into.stats = n != 0; }},
    {"COMITY_VERBOSE", option_kind::flag, 0, 1, "", "off",
     "Says on standard error what Comity detected at its start and which libraries it serves.",
     false, "--verbose", [](options &into, std::uint64_t n) { into.verbose = n != 0; }},
    {"COMITY_STACK_SIZE", option_kind::size, least_stack, most_stack, "",
     "the soft limit of `ulimit -s`, 8 MiB when there is none",
     "Size of the stacks on which the program's own code runs, where no other size is asked for: of threads with and "
     "without storage of their own, and of OpenMP's. Memory is used only as far as a stack is touched.",
     false, nullptr, [](options &into, std::uint64_t n) { into.stack_size = n; }},
    {"COMITY_SPIN_US", option_kind::count, 0, most_spin_us, "", "20",
     "For how many microseconds an idle hart looks for work, and a thread that has a hart waits at a condition variable, "
     "before its kernel thread goes to sleep; up to five times that while sleeps prove short. An idle hart looks for up to "
     "a hundred times that, at most two milliseconds, while the machine has cores to spare.",
     false, nullptr,
     [](options &into, std::uint64_t n) { into.spin_us = static_cast<unsigned>(n); into.spin_given = true; }},
    {"COMITY_HOT_TEAMS", option_kind::flag, 0, 1, "", "on",
     "Whether the threads of a parallel region are kept for the next one, at every level of nesting. Off only makes sense in "
     "experiments.",
     false, nullptr, [](options &into, std::uint64_t n) { into.hot_teams = n != 0; }},
    {"COMITY_TEAM_TREE", option_kind::flag, 0, 1, "", "on",
     "Whether the threads of a parallel region are dealt out in halves when it starts and counted for each hart when it ends. "
     "Off they are taken and counted one by one, which only makes sense in experiments.",
     false, nullptr, [](options &into, std::uint64_t n) { into.team_tree = n != 0; }},
    {"COMITY_STALL_MS", option_kind::count, 0, most_stall_ms, "", "50",
     "After how many milliseconds without progress a parallel region's threads that have no hart go on on kernel threads of "
     "their own: those that have one may be waiting for them in a loop of the program's. 0: never.",
     false, nullptr, [](options &into, std::uint64_t n) { into.stall_ms = static_cast<unsigned>(n); }},
    {"COMITY_TLS", option_kind::choice, 0, 0, "auto|donor|glibc", "auto: what the self-test at the start finds best",
     "Where the thread-local storage of full contexts comes from: `donor` borrows that of sleeping kernel threads, "
     "`glibc` takes it from the C library's allocator.",
     false, nullptr, [](options &into, std::uint64_t n) { into.tls = static_cast<tls_choice>(n); }},
    {"COMITY_TLS_THREADS", option_kind::count, 0, 1'000'000, "", "1000, or a quarter of what is allowed",
     "How many kernel threads sleep at most because their thread-local storage is borrowed. Further full contexts have a kernel "
     "thread only while they sleep in the kernel or have lost their hart; it is started for that.",
     false, nullptr, [](options &into, std::uint64_t n) { into.tls_threads = static_cast<unsigned>(n); }},
    {"COMITY_CHAOS", option_kind::count, 0, UINT64_MAX, "", "0: off",
     "Seed of the chaos scheduler for tests: random steals, delays and migrations, repeatable as far as the kernel allows.",
     false, nullptr, [](options &into, std::uint64_t n) { into.chaos = n; }},
    {"COMITY_RUN", option_kind::flag, 0, 1, "", "off",
     "Tells the libraries that `comity run` started the program.",
     true, nullptr, [](options &into, std::uint64_t n) { into.run = n != 0; }},
    {"COMITY_RUN_PROCESS", option_kind::count, 0, INT32_MAX, "", "none",
     "The process that `comity run` became: with COMITY_STATS it says, too, that Comity was not used.",
     true, nullptr, [](options &into, std::uint64_t n) { into.run_process = static_cast<int>(n); }},
};
// clang-format on

// The words of `list`, parted by '|': the position of `text`, or -1.
int find_word(const char *list, const char *text) noexcept {
    const std::size_t length = std::strlen(text);
    for (int position = 0;; ++position) {
        const char *end = std::strchr(list, '|');
        const std::size_t word = end ? static_cast<std::size_t>(end - list) : std::strlen(list);
        if (word == length && std::strncmp(list, text, length) == 0) return position;
        if (!end) return -1;
        list = end + 1;
    }
}

// Decimal digits, for sizes followed by K, M or G (either case, B or iB may follow). Nothing else, no blanks, no sign.
bool parse_number(const char *text, bool is_size, std::uint64_t &number) noexcept {
    if (*text < '0' || *text > '9') return false;
    std::uint64_t value = 0;
    for (; *text >= '0' && *text <= '9'; ++text)
        if (__builtin_mul_overflow(value, std::uint64_t{10}, &value) ||
            __builtin_add_overflow(value, static_cast<std::uint64_t>(*text - '0'), &value))
            return false;
    if (is_size && *text) {
        const char letter[] = {*text, '\0'};
        const int unit = find_word("k|K|m|M|g|G", letter);
        if (unit < 0 || __builtin_mul_overflow(value, std::uint64_t{1} << (unit / 2 * 10 + 10), &value)) return false;
        ++text;
        if (std::strcmp(text, "B") == 0 || std::strcmp(text, "iB") == 0) text = "";
    }
    number = value;
    return *text == '\0';
}

// What stands there when nothing is asked for.
std::size_t standard_stack_size() noexcept {
    rlimit limit{};
    if (::getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return usual_stack;
    if (limit.rlim_cur < least_stack) return least_stack;
    return limit.rlim_cur < most_stack ? limit.rlim_cur : usual_stack;
}

// A value as a message may show it: cut, and without characters that would upset a terminal.
void make_printable(const char *text, char *buffer, std::size_t size) noexcept {
    std::size_t n = 0;
    for (; text[n] && n + 4 < size; ++n) {
        const auto c = static_cast<unsigned char>(text[n]);
        buffer[n] = c < ' ' || c == 127 ? '?' : static_cast<char>(c);
    }
    std::memcpy(buffer + n, text[n] ? "..." : "", text[n] ? 4 : 1);
}

void complain(const option &row, const char *text, unsigned cores, report_function report, void *data) noexcept {
    char shown[68];
    char allowed[128];
    char line[768];
    char instead[160];
    make_printable(text, shown, sizeof shown);
    describe_allowed(row, allowed, sizeof allowed);
    if (std::strcmp(row.variable, "COMITY_HARTS") == 0)
        format_text(instead, sizeof instead, "%u (detected)", cores);
    else
        format_text(instead, sizeof instead, "the default (%s)", row.standard);
    format_text(line, sizeof line, "%s=\"%s\": not %s; using %s", row.variable, shown, allowed, instead);
    report(row, line, data);
}

const char *from_environment(const char *variable, void *) { return environment_value(variable); }
const char *from_nowhere(const char *, void *) { return nullptr; }
void report_on_standard_error(const option &, const char *complaint, void *) { warn("%s", complaint); }

} // namespace

option_table get_option_table() noexcept { return {table, sizeof table / sizeof *table}; }

bool parse_option(const option &row, const char *text, std::uint64_t &number) noexcept {
    switch (row.kind) {
    case option_kind::count:
    case option_kind::size:
        return parse_number(text, row.kind == option_kind::size, number) && number >= row.least && number <= row.most;
    case option_kind::flag: {
        const int position = find_word("0|1|no|yes|off|on|false|true", text);
        number = position & 1;
        return position >= 0;
    }
    case option_kind::choice: {
        const int position = find_word(row.values, text);
        number = static_cast<std::uint64_t>(position);
        return position >= 0;
    }
    }
    return false;
}

std::size_t describe_allowed(const option &row, char *buffer, std::size_t size) noexcept {
    const auto least = static_cast<unsigned long long>(row.least);
    const auto most = static_cast<unsigned long long>(row.most);
    switch (row.kind) {
    case option_kind::count:
        return format_text(buffer, size, "a whole number from %llu to %llu", least, most);
    case option_kind::size:
        return format_text(buffer, size, "a size from %lluK to %lluG (in bytes, or with K, M or G)", least / kibi,
                           most / gibi);
    case option_kind::flag:
        return format_text(buffer, size, "0 or 1");
    case option_kind::choice: {
        std::size_t length = format_text(buffer, size, "one of ");
        for (const char *c = row.values; *c && length + 3 < size; ++c)
            length += format_text(buffer + length, size - length, *c == '|' ? ", " : "%c", *c);
        return length;
    }
    }
    return 0;
}

options parse_options(look_up_function look_up, report_function report, void *data, unsigned cores) noexcept {
    options result;
    result.harts = cores;
    result.spin_us = usual_spin_us;
    result.stall_ms = usual_stall_ms;
    result.slice_ms = usual_slice_ms;
    result.stack_size = standard_stack_size();
    for (const option &row : table) {
        const char *text = look_up(row.variable, data);
        if (!text || !*text) continue;
        std::uint64_t number = 0;
        if (parse_option(row, text, number))
            row.apply(result, number);
        else
            complain(row, text, cores, report, data);
    }
    if (!result.nested_given) result.nested = result.run;
    return result;
}

options options_of_environment() noexcept {
    return parse_options(
        from_environment, [](const option &, const char *, void *) {}, nullptr, 1);
}

namespace {

unsigned count_cores(unsigned affinity) noexcept {
    cpu_limits limits = get_cpu_limits();
    if (affinity != 0) limits.affinity = affinity;
    return std::min<unsigned>(limits.usable(), most_harts);
}

// What is read when a process starts. The affinity mask is, since the program may change its first thread's afterwards;
// control groups' quotas, which stand in files, wait until somebody asks for harts.
struct read_at_start {
    options given;     // `harts` is 0 where the variable does not say it
    unsigned affinity; // as in cpu_limits
};

const read_at_start &at_start() noexcept {
    return made_once([] {
        const look_up_function look_up = ::getauxval(AT_SECURE) ? from_nowhere : from_environment;
        const unsigned affinity = count_affinity(static_cast<int>(::getpid()));
        // To say what counts instead of a value that is not allowed.
        const unsigned cores = look_up("COMITY_HARTS", nullptr) ? count_cores(affinity) : 0;
        const options given = parse_options(look_up, report_on_standard_error, nullptr, cores);
        if (look_up == from_environment && !given.run) // `comity run` has looked itself
            find_misspelt(::environ, report_on_standard_error, nullptr);
        return read_at_start{given, affinity};
    });
}

} // namespace

const options &get_options() noexcept { return at_start().given; }

const cpu_limits &get_cpu_limits() noexcept {
    return made_once([] { return read_cpu_limits(); });
}

unsigned number_of_harts() noexcept {
    const unsigned given = get_options().harts;
    return given != 0 ? given : made_once([] { return count_cores(at_start().affinity); });
}

} // namespace comity::sys
