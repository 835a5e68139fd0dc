#include "personality/openmp/affinity_format.hpp"
#include "personality/openmp/environment.hpp"
#include "personality/openmp/places.hpp"
#include "sys/message.hpp"
#include "sys/options.hpp"

#include <cstdarg>
#include <cstdlib>
#include <iterator>
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
    if constexpr (sizeof...(values) == 0)
        l.add("%s", format); // plain text
    else
        l.add(format, values...);
    l.print();
}
const char *truth(bool value) noexcept { return value ? "TRUE" : "FALSE"; }
constexpr const char *offloads[] = {"DISABLED", "DEFAULT", "MANDATORY"};
const char *wait_policy() noexcept { return process.wait_policy == process_icvs::wait::active ? "ACTIVE" : "PASSIVE"; }

struct schedule_set {
    schedule_kind kind;
    int chunk;
    bool is_monotonic, is_nonmonotonic; // said to be
};
schedule_set schedule_of(const abi_traits &abi) noexcept {
    const icvs &icv = process.initial;
    if (!icv.schedule_given) return {abi.runtime_schedule, abi.runtime_chunk, false, false};
    const bool fixed = icv.schedule == schedule_kind::fixed;
    return {icv.schedule, icv.chunk, icv.monotonic, fixed && !icv.monotonic && !icv.implicitly_monotonic};
}

// '3,2'; of OMP_PLACES '{0,1},{2,3}', each place's processors one by one.
void add_num_threads(line &l) noexcept {
    for (unsigned i = 0; i < process.num_threads_listed; ++i) l.add(i ? ",%u" : "%u", process.num_threads[i]);
}
void add_places(line &l) noexcept {
    const char *before = "{";
    for (const sys::cpu_set &place : places()) {
        for (int cpu = place.next(); cpu >= 0; cpu = place.next(cpu + 1)) {
            l.add("%s%d", before, cpu);
            before = ",";
        }
        l.add("}");
        before = ",{";
    }
}
void add_bind(line &l, const char *const (&kinds)[6]) noexcept {
    l.add("%s", kinds[process.initial.bind]);
    for (unsigned i = 1; i < process.bind_listed; ++i) l.add(",%s", kinds[process.bind[i]]);
}
void add_allocator(line &l) noexcept {
    static constexpr const char *names[] = {"default", "large_cap", "const", "high_bw",
                                            "low_lat", "cgroup",    "pteam", "thread"};
    const std::uintptr_t allocator = process.initial.allocator;
    const char *text = look_up("OMP_ALLOCATOR");
    if (allocator - 1 < std::size(names))
        l.add("omp_%s_mem_alloc", names[allocator - 1]);
    else
        l.add("%s", text ? text : "");
}

// A line of the list: NAME = 'VALUE', or as LLVM's library writes it.
template <class Add> void print_value(const abi_traits &abi, const char *name, Add add) noexcept {
    line l;
    l.add(abi.displays_as_llvm ? "  [host] %s='" : "  %s = '", name);
    add(l);
    l.add("'");
    l.print();
}

