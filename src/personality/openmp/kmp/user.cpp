// The kmp_* functions, Intel's extensions to omp.h, the ompc_* and kmpc_* names that Intel's headers give to some, and
// variables that the original exports.
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>
#include <strings.h>

#include "core/runtime.hpp"
#include "model/spmd/team.hpp"
#include "personality/openmp/binding.hpp"
#include "personality/openmp/environment.hpp"
#include "personality/openmp/kmp/abi.hpp"
#include "personality/openmp/memory.hpp"
#include "personality/openmp/omp/functions.hpp"
#include "personality/openmp/ompt/hooks.hpp"
#include "personality/openmp/thread.hpp"
#include "sys/message.hpp"
#include "sys/options.hpp"

using namespace comity::openmp;
using namespace comity::openmp::kmp;
using std::size_t;

// ---- Stacks and waiting ----------------------------------------------------------------------------------------

namespace {

// kmp_set_library: what is said is given back; `serial` makes regions of one rank. 0: what KMP_LIBRARY said holds.
using library_kind = process_icvs::library_kind;
std::atomic<library_kind> library_said{};
std::atomic<unsigned> ranks_before_serial{0};

library_kind library() noexcept {
    const library_kind said = library_said.load(std::memory_order_relaxed);
    return said == library_kind{} ? process.library : said;
}

void set_library(library_kind kind) noexcept {
    const library_kind before = library();
    library_said.store(kind, std::memory_order_relaxed);
    if (kind == before) return;
    if (kind == library_kind::serial) {
        ranks_before_serial.store(icv_of(self).num_threads, std::memory_order_relaxed);
        own_icv().num_threads = 1;
    } else if (before == library_kind::serial) {
        own_icv().num_threads = ranks_before_serial.load(std::memory_order_relaxed);
    }
}

// How long an idle thread spins, in milliseconds; -1: nobody said. Here for the whole process.
std::atomic<int> blocktime_said{-1};

int initial_blocktime() noexcept {
    constexpr int usual = 200;
    if (process.wait_policy == process_icvs::wait::unset && process.spin_us >= 0) return process.spin_us / 1000;
    switch (process.wait_policy) {
    case process_icvs::wait::active:
        return INT32_MAX;
    case process_icvs::wait::passive:
        return 0;
    default:
        return usual;
    }
}

} // namespace

namespace {

// OMP_TARGET_OFFLOAD, for libomptarget: what is given too late is not read with the other variables.
constexpr i32 offload_not_given = -1;
std::atomic<i32> offload_given{offload_not_given};

i32 offload_in(const char *text) noexcept {
    auto offload = process_icvs::offload::usual;
    if (text) (void)read_target_offload(text, offload);
    return static_cast<i32>(offload);
}

// Is it this variable that is given?
bool set_target_offload(const char *assignment) noexcept {
    static constexpr char name[] = "OMP_TARGET_OFFLOAD=";
    if (std::strncmp(assignment, name, sizeof name - 1)) return false;
    offload_given.store(offload_in(assignment + sizeof name - 1), std::memory_order_relaxed);
    return true;
}

} // namespace

COMITY_KMP i32 __kmpc_get_target_offload() noexcept {
    devices_are_there();
    const i32 given = offload_given.load(std::memory_order_relaxed);
    return given == offload_not_given ? offload_in(look_up("OMP_TARGET_OFFLOAD")) : given;
}

COMITY_KMP void kmp_set_stacksize_s(size_t bytes) noexcept {
    constexpr size_t least = size_t{16} << 10;
    if (bytes < least) bytes = least;
    process.stack_size = bytes;
    comity::spmd::set_stack_size(bytes);
}
COMITY_KMP size_t kmp_get_stacksize_s() noexcept {
    return process.stack_size ? process.stack_size : comity::sys::get_options().stack_size;
}
COMITY_KMP void kmp_set_stacksize(int bytes) noexcept {
    kmp_set_stacksize_s(bytes > 0 ? static_cast<size_t>(bytes) : 0);
}
COMITY_KMP int kmp_get_stacksize() noexcept {
    const size_t bytes = kmp_get_stacksize_s();
    return bytes < INT32_MAX ? static_cast<int>(bytes) : INT32_MAX;
}

