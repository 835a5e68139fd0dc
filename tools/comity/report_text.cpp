#include "report.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "comity/version.h"
#include "sys/topology.hpp"

namespace comity::cli {
namespace {

void line(const char *name, const std::string &value) { fmt::print("  {:<14} {}\n", name, value); }

std::string count(std::uint64_t number, const char *one, const char *many) {
    return fmt::format("{} {}", number, number == 1 ? one : many);
}

std::string describe_cores(const machine_report &machine) {
    const auto &cpus = machine.cpus;
    std::string text = cpus.online ? fmt::format("{} online", cpus.online) : "number unknown";
    return text + (cpus.affinity ? fmt::format(", {} in the affinity mask", cpus.affinity) : ", affinity mask unknown");
}

std::string describe_quota(const machine_report &machine) {
    if (!machine.cpus.quota_thousandths) return "none";
    return fmt::format("{:g} cores, by {}", machine.cpus.quota_thousandths / 1000.0, machine.cpus.quota_folder);
}

std::string describe_topology() {
    const sys::topology &t = sys::machine();
    return fmt::format("{}, {}, {}, {} ({})", count(t.count(sys::part::core), "core", "cores"),
                       count(t.count(sys::part::last_cache), "last-level cache", "last-level caches"),
                       count(t.count(sys::part::numa_node), "NUMA node", "NUMA nodes"),
                       count(t.count(sys::part::socket), "socket", "sockets"), t.source());
}

std::string describe_binding(const machine_report &machine) {
    constexpr unsigned most_shown = 16;
    const unsigned n = machine.options.harts;
    if (machine.options.bind == sys::bind_choice::none) return "none (COMITY_BIND)";
    std::string text = machine.options.bind == sys::bind_choice::cores ? "cores:" : "NUMA nodes:";
    for (unsigned i = 0; i < n && i < most_shown; ++i) {
        const sys::cpu_set cpus = sys::cpus_for(sys::machine(), machine.options.bind, i, n);
        text += fmt::format("{} hart {} on CPU ", i ? ";" : "", i);
        for (int cpu = cpus.next(); cpu >= 0; cpu = cpus.next(cpu + 1))
            text += fmt::format("{}{}", cpu == cpus.next() ? "" : ",", cpu);
    }
    return n > most_shown ? text + "; …" : text;
}

std::string describe_guards(const machine_report &machine) {
    switch (machine.guard) {
    case sys::guard_kind::light:
        return "light (MADV_GUARD_INSTALL): any number of stacks";
    case sys::guard_kind::mapping:
        return fmt::format("by mprotect: at most {} stacks have one (a quarter of vm.max_map_count = {}); Linux 6.13 "
                           "knows a lighter kind",
                           machine.most_mappings / 4, machine.most_mappings);
    case sys::guard_kind::none:
    case sys::guard_kind::group: // of stacks from the pool only
    case sys::guard_kind::canary:
        break;
    }
    return "none: no memory, or the limit of mappings is reached";
}

std::string describe_tls_provider(const machine_report &machine) {
    switch (machine.options.tls) {
    case sys::tls_choice::donor:
        return "donor (COMITY_TLS)";
    case sys::tls_choice::glibc:
        return "glibc (COMITY_TLS)";
    case sys::tls_choice::automatic:
        break;
    }
    return "chosen by the self-test when a program starts; `comity run --verbose` shows it";
}

void print_machine(const machine_report &machine) {
    fmt::print("Comity {}, {}\n\nMachine\n", comity_version(), machine.here.program);
    line("cores", describe_cores(machine));
    line("CPU quota", describe_quota(machine));
    line("harts", fmt::format("{} ({})", machine.options.harts, explain_harts(machine)));
    line("topology", describe_topology());
    line("binding", describe_binding(machine));
    line("kernel", machine.kernel);
    line("C library", machine.c_library);
    line("TLS switch", machine.tls_switch);
    line("TLS provider", describe_tls_provider(machine));
    line("membarrier", machine.has_membarrier ? "yes" : "no");
    line("stack guards", describe_guards(machine));
    line("drop-ins", machine.here.folder.empty()
                         ? "not found"
                         : fmt::format("{} ({})", machine.here.folder, fmt::join(drop_in_names(), ", ")));
    for (const std::string &complaint : machine.complaints) line("environment", complaint);
    for (const std::string &problem : machine.problems) line("PROBLEM", problem);
}

// One paragraph a kind, in the order of the verdicts, with the files of that kind under it.
void print_runtimes(std::vector<runtime> runtimes) {
    fmt::print("\n{}\n", runtimes.empty() ? "No parallel library found."
                                          : "Parallel libraries, and what Comity does with them under `comity run`");
    std::ranges::stable_sort(runtimes, {}, [](const runtime &r) { return std::pair(r.what, r.kind); });
    const runtime *before = nullptr;
    for (const runtime &found : runtimes) {
        if (!before || before->kind != found.kind)
            fmt::print("  {:<14} {}: {}\n", verdict_name(found.what), found.kind, found.explanation);
        fmt::print("  {:<14}   {}\n", "", found.path);
        before = &found;
    }
}

void print_program(const program_report &program) {
    fmt::print("\n{} {}\n", program.pid ? "Process" : "Program", program.name);
    if (!program.problem.empty()) return line("PROBLEM", program.problem);
    line("file", program.path);
    for (const std::string &interpreter : program.interpreters) line("interpreter", interpreter);
    if (program.pid) {
        line("threads", fmt::format("{}, on {}", program.threads, count(program.affinity, "core", "cores")));
        line("Comity",
             program.is_under_comity ? "is loaded" : "is not loaded: the process was not started by `comity run`");
    }
    if (!program.obstacle.empty()) line("Comity", "stands aside: the program " + program.obstacle);
    for (const std::string &name : program.missing_libraries) line("PROBLEM", "library not found: " + name);
    print_runtimes(program.runtimes);
    for (const std::string &note : program.notes) fmt::print("\nNote: {}\n", note);
}

} // namespace

void print_text(const machine_report &machine, const std::optional<program_report> &program) {
    print_machine(machine);
    if (program) print_program(*program);
}

} // namespace comity::cli