void display_as_gcc(bool verbose) noexcept {
    static constexpr const char *schedules[] = {"", "STATIC", "DYNAMIC", "GUIDED", "AUTO"};
    static constexpr const char *binds[] = {"FALSE", "TRUE", "PRIMARY", "CLOSE", "SPREAD", "UNSET"};
    const icvs &icv = process.initial;
    print_line("  _OPENMP = '%u'", gcc_abi.standard);
    print_line("  OMP_DYNAMIC = '%s'", truth(icv.dynamic));
    print_line("  OMP_NESTED = '%s'", truth(icv.max_active_levels > 1));
    print_value(gcc_abi, "OMP_NUM_THREADS", [&](line &l) {
        if (process.num_threads_listed)
            add_num_threads(l);
        else
            l.add("%u", icv.num_threads ? icv.num_threads : hart_count());
    });
    print_value(gcc_abi, "OMP_SCHEDULE", [](line &l) {
        const schedule_set set = schedule_of(gcc_abi);
        const bool fixed = set.kind == schedule_kind::fixed;
        l.add("%s%s",
              fixed              ? set.is_nonmonotonic ? "NONMONOTONIC:" : ""
              : set.is_monotonic ? "MONOTONIC:"
                                 : "",
              schedules[static_cast<unsigned>(set.kind)]);
        if (set.kind != schedule_kind::automatic && set.chunk != !fixed) l.add(",%d", set.chunk);
    });
    print_value(gcc_abi, "OMP_PROC_BIND", [](line &l) { add_bind(l, binds); });
    print_value(gcc_abi, "OMP_PLACES", add_places);
    print_line("  OMP_STACKSIZE = '%llu'", static_cast<unsigned long long>(process.stack_size));
    print_line("  OMP_WAIT_POLICY = '%s'", wait_policy());
    print_line("  OMP_THREAD_LIMIT = '%u'", icv.thread_limit);
    print_line("  OMP_MAX_ACTIVE_LEVELS = '%u'", static_cast<unsigned>(icv.max_active_levels));
    print_line("  OMP_NUM_TEAMS = '%d'", process.num_teams.load(std::memory_order_relaxed));
    print_line("  OMP_TEAMS_THREAD_LIMIT = '%d'", process.teams_thread_limit.load(std::memory_order_relaxed));
    print_line("  OMP_CANCELLATION = '%s'", truth(process.cancellation));
    print_line("  OMP_DEFAULT_DEVICE = '%d'", icv.default_device);
    print_line("  OMP_MAX_TASK_PRIORITY = '%d'", process.max_task_priority);
    print_line("  OMP_DISPLAY_AFFINITY = '%s'", truth(process.display_affinity));
    print_value(gcc_abi, "OMP_AFFINITY_FORMAT", [](line &l) { l.add("%s", affinity_format(gcc_abi.affinity_format)); });
    print_value(gcc_abi, "OMP_ALLOCATOR", add_allocator);
    print_line("  OMP_TARGET_OFFLOAD = '%s'", offloads[static_cast<unsigned>(process.target_offload)]);
    if (!verbose) return;
    const char *cpus = look_up("GOMP_CPU_AFFINITY"), *looks = look_up("GOMP_SPINCOUNT");
    print_line("  GOMP_CPU_AFFINITY = '%s'", cpus ? cpus : "");
    print_line("  GOMP_STACKSIZE = '%llu'", static_cast<unsigned long long>(process.stack_size));
    print_line("  GOMP_SPINCOUNT = '%s'", looks ? looks : "");
    print_line("  COMITY_HARTS = '%u'", hart_count());
}

template <class Add> void print_or_undefined(bool is_defined, const char *name, Add add) noexcept {
    if (is_defined)
        print_value(llvm_abi, name, add);
    else
        print_line("  [host] %s: value is not defined", name);
}
void print_text(const char *name) noexcept {
    const char *text = look_up(name);
    print_or_undefined(text, name, [&](line &l) { l.add("%s", text); });
}
void print_number(const char *name, long value) noexcept {
    print_value(llvm_abi, name, [&](line &l) { l.add("%ld", value); });
}
void print_word(const char *name, const char *word) noexcept {
    print_value(llvm_abi, name, [&](line &l) { l.add("%s", word); });
}

// 8M, 3000k, 12345
void print_size(const char *name, std::uint64_t bytes) noexcept {
    static constexpr const char *units[] = {"", "k", "M", "G"};
    unsigned unit = 0;
    for (; unit < 3 && bytes >= 1024 && bytes % 1024 == 0; ++unit) bytes /= 1024;
    print_value(llvm_abi, name, [&](line &l) { l.add("%llu%s", static_cast<unsigned long long>(bytes), units[unit]); });
}