COMITY_KMP void kmp_set_blocktime(int milliseconds) noexcept {
    if (milliseconds < 0) milliseconds = 0;
    blocktime_said.store(milliseconds, std::memory_order_relaxed);
    const std::int64_t us = std::int64_t{milliseconds} * 1000;
    comity::core::set_spin_us(static_cast<unsigned>(us < longest_spin_us ? us : longest_spin_us));
}
COMITY_KMP int kmp_get_blocktime() noexcept {
    const int said = blocktime_said.load(std::memory_order_relaxed);
    return said < 0 ? initial_blocktime() : said;
}

COMITY_KMP int kmp_get_library() noexcept { return static_cast<int>(library()); }
COMITY_KMP void kmp_set_library(int kind) noexcept {
    if (kind >= static_cast<int>(library_kind::serial) && kind <= static_cast<int>(library_kind::throughput))
        set_library(static_cast<library_kind>(kind));
}
COMITY_KMP void kmp_set_library_serial() noexcept { set_library(library_kind::serial); }
COMITY_KMP void kmp_set_library_turnaround() noexcept { set_library(library_kind::turnaround); }
COMITY_KMP void kmp_set_library_throughput() noexcept { set_library(library_kind::throughput); }

COMITY_KMP int kmp_get_num_known_threads() noexcept { return static_cast<int>(threads_known()); }

// How many constructs a rank may be ahead is fixed here; the variables that a string of defaults could set are read
// when the process starts; and of warnings there are no kinds.
COMITY_KMP void kmp_set_disp_num_buffers(int) noexcept {}
COMITY_KMP void kmp_set_defaults(const char *text) noexcept {
    if (text && set_target_offload(text)) return;
    comity::sys::warn("kmp_set_defaults(\"%s\"): too late here; set it in the environment of the program",
                      text ? text : "");
}
COMITY_KMP void kmp_set_warnings_on() noexcept {}
COMITY_KMP void kmp_set_warnings_off() noexcept {}

// ---- Affinity: masks of CPUs, and where the calling thread runs ---------------------------------------------------

namespace {

using comity::sys::cpu_set;

cpu_set *mask_at(void **mask) noexcept { return static_cast<cpu_set *>(*mask); }
// Only what the process may use can be in a mask.
bool is_core(int core, void **mask) noexcept { return mask && *mask && comity::sys::process_cpus().has(core); }

} // namespace

COMITY_KMP int kmp_get_affinity_max_proc() noexcept {
    int most = 0;
    const cpu_set &all = comity::sys::process_cpus();
    for (int cpu = all.next(); cpu >= 0; cpu = all.next(cpu + 1)) most = cpu + 1;
    return most;
}
COMITY_KMP void kmp_create_affinity_mask(void **mask) noexcept { *mask = new (std::nothrow) cpu_set; }
COMITY_KMP void kmp_destroy_affinity_mask(void **mask) noexcept {
    delete mask_at(mask);
    *mask = nullptr;
}
COMITY_KMP int kmp_set_affinity_mask_proc(int core, void **mask) noexcept {
    if (!is_core(core, mask)) return -1;
    mask_at(mask)->add(core);
    return 0;
}
COMITY_KMP int kmp_unset_affinity_mask_proc(int core, void **mask) noexcept {
    if (!is_core(core, mask)) return -1;
    mask_at(mask)->remove(core);
    return 0;
}
COMITY_KMP int kmp_get_affinity_mask_proc(int core, void **mask) noexcept {
    return is_core(core, mask) ? mask_at(mask)->has(core) : -1;
}
// In a region the calling rank, outside the thread of the program; until it is given a place.
COMITY_KMP int kmp_set_affinity(void **mask) noexcept {
    if (!mask || !*mask || mask_at(mask)->empty()) return -1;
    (void)current();
    return run_on_cpus(*mask_at(mask)) ? 0 : -1;
}
COMITY_KMP int kmp_get_affinity(void **mask) noexcept {
    if (!mask || !*mask) return -1;
    return comity::sys::get_thread_cpus(0, *mask_at(mask)) ? 0 : -1;
}
COMITY_KMP void kmp_set_thread_affinity_mask_initial() noexcept { (void)run_on_cpus(comity::sys::process_cpus()); }

