// What lies near what on this machine: the CPUs that the process may use, and which of them share a core, a cache, a
// NUMA node or a socket. Read by hwloc (topology_hwloc.cpp) or, where that is not to be had, from /sys.
#pragma once

#include "sys/cpu_set.hpp"
#include "sys/options.hpp"
#include "sys/shared.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace comity::sys {

// Parts of the machine, the nearer first.
enum class part : std::uint8_t { core, l2_cache, last_cache, numa_node, socket };
inline constexpr std::size_t parts = 5;

// A CPU and the parts that it belongs to, each numbered from 0 in the order in which the processors stand. Where the
// machine has no such part (no cache of the second level), there is one that holds all of them.
struct processor {
    int cpu = 0;        // the kernel's number
    int in[parts] = {}; // by `part`
    int where(part p) const noexcept { return in[static_cast<std::size_t>(p)]; }
};

// The processors in such an order that those that share a part stand side by side.
class topology {
public:
    unsigned size() const noexcept { return size_; }
    const processor &operator[](unsigned i) const noexcept { return processors_[i]; }
    const processor *begin() const noexcept { return processors_.get(); }
    const processor *end() const noexcept { return processors_.get() + size_; }
    // The one with this number of the kernel's; null: the process may not use it.
    COMITY_SHARED const processor *find(int cpu) const noexcept;
    // How many parts of a kind there are: at least 1.
    unsigned count(part p) const noexcept { return counts_[static_cast<std::size_t>(p)]; }
    // The CPUs of one part.
    COMITY_SHARED cpu_set cpus_of(part p, int number) const noexcept;
    // Who read it: "hwloc" or "sysfs"; "none": nobody could, and nothing is known but the CPUs.
    const char *source() const noexcept { return source_; }
    // False: it describes another machine (HWLOC_SYNTHETIC, HWLOC_XMLFILE), so nothing can be bound to its CPUs.
    bool is_this_machine() const noexcept { return is_this_machine_; }

    // For readers. n >= 1 processors whose `in` are any numbers, the same for those that share a part, already in
    // order: numbers them anew.
    topology(std::unique_ptr<processor[]> processors, unsigned n, const char *source, bool is_this_machine) noexcept;
    topology(topology &&) noexcept = default;

private:
    std::unique_ptr<processor[]> processors_;
    unsigned size_;
    unsigned counts_[parts];
    const char *source_;
    bool is_this_machine_;
};

// The machine's, read by the first call, with those CPUs only that the process may use (process_cpus). Any thread, not
// in a signal handler; never switches. Allocates from the heap, and loads libhwloc.so.15 if that may be done.
COMITY_SHARED const topology &machine() noexcept;

// To what COMITY_BIND binds hart `i` of `n` on a machine; empty: to nothing. With at least as many cores as harts each
// has its own, in order; else neighbours share one. Nodes get harts by their share of the processors.
cpu_set cpus_for(const topology &machine, bind_choice what, unsigned i, unsigned n) noexcept;

// The readers by themselves, for tests. hwloc: null where it is missing or fails, or may not be asked: it looks for
// plugins that bring half a desktop into the process (X11, OpenCL), unless HWLOC_PLUGINS_PATH leads elsewhere; and that
// can be set for it only while there is no other thread. sysfs: `root` stands before /sys.
std::unique_ptr<topology> read_hwloc(const cpu_set &allowed) noexcept;
std::unique_ptr<topology> read_sysfs(const cpu_set &allowed, const char *root = "") noexcept;

} // namespace comity::sys