// Of its own variables those that have an effect here.
void display_kmp() noexcept {
    static constexpr const char *libraries[] = {"", "serial", "turnaround", "throughput"};
    static constexpr const char *binds[] = {"", "", "primary", "close", "spread"};
    print_number("COMITY_HARTS", hart_count());
    print_or_undefined(process.spin_us >= 0, "KMP_BLOCKTIME", [](line &l) {
        if (process.spin_us == longest_spin_us)
            l.add("infinite");
        else
            l.add("%dus", process.spin_us);
    });
    print_word("KMP_INHERIT_FP_CONTROL", truth(process.inherits_modes));
    print_word("KMP_LIBRARY", libraries[static_cast<unsigned>(process.library)]);
    print_word("KMP_TEAMS_PROC_BIND", binds[process.teams_bind]);
}

// In its order, that of the alphabet.
void display_as_llvm(bool verbose) noexcept {
    static constexpr const char *schedules[] = {"", "static", "dynamic", "guided", "auto"};
    static constexpr const char *binds[] = {"false", "true", "primary", "close", "spread", "unset"};
    const icvs &icv = process.initial;
    print_line("   _OPENMP='%u'", llvm_abi.standard);
    if (verbose) display_kmp();
    print_value(llvm_abi, "OMP_AFFINITY_FORMAT",
                [](line &l) { l.add("%s", affinity_format(llvm_abi.affinity_format)); });
    print_value(llvm_abi, "OMP_ALLOCATOR", add_allocator);
    print_word("OMP_CANCELLATION", truth(process.cancellation));
    print_number("OMP_DEFAULT_DEVICE", icv.default_device);
    print_word("OMP_DISPLAY_AFFINITY", truth(process.display_affinity));
    print_word("OMP_DISPLAY_ENV", verbose ? "VERBOSE" : "TRUE");
    print_word("OMP_DYNAMIC", truth(icv.dynamic));
    print_number("OMP_MAX_ACTIVE_LEVELS", icv.max_active_levels);
    print_number("OMP_MAX_TASK_PRIORITY", process.max_task_priority);
    print_line("  [host] OMP_NESTED: deprecated; max-active-levels-var=%u",
               static_cast<unsigned>(icv.max_active_levels));
    print_number("OMP_NUM_TEAMS", process.num_teams.load(std::memory_order_relaxed));
    print_or_undefined(process.num_threads_listed, "OMP_NUM_THREADS", add_num_threads);
    print_or_undefined(!places().empty(), "OMP_PLACES", add_places);
    print_value(llvm_abi, "OMP_PROC_BIND", [](line &l) { add_bind(l, binds); });
    print_value(llvm_abi, "OMP_SCHEDULE", [](line &l) {
        const schedule_set set = schedule_of(llvm_abi);
        l.add("%s%s",
              set.is_monotonic      ? "monotonic:"
              : set.is_nonmonotonic ? "nonmonotonic:"
                                    : "",
              schedules[static_cast<unsigned>(set.kind)]);
        if (set.kind != schedule_kind::automatic && set.chunk != (set.kind != schedule_kind::fixed))
            l.add(",%d", set.chunk);
    });
    print_size("OMP_STACKSIZE", process.stack_size ? process.stack_size : sys::get_options().stack_size);
    print_line("  [host] OMP_TARGET_OFFLOAD=%s", offloads[static_cast<unsigned>(process.target_offload)]);
    print_number("OMP_TEAMS_THREAD_LIMIT", process.teams_thread_limit.load(std::memory_order_relaxed));
    print_number("OMP_THREAD_LIMIT", icv.thread_limit);
    const char *tool = look_up("OMP_TOOL");
    print_word("OMP_TOOL", tool ? tool : "enabled");
    print_text("OMP_TOOL_LIBRARIES");
    print_text("OMP_TOOL_VERBOSE_INIT");
    print_word("OMP_WAIT_POLICY", wait_policy());
}

} // namespace

void display_environment(const abi_traits &abi, bool verbose) noexcept {
    print_line("\nOPENMP DISPLAY ENVIRONMENT BEGIN");
    if (abi.displays_as_llvm)
        display_as_llvm(verbose);
    else
        display_as_gcc(verbose);
    print_line("OPENMP DISPLAY ENVIRONMENT END");
}

} // namespace comity::openmp
