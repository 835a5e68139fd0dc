#include "personality/openmp/affinity_format.hpp"
#include "personality/openmp/environment.hpp"
#include "personality/openmp/places.hpp"
#include "sys/message.hpp"

#include <cstdarg>
#include <vector>

namespace comity::openmp {

namespace {

// A line of any length, in pieces of at most 255 characters.
class line {
public:
    line() noexcept { text_.reserve(128); }
    void add(const char *format, ...) noexcept __attribute__((format(printf, 2, 3))) {
        char piece[256];
        std::va_list values;
        va_start(values, format);
        const std::size_t length = sys::format_text_list(piece, sizeof piece, format, values);
        va_end(values);
        text_.insert(text_.end(), piece, piece + length);
    }
    void print() noexcept {
        text_.push_back('\n');
        sys::write_error(text_.data(), text_.size());
    }

private:
    std::vector<char> text_;
};

template <class... Values> void print_line(const char *format, Values... values) noexcept {
    line l;
    l.add(format, values...);
    l.print();
}
void print_text(const char *name, const char *value) noexcept {
    line l;
    l.add("  [host] %s = '", name);
    l.add("%s", value);
    l.add("'");
    l.print();
}

const char *truth(bool value) noexcept { return value ? "TRUE" : "FALSE"; }

void print_num_threads() noexcept {
    line l;
    l.add("  [host] OMP_NUM_THREADS = '");
    if (process.num_threads_listed == 0)
        l.add("%u", process.initial.num_threads ? process.initial.num_threads : hart_count());
    for (unsigned i = 0; i < process.num_threads_listed; ++i) l.add(i ? ",%u" : "%u", process.num_threads[i]);
    l.add("'");
    l.print();
}

// '{0,1},{2,3}', each place's processors one by one.
void print_places() noexcept {
    line l;
    l.add("  [host] OMP_PLACES = '");
    const char *before = "{";
    for (const sys::cpu_set &place : places()) {
        for (int cpu = place.next(); cpu >= 0; cpu = place.next(cpu + 1)) {
            l.add("%s%d", before, cpu);
            before = ",";
        }
        l.add("}");
        before = ",{";
    }
    l.add("'");
    l.print();
}

void print_bind() noexcept {
    static constexpr const char *kinds[] = {"FALSE", "TRUE", "PRIMARY", "CLOSE", "SPREAD", "UNSET"};
    line l;
    l.add("  [host] OMP_PROC_BIND = '%s", kinds[process.initial.bind]);
    for (unsigned i = 1; i < process.bind_listed; ++i) l.add(",%s", kinds[process.bind[i]]);
    l.add("'");
    l.print();
}

} // namespace

void display_environment(bool verbose) noexcept {
    static constexpr const char *schedules[] = {"", "STATIC", "DYNAMIC", "GUIDED", "AUTO"};
    const icvs &icv = process.initial;
    print_line("\nOPENMP DISPLAY ENVIRONMENT BEGIN");
    print_line("  _OPENMP = '201511'");
    print_line("  [host] OMP_DYNAMIC = '%s'", truth(icv.dynamic));
    print_line("  [host] OMP_NESTED = '%s'", truth(icv.max_active_levels > 1));
    print_num_threads();
    if (icv.chunk)
        print_line("  [host] OMP_SCHEDULE = '%s%s,%d'", icv.monotonic || icv.implicitly_monotonic ? "MONOTONIC:" : "",
                   schedules[static_cast<unsigned>(icv.schedule)], icv.chunk);
    else
        print_line("  [host] OMP_SCHEDULE = '%s'", schedules[static_cast<unsigned>(icv.schedule)]);
    print_bind();
    print_places();
    print_line("  [host] OMP_STACKSIZE = '%llu'", static_cast<unsigned long long>(process.stack_size));
    print_line("  [host] OMP_WAIT_POLICY = '%s'",
               process.wait_policy == process_icvs::wait::active ? "ACTIVE" : "PASSIVE");
    print_line("  [host] OMP_THREAD_LIMIT = '%u'", icv.thread_limit);
    print_line("  [host] OMP_MAX_ACTIVE_LEVELS = '%u'", static_cast<unsigned>(icv.max_active_levels));
    print_line("  [host] OMP_NUM_TEAMS = '%d'", process.num_teams.load(std::memory_order_relaxed));
    print_line("  [host] OMP_TEAMS_THREAD_LIMIT = '%d'", process.teams_thread_limit.load(std::memory_order_relaxed));
    print_line("  [host] OMP_CANCELLATION = '%s'", truth(process.cancellation));
    print_line("  [host] OMP_DEFAULT_DEVICE = '%d'", icv.default_device);
    print_line("  [host] OMP_MAX_TASK_PRIORITY = '%d'", process.max_task_priority);
    print_line("  [host] OMP_DISPLAY_AFFINITY = '%s'", truth(process.display_affinity));
    print_text("OMP_AFFINITY_FORMAT", affinity_format(gcc_abi.affinity_format));
    if (verbose) print_line("  [host] COMITY_HARTS = '%u'", hart_count());
    print_line("OPENMP DISPLAY ENVIRONMENT END");
}

} // namespace comity::openmp