// ---- The same for Fortran, by reference ------------------------------------------------------------------------

COMITY_KMP void kmp_set_stacksize_(const int *bytes) noexcept { kmp_set_stacksize(*bytes); }
COMITY_KMP void kmp_set_stacksize_s_(const size_t *bytes) noexcept { kmp_set_stacksize_s(*bytes); }
COMITY_KMP int kmp_get_stacksize_() noexcept { return kmp_get_stacksize(); }
COMITY_KMP size_t kmp_get_stacksize_s_() noexcept { return kmp_get_stacksize_s(); }
COMITY_KMP void kmp_set_blocktime_(const int *milliseconds) noexcept { kmp_set_blocktime(*milliseconds); }
COMITY_KMP int kmp_get_blocktime_() noexcept { return kmp_get_blocktime(); }
COMITY_KMP void kmp_set_library_(const int *kind) noexcept { kmp_set_library(*kind); }
COMITY_KMP int kmp_get_library_() noexcept { return kmp_get_library(); }
COMITY_KMP void kmp_set_library_serial_() noexcept { set_library(library_kind::serial); }
COMITY_KMP void kmp_set_library_turnaround_() noexcept { set_library(library_kind::turnaround); }
COMITY_KMP void kmp_set_library_throughput_() noexcept { set_library(library_kind::throughput); }
COMITY_KMP int kmp_get_num_known_threads_() noexcept { return kmp_get_num_known_threads(); }
COMITY_KMP void kmp_set_disp_num_buffers_(const int *) noexcept {}
COMITY_KMP void kmp_set_defaults_(const char *text, int length) noexcept {
    char copy[256];
    const auto copied = static_cast<size_t>(length > 0 ? length < 255 ? length : 255 : 0);
    std::memcpy(copy, text, copied);
    copy[copied] = 0;
    kmp_set_defaults(copy);
}
COMITY_KMP void kmp_set_warnings_on_() noexcept {}
COMITY_KMP void kmp_set_warnings_off_() noexcept {}
COMITY_KMP int kmp_get_affinity_max_proc_() noexcept { return kmp_get_affinity_max_proc(); }
COMITY_KMP void kmp_create_affinity_mask_(void **mask) noexcept { kmp_create_affinity_mask(mask); }
COMITY_KMP void kmp_destroy_affinity_mask_(void **mask) noexcept { kmp_destroy_affinity_mask(mask); }
COMITY_KMP int kmp_set_affinity_mask_proc_(const int *core, void **mask) noexcept {
    return kmp_set_affinity_mask_proc(*core, mask);
}
COMITY_KMP int kmp_unset_affinity_mask_proc_(const int *core, void **mask) noexcept {
    return kmp_unset_affinity_mask_proc(*core, mask);
}
COMITY_KMP int kmp_get_affinity_mask_proc_(const int *core, void **mask) noexcept {
    return kmp_get_affinity_mask_proc(*core, mask);
}
COMITY_KMP int kmp_set_affinity_(void **mask) noexcept { return kmp_set_affinity(mask); }
COMITY_KMP int kmp_get_affinity_(void **mask) noexcept { return kmp_get_affinity(mask); }

// ---- C's functions under the names that Intel's headers give them -----------------------------------------------

