#include "machine.hpp"

#include <cstdlib>

#include <gnu/libc-version.h>
#include <linux/membarrier.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <fmt/format.h>

#include "requirements.hpp"
#include "sys/text_file.hpp"

namespace comity::cli {
namespace {

void examine_tls(machine_report &machine) {
#if defined(__x86_64__)
    constexpr unsigned long fsgsbase = 1UL << 1; // HWCAP2_FSGSBASE
    machine.has_fast_tls_switch = ::getauxval(AT_HWCAP2) & fsgsbase;
    machine.tls_switch = machine.has_fast_tls_switch
                             ? "wrfsbase (FSGSBASE)"
                             : "arch_prctl, a system call: no FSGSBASE (CPU, or Linux before 5.9)";
#else
    machine.has_fast_tls_switch = true;
    machine.tls_switch = "tpidr_el0";
#endif
}

bool has_membarrier() {
    const long known = ::syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);
    return known > 0 && (known & MEMBARRIER_CMD_PRIVATE_EXPEDITED);
}

void examine_environment(machine_report &machine) {
    const sys::report_function complain = [](const sys::option &, const char *complaint, void *data) {
        static_cast<machine_report *>(data)->complaints.emplace_back(complaint);
    };
    machine.options =
        sys::parse_options([](const char *variable, void *) -> const char * { return std::getenv(variable); }, complain,
                           &machine, machine.cpus.usable());
    sys::find_misspelt(::environ, complain, &machine);
}

void find_problems(machine_report &machine) {
    if (const std::string obstacle = find_system_obstacle(); !obstacle.empty()) machine.problems.push_back(obstacle);
    if (machine.here.folder.empty())
        machine.problems.push_back(
            fmt::format("the drop-ins are missing; looked in {}", fmt::join(machine.here.looked_in, ", ")));
    for (const std::string &name : machine.here.missing)
        machine.problems.push_back(fmt::format("{} is missing in {}", name, machine.here.folder));
}

} // namespace

machine_report examine_machine() {
    machine_report machine;
    machine.cpus = sys::read_cpu_limits();
    machine.here = find_installation();
    examine_environment(machine);
    examine_tls(machine);
    utsname kernel{};
    if (::uname(&kernel) == 0) machine.kernel = fmt::format("{} {}", kernel.sysname, kernel.release);
    machine.c_library = fmt::format("glibc {}", ::gnu_get_libc_version());
    machine.has_membarrier = has_membarrier();
    machine.guard = sys::available_guard();
    sys::read_number_file("/proc/sys/vm/max_map_count", machine.most_mappings);
    find_problems(machine);
    return machine;
}

std::string explain_harts(const machine_report &machine) {
    if (machine.options.harts_given) return "COMITY_HARTS";
    const sys::cpu_limits &cpus = machine.cpus;
    const unsigned cores = cpus.affinity ? cpus.affinity : cpus.online;
    if (cpus.quota_thousandths && (cpus.quota_thousandths + 999) / 1000 < cores)
        return cpus.quota_thousandths % 1000 ? "the CPU quota, rounded up" : "the CPU quota";
    if (cpus.affinity && cpus.affinity < cpus.online) return "the affinity mask";
    return "one a core";
}

} // namespace comity::cli
