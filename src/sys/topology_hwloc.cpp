// The topology as hwloc reads it. The library is loaded when it is asked, never linked: programs start without it.
#include "sys/topology.hpp"

#ifdef COMITY_HAS_HWLOC

#include <cstdlib>
#include <new>

#include <dlfcn.h>
#include <hwloc.h>
#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#else
#include <sys/stat.h>
#endif

#include "sys/process.hpp"

namespace comity::sys {
namespace {

constexpr unsigned known_api = 2; // the major version whose structures hwloc.h describes: libhwloc.so.15

// What is called in the library.
struct hwloc {
    decltype(&::hwloc_get_api_version) get_api_version;
    decltype(&::hwloc_topology_init) init;
    decltype(&::hwloc_topology_set_flags) set_flags;
    decltype(&::hwloc_topology_load) read;
    decltype(&::hwloc_topology_destroy) destroy;
    decltype(&::hwloc_topology_is_thissystem) is_this_system;
    decltype(&::hwloc_get_type_depth) get_type_depth;
    decltype(&::hwloc_get_nbobjs_by_depth) get_count;
    decltype(&::hwloc_get_obj_by_depth) get_object;
    decltype(&::hwloc_bitmap_first) first;
};

template <class Function> bool find(void *library, const char *name, Function &found) noexcept {
    found = reinterpret_cast<Function>(::dlsym(library, name));
    return found != nullptr;
}

// Stays loaded.
bool load_library(hwloc &h) noexcept {
    void *l = ::dlopen("libhwloc.so.15", RTLD_NOW | RTLD_LOCAL);
    return l && find(l, "hwloc_get_api_version", h.get_api_version) && h.get_api_version() >> 16 == known_api &&
           find(l, "hwloc_topology_init", h.init) && find(l, "hwloc_topology_set_flags", h.set_flags) &&
           find(l, "hwloc_topology_load", h.read) && find(l, "hwloc_topology_destroy", h.destroy) &&
           find(l, "hwloc_topology_is_thissystem", h.is_this_system) &&
           find(l, "hwloc_get_type_depth", h.get_type_depth) && find(l, "hwloc_get_nbobjs_by_depth", h.get_count) &&
           find(l, "hwloc_get_obj_by_depth", h.get_object) && find(l, "hwloc_bitmap_first", h.first);
}

// hwloc looks for its plugins where this variable says, when the first topology is made, and offers no other way to be
// told. Without another thread nobody can be reading the environment meanwhile.
class no_plugins {
public:
    no_plugins() noexcept : done_(::setenv(variable, "/nonexistent", 1) == 0) {}
    ~no_plugins() {
        if (done_) ::unsetenv(variable);
    }
    no_plugins(const no_plugins &) = delete;
    no_plugins &operator=(const no_plugins &) = delete;
    static constexpr const char *variable = "HWLOC_PLUGINS_PATH";

private:
    bool done_;
};

int &in(processor &p, part which) noexcept { return p.in[static_cast<std::size_t>(which)]; }

void describe(const hwloc &h, hwloc_obj_t pu, processor &p) noexcept {
    for (int &each : p.in) each = -1;
    p.cpu = static_cast<int>(pu->os_index);
    in(p, part::core) = p.cpu; // of a machine that has no cores
    if (pu->nodeset) in(p, part::numa_node) = h.first(pu->nodeset);
    for (hwloc_obj_t above = pu->parent; above; above = above->parent) {
        const int number = static_cast<int>(above->logical_index);
        if (above->type == HWLOC_OBJ_CORE) in(p, part::core) = number;
        if (above->type == HWLOC_OBJ_PACKAGE) in(p, part::socket) = number;
        if (above->type == HWLOC_OBJ_L2CACHE) in(p, part::l2_cache) = number;
        if (above->type >= HWLOC_OBJ_L1CACHE && above->type <= HWLOC_OBJ_L5CACHE) in(p, part::last_cache) = number;
    }
}

std::unique_ptr<topology> convert(const hwloc &h, hwloc_topology_t t, const cpu_set &allowed) noexcept {
    const int depth = h.get_type_depth(t, HWLOC_OBJ_PU);
    const unsigned n = h.get_count(t, depth);
    const bool is_this = h.is_this_system(t) != 0;
    std::unique_ptr<processor[]> all(n ? new (std::nothrow) processor[n] : nullptr);
    unsigned kept = 0;
    for (unsigned i = 0; all && i < n; ++i) {
        const hwloc_obj_t pu = h.get_object(t, depth, i);
        if (!is_this || allowed.has(static_cast<int>(pu->os_index))) describe(h, pu, all[kept++]);
    }
    if (kept == 0) return nullptr;
    return std::unique_ptr<topology>(new (std::nothrow) topology(std::move(all), kept, "hwloc", is_this));
}

std::unique_ptr<topology> read(const hwloc &h, const cpu_set &allowed) noexcept {
    hwloc_topology_t t = nullptr;
    if (h.init(&t) != 0) return nullptr;
    std::unique_ptr<topology> result;
    // What is not needed and takes time; an older library refuses flags that it does not know.
#if HWLOC_API_VERSION >= 0x20800
    // And it would bind the calling thread to each CPU in turn.
    h.set_flags(t, HWLOC_TOPOLOGY_FLAG_NO_DISTANCES | HWLOC_TOPOLOGY_FLAG_NO_MEMATTRS |
                       HWLOC_TOPOLOGY_FLAG_NO_CPUKINDS | HWLOC_TOPOLOGY_FLAG_DONT_CHANGE_BINDING);
#endif
    if (h.read(t) == 0) result = convert(h, t, allowed);
    h.destroy(t);
    return result;
}

} // namespace

// Has the process had no other thread yet?
static bool is_single_threaded() noexcept {
#if __has_include(<sys/single_threaded.h>)
    return __libc_single_threaded;
#else // before glibc 2.32; has it none now?
    struct stat threads {};
    return ::stat("/proc/self/task", &threads) == 0 && threads.st_nlink <= 3;
#endif
}

std::unique_ptr<topology> read_hwloc(const cpu_set &allowed) noexcept {
    const bool told = environment_value(no_plugins::variable) != nullptr;
    hwloc h{};
    if ((!told && !is_single_threaded()) || !load_library(h)) return nullptr;
    if (told) return read(h, allowed);
    const no_plugins here;
    return read(h, allowed);
}

} // namespace comity::sys

#else

namespace comity::sys {
std::unique_ptr<topology> read_hwloc(const cpu_set &) noexcept { return nullptr; }
} // namespace comity::sys

#endif