COMITY_KMP void kmpc_set_stacksize(int bytes) noexcept { kmp_set_stacksize(bytes); }
COMITY_KMP void kmpc_set_stacksize_s(size_t bytes) noexcept { kmp_set_stacksize_s(bytes); }
COMITY_KMP void kmpc_set_blocktime(int milliseconds) noexcept { kmp_set_blocktime(milliseconds); }
COMITY_KMP void kmpc_set_library(int kind) noexcept { kmp_set_library(kind); }
COMITY_KMP void kmpc_set_defaults(const char *text) noexcept { kmp_set_defaults(text); }
COMITY_KMP void kmpc_set_disp_num_buffers(int) noexcept {}
COMITY_KMP int kmpc_set_affinity_mask_proc(int core, void **mask) noexcept {
    return kmp_set_affinity_mask_proc(core, mask);
}
COMITY_KMP int kmpc_unset_affinity_mask_proc(int core, void **mask) noexcept {
    return kmp_unset_affinity_mask_proc(core, mask);
}
COMITY_KMP int kmpc_get_affinity_mask_proc(int core, void **mask) noexcept {
    return kmp_get_affinity_mask_proc(core, mask);
}
COMITY_KMP void ompc_set_num_threads(int count) noexcept { set_num_threads(count, __builtin_return_address(0)); }
COMITY_KMP void ompc_set_dynamic(int value) noexcept { omp_set_dynamic(value); }
COMITY_KMP void ompc_set_nested(int value) noexcept { omp_set_nested(value); }
COMITY_KMP void ompc_set_max_active_levels(int levels) noexcept { omp_set_max_active_levels(levels); }
COMITY_KMP void ompc_set_schedule(int kind, int chunk) noexcept {
    omp_set_schedule(static_cast<omp_sched_t>(kind), chunk);
}
COMITY_KMP int ompc_get_ancestor_thread_num(int level) noexcept { return omp_get_ancestor_thread_num(level); }
COMITY_KMP int ompc_get_team_size(int level) noexcept { return omp_get_team_size(level); }
COMITY_KMP void ompc_set_affinity_format(const char *format) noexcept { omp_set_affinity_format(format); }
COMITY_KMP size_t ompc_get_affinity_format(char *buffer, size_t size) noexcept {
    return omp_get_affinity_format(buffer, size);
}
COMITY_KMP void ompc_display_affinity(const char *format) noexcept { omp_display_affinity(format); }
COMITY_KMP size_t ompc_capture_affinity(char *buffer, size_t size, const char *format) noexcept {
    return omp_capture_affinity(buffer, size, format);
}

// ---- omp_* that gcc's libgomp does not have -----------------------------------------------------------------------

COMITY_KMP int omp_control_tool(int command, int modifier, void *argument) noexcept {
    return ompt::control(command, modifier, argument, COMITY_OMPT_HERE);
}
COMITY_KMP int omp_control_tool_(const int *command, const int *modifier, void *argument) noexcept {
    return ompt::control(*command, *modifier, argument, COMITY_OMPT_HERE);
}

// There are no foreign runtimes to talk to: no object has a property.
#define INTEROP(RESULT, NAME, ...)                                                                                     \
    COMITY_KMP RESULT omp_get_##NAME(__VA_ARGS__) noexcept { return {}; }                                              \
    COMITY_KMP RESULT omp_get_##NAME##_(__VA_ARGS__) noexcept { return {}; }
#define INTEROP_VALUE(RESULT, NAME)                                                                                    \
    COMITY_KMP RESULT omp_get_##NAME(const void *, int, int *error) noexcept {                                         \
        if (error) *error = -1; /* omp_irc_empty */                                                                    \
        return {};                                                                                                     \
    }                                                                                                                  \
    COMITY_KMP RESULT omp_get_##NAME##_(const void *o, int p, int *error) noexcept {                                   \
        return omp_get_##NAME(o, p, error);                                                                            \
    }
INTEROP(int, num_interop_properties, const void *)
INTEROP(const char *, interop_name, const void *, int)
INTEROP(const char *, interop_type_desc, const void *, int)
INTEROP(const char *, interop_rc_desc, const void *, int)
INTEROP_VALUE(std::intptr_t, interop_int)
INTEROP_VALUE(void *, interop_ptr)
INTEROP_VALUE(const char *, interop_str)

// ---- Variables ---------------------------------------------------------------------------------------------------

// Read by nobody; their names make the linkers of other systems complain about two runtimes in one program.
COMITY_KMP const int _You_must_link_with_exactly_one_OpenMP_library = 1;
COMITY_KMP const int _You_must_link_with_Intel_OpenMP_library = 1;
#pragma GCC visibility push(default)
extern "C" {
int kmp_a_debug, kmp_b_debug, kmp_c_debug, kmp_d_debug, kmp_e_debug, kmp_f_debug, kmp_diag;
}
#pragma GCC visibility pop
