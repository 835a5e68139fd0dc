// How many cores this process may use. Any thread, not in a signal handler; never switches; does not allocate.
#pragma once

namespace comity::sys {

// What limits the process, as read once; 0 in a field means that nothing is known of it or that it sets no limit.
struct cpu_limits {
    unsigned online = 0;            // cores that the machine has switched on
    unsigned affinity = 0;          // cores in the affinity mask of the process' first thread (taskset, cpusets)
    unsigned quota_thousandths = 0; // cores' worth of time that the tightest control group allows: 500 is half a core
    char quota_folder[512] = "";    // the control group's folder that sets the quota, for messages; may be cut

    // min(affinity, quota rounded up), at least 1: a quota of half a core is one hart.
    unsigned usable() const noexcept;
};

// Reads the limits. `root` stands before /proc and /sys, for tests with files of their own; with a root the affinity
// mask is still that of this process. Missing or unreadable files mean no limit: containers often hide them.
cpu_limits read_cpu_limits(const char *root = "") noexcept;

// The parts, for tests and `comity doctor`. The quota is that of the tightest control group from the process' own up to
// the hierarchy's mount point, over version 1, version 2 and both at once.
unsigned count_affinity(int thread_id) noexcept;
unsigned count_online(const char *root) noexcept;
void read_cgroup_quota(const char *root, cpu_limits &limits) noexcept;

} // namespace comity::sys
