#include "sys/topology.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <new>
#include <tuple>

#include "sys/message.hpp"
#include "sys/process.hpp"
#include "sys/text_file.hpp"

namespace comity::sys {
namespace {

constexpr std::size_t path_size = 256;
constexpr int most_nodes = 1024, most_caches = 16;

std::unique_ptr<processor[]> make_processors(const cpu_set &allowed, unsigned &n) noexcept {
    n = allowed.count();
    std::unique_ptr<processor[]> all(n ? new (std::nothrow) processor[n] : nullptr);
    int cpu = -1;
    for (unsigned i = 0; all && i < n; ++i) {
        std::fill(std::begin(all[i].in), std::end(all[i].in), -1); // nothing is known
        all[i].cpu = cpu = allowed.next(cpu + 1);
    }
    return all;
}

int &in(processor &p, part which) noexcept { return p.in[static_cast<std::size_t>(which)]; }

// The first CPU of a list of those that share something (which may be long) stands for it; -1: there is no such file.
int read_first_of(const char *path) noexcept {
    line_reader file(path);
    std::int64_t first = -1;
    const char *line = file.next(), *rest = nullptr;
    return line && read_number(line, first, &rest) && first < cpu_set::most ? static_cast<int>(first) : -1;
}

// The caches of a CPU that hold data: its second level's and the last.
void read_caches(processor &p, const char *cpu_folder) noexcept {
    std::int64_t last_level = 0;
    for (int i = 0; i < most_caches; ++i) {
        char path[path_size];
        std::int64_t level = 0;
        format_text(path, sizeof path, "%s/cache/index%d/level", cpu_folder, i);
        if (!read_number_file(path, level)) return;
        format_text(path, sizeof path, "%s/cache/index%d/type", cpu_folder, i);
        {
            line_reader file(path);
            const char *type = file.next();
            if (!type || std::strncmp(type, "Instruction", 11) == 0) continue;
        }
        format_text(path, sizeof path, "%s/cache/index%d/shared_cpu_list", cpu_folder, i);
        const int shared = read_first_of(path);
        if (shared < 0) continue;
        if (level == 2) in(p, part::l2_cache) = shared;
        if (level > last_level) {
            last_level = level;
            in(p, part::last_cache) = shared;
        }
    }
}

// False: /sys knows nothing of the CPU.
bool read_processor(processor &p, const char *root) noexcept {
    char folder[path_size], path[path_size];
    format_text(folder, sizeof folder, "%s/sys/devices/system/cpu/cpu%d", root, p.cpu);
    format_text(path, sizeof path, "%s/topology/thread_siblings_list", folder);
    in(p, part::core) = read_first_of(path);
    std::int64_t socket = 0;
    format_text(path, sizeof path, "%s/topology/physical_package_id", folder);
    if (read_number_file(path, socket) && socket >= 0) in(p, part::socket) = static_cast<int>(socket);
    if (in(p, part::core) < 0) return false;
    read_caches(p, folder);
    return true;
}

void read_nodes(processor *all, unsigned n, const char *root) noexcept {
    for (int node = 0; node < most_nodes; ++node) {
        char path[path_size];
        format_text(path, sizeof path, "%s/sys/devices/system/node/node%d/cpulist", root, node);
        line_reader file(path);
        cpu_set here;
        const char *line = file.next();
        if (!line || !parse_cpu_list(line, here)) continue;
        for (unsigned i = 0; i < n; ++i)
            if (here.has(all[i].cpu)) in(all[i], part::numa_node) = node;
    }
}

// When nobody can say more: each CPU is a core of its own.
topology read_nothing(const cpu_set &allowed) noexcept {
    unsigned n = 0;
    auto all = make_processors(allowed, n);
    if (!all) {
        n = 1;
        all.reset(new (std::nothrow) processor[1]);
        if (!all) fatal("reading the topology", "no memory");
    }
    for (unsigned i = 0; i < n; ++i) in(all[i], part::core) = all[i].cpu;
    return {std::move(all), n, "none", true};
}

} // namespace

topology::topology(std::unique_ptr<processor[]> processors, unsigned n, const char *source,
                   bool is_this_machine) noexcept
    : processors_(std::move(processors)), size_(n), counts_{}, source_(source), is_this_machine_(is_this_machine) {
    const std::unique_ptr<int[]> keys(new (std::nothrow) int[n]);
    if (!keys) fatal("reading the topology", "no memory");
    for (std::size_t p = 0; p < parts; ++p) {
        for (unsigned i = 0; i < n; ++i) keys[i] = processors_[i].in[p];
        for (unsigned i = 0; i < n; ++i) {
            unsigned same = i; // those that share a part stand side by side
            while (same > 0 && keys[same - 1] != keys[i]) --same;
            processors_[i].in[p] = same > 0 ? processors_[same - 1].in[p] : static_cast<int>(counts_[p]++);
        }
    }
}

const processor *topology::find(int cpu) const noexcept {
    const processor *found = std::find_if(begin(), end(), [cpu](const processor &p) { return p.cpu == cpu; });
    return found == end() ? nullptr : found;
}

cpu_set topology::cpus_of(part p, int number) const noexcept {
    cpu_set set;
    for (const processor &each : *this)
        if (each.where(p) == number) set.add(each.cpu);
    return set;
}

cpu_set cpus_for(const topology &machine, bind_choice what, unsigned i, unsigned n) noexcept {
    const auto share = [i, n](unsigned many) { return static_cast<unsigned>(std::uint64_t{i} * many / n); };
    switch (what) {
    case bind_choice::none:
        break;
    case bind_choice::cores: {
        const unsigned cores = machine.count(part::core);
        return machine.cpus_of(part::core, static_cast<int>(n <= cores ? i : share(cores)));
    }
    case bind_choice::numa:
        return machine.cpus_of(part::numa_node, machine[share(machine.size())].where(part::numa_node));
    }
    return {};
}

std::unique_ptr<topology> read_sysfs(const cpu_set &allowed, const char *root) noexcept {
    unsigned n = 0;
    auto all = make_processors(allowed, n);
    if (!all) return nullptr;
    for (unsigned i = 0; i < n; ++i)
        if (!read_processor(all[i], root)) return nullptr;
    read_nodes(all.get(), n, root);
    const auto place = [](const processor &p) {
        return std::tuple(p.where(part::socket), p.where(part::numa_node), p.where(part::last_cache),
                          p.where(part::l2_cache), p.where(part::core), p.cpu);
    };
    std::sort(all.get(), all.get() + n,
              [&place](const processor &a, const processor &b) { return place(a) < place(b); });
    return std::unique_ptr<topology>(new (std::nothrow) topology(std::move(all), n, "sysfs", true));
}

const topology &machine() noexcept {
    return made_once([] {
        const cpu_set &allowed = process_cpus();
        auto read = read_hwloc(allowed);
        if (!read) read = read_sysfs(allowed);
        return read ? std::move(*read) : read_nothing(allowed);
    });
}

} // namespace comity::sys
