// What `comity doctor` finds out about the machine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "installation.hpp"
#include "sys/cpu_limits.hpp"
#include "sys/memory.hpp"
#include "sys/options.hpp"

namespace comity::cli {

struct machine_report {
    sys::cpu_limits cpus;
    sys::options options;                // what a program started now would read
    std::vector<std::string> complaints; // about bad values in the environment
    std::string kernel, c_library;
    std::string tls_switch; // how a hart changes the thread-local storage
    bool has_fast_tls_switch = false;
    bool has_membarrier = false;
    sys::guard_kind guard = sys::guard_kind::none;
    std::int64_t most_mappings = 0; // vm.max_map_count; 0: unknown
    installation here;
    std::vector<std::string> problems; // what keeps Comity from working here
};

machine_report examine_machine();

// "4 cores", "half a core is rounded up": why there are as many harts as there are.
std::string explain_harts(const machine_report &machine);

} // namespace comity::cli
