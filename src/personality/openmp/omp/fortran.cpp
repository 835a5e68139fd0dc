// The omp_* functions under the names and with the arguments of Fortran: everything by reference; LOGICAL and INTEGER
// of 4 bytes, or of 8 where a program is compiled with -fdefault-integer-8 (the _8_ forms). Strings come with their
// length and without end.
#include <cstdint>
#include <cstring>

#include "personality/openmp/affinity_format.hpp"
#include "personality/openmp/binding.hpp"
#include "personality/openmp/environment.hpp"
#include "personality/openmp/omp/functions.hpp"
#include "personality/openmp/places.hpp"
#include "personality/openmp/thread.hpp"

using namespace comity::openmp;
using i32 = std::int32_t;
using i64 = std::int64_t;

namespace {
int cut(i64 n) noexcept { return n > INT32_MAX ? INT32_MAX : n < INT32_MIN ? INT32_MIN : static_cast<int>(n); }
} // namespace

#define GET(RESULT, NAME)                                                                                              \
    COMITY_OMP RESULT NAME##_() noexcept { return NAME(); }
#define SET(NAME)                                                                                                      \
    COMITY_OMP void NAME##_(const i32 *value) noexcept { NAME(*value); }                                               \
    COMITY_OMP void NAME##_8_(const i64 *value) noexcept { NAME(cut(*value)); }
#define SET_FLAG(NAME)                                                                                                 \
    COMITY_OMP void NAME##_(const i32 *value) noexcept { NAME(*value != 0); }                                          \
    COMITY_OMP void NAME##_8_(const i64 *value) noexcept { NAME(*value != 0); }
#define GET_OF(NAME)                                                                                                   \
    COMITY_OMP i32 NAME##_(const i32 *value) noexcept { return NAME(*value); }                                         \
    COMITY_OMP i32 NAME##_8_(const i64 *value) noexcept { return NAME(cut(*value)); }

GET(i32, omp_get_num_threads)
GET(i32, omp_get_thread_num)
GET(i32, omp_get_num_procs)
GET(i32, omp_get_dynamic)
GET(i32, omp_get_nested)
GET(i32, omp_get_max_active_levels)
GET(i32, omp_get_supported_active_levels)
GET(i32, omp_get_thread_limit)
GET(i32, omp_in_final)
GET(i32, omp_get_cancellation)
GET(i32, omp_get_proc_bind)
GET(i32, omp_get_num_places)
GET(i32, omp_get_place_num)
GET(i32, omp_get_partition_num_places)
GET(i32, omp_get_default_device)
GET(i32, omp_get_num_devices)
GET(i32, omp_get_device_num)
GET(i32, omp_get_initial_device)
GET(i32, omp_is_initial_device)
GET(i32, omp_get_num_teams)
GET(i32, omp_get_team_num)
GET(i32, omp_get_max_teams)
GET(i32, omp_get_teams_thread_limit)
GET(i32, omp_get_max_task_priority)
GET(double, omp_get_wtime)
GET(double, omp_get_wtick)

// Not by the C functions, which look at who calls them.
COMITY_OMP i32 omp_get_max_threads_() noexcept { return max_threads(__builtin_return_address(0)); }
COMITY_OMP i32 omp_in_parallel_() noexcept { return in_parallel(__builtin_return_address(0)); }
COMITY_OMP i32 omp_get_level_() noexcept { return level(__builtin_return_address(0)); }
COMITY_OMP i32 omp_get_active_level_() noexcept { return active_level(__builtin_return_address(0)); }
COMITY_OMP void omp_set_num_threads_(const i32 *count) noexcept {
    set_num_threads(*count, __builtin_return_address(0));
}
COMITY_OMP void omp_set_num_threads_8_(const i64 *count) noexcept {
    set_num_threads(cut(*count), __builtin_return_address(0));
}

SET(omp_set_max_active_levels)
SET(omp_set_default_device)
SET(omp_set_num_teams)
SET(omp_set_teams_thread_limit)
SET_FLAG(omp_set_dynamic)
SET_FLAG(omp_set_nested)
SET_FLAG(omp_display_env)
GET_OF(omp_get_ancestor_thread_num)
GET_OF(omp_get_team_size)
GET_OF(omp_get_place_num_procs)

COMITY_OMP void omp_set_schedule_(const i32 *kind, const i32 *chunk) noexcept {
    omp_set_schedule(static_cast<omp_sched_t>(*kind), *chunk);
}
COMITY_OMP void omp_set_schedule_8_(const i32 *kind, const i64 *chunk) noexcept {
    omp_set_schedule(static_cast<omp_sched_t>(*kind), cut(*chunk));
}
COMITY_OMP void omp_get_schedule_(i32 *kind, i32 *chunk) noexcept {
    omp_sched_t k;
    int c;
    omp_get_schedule(&k, &c);
    *kind = static_cast<i32>(k);
    *chunk = c;
}
COMITY_OMP void omp_get_schedule_8_(i32 *kind, i64 *chunk) noexcept {
    i32 c;
    omp_get_schedule_(kind, &c);
    *chunk = c;
}

COMITY_OMP void omp_get_place_proc_ids_(const i32 *place, i32 *ids) noexcept { omp_get_place_proc_ids(*place, ids); }
COMITY_OMP void omp_get_place_proc_ids_8_(const i64 *place, i64 *ids) noexcept {
    const comity::sys::cpu_set *cpus = cpus_of_place(cut(*place));
    for (int cpu = cpus ? cpus->next() : -1; cpu >= 0; cpu = cpus->next(cpu + 1)) *ids++ = cpu;
}
COMITY_OMP void omp_get_partition_place_nums_(i32 *numbers) noexcept { omp_get_partition_place_nums(numbers); }
COMITY_OMP void omp_get_partition_place_nums_8_(i64 *numbers) noexcept {
    const placement here = placement_of(current());
    for (unsigned i = 0; i < here.count; ++i) numbers[i] = static_cast<i64>(here.begin + i);
}

COMITY_OMP void omp_fulfill_event_(std::intptr_t event) noexcept {
    omp_fulfill_event(static_cast<omp_event_handle_t>(event));
}

COMITY_OMP i32 omp_pause_resource_(const i32 *kind, const i32 *device) noexcept {
    return omp_pause_resource(static_cast<omp_pause_resource_t>(*kind), *device);
}
COMITY_OMP i32 omp_pause_resource_all_(const i32 *kind) noexcept {
    return omp_pause_resource_all(static_cast<omp_pause_resource_t>(*kind));
}

COMITY_OMP std::intptr_t omp_init_allocator_(const std::intptr_t *space, const i32 *count,
                                             const omp_alloctrait_t *traits) noexcept {
    return static_cast<std::intptr_t>(omp_init_allocator(static_cast<omp_memspace_handle_t>(*space), *count, traits));
}
COMITY_OMP std::intptr_t omp_init_allocator_8_(const std::intptr_t *space, const i64 *count,
                                               const omp_alloctrait_t *traits) noexcept {
    return static_cast<std::intptr_t>(
        omp_init_allocator(static_cast<omp_memspace_handle_t>(*space), cut(*count), traits));
}
COMITY_OMP void omp_destroy_allocator_(const std::intptr_t *allocator) noexcept {
    omp_destroy_allocator(static_cast<omp_allocator_handle_t>(*allocator));
}
COMITY_OMP void omp_set_default_allocator_(const std::intptr_t *allocator) noexcept {
    omp_set_default_allocator(static_cast<omp_allocator_handle_t>(*allocator));
}
COMITY_OMP std::intptr_t omp_get_default_allocator_() noexcept {
    return static_cast<std::intptr_t>(omp_get_default_allocator());
}

namespace {

// The string without the blanks that fill it up; an empty one stands for the default format.
struct format_text {
    char text[256];
    format_text(const char *given, std::size_t length) noexcept {
        while (length && given[length - 1] == ' ') --length;
        length = length < sizeof text - 1 ? length : sizeof text - 1;
        std::memcpy(text, given, length);
        text[length] = 0;
    }
    const char *or_default() const noexcept { return *text ? text : affinity_format(abi.affinity_format); }
};

void fill_with_blanks(char *buffer, std::size_t size, std::size_t used) noexcept {
    if (used < size) std::memset(buffer + used, ' ', size - used);
}

} // namespace

COMITY_OMP void omp_set_affinity_format_(const char *format, std::size_t length) noexcept {
    const format_text given(format, length);
    set_affinity_format(given.text, std::strlen(given.text));
}

COMITY_OMP i32 omp_get_affinity_format_(char *buffer, std::size_t size) noexcept {
    const char *format = affinity_format(abi.affinity_format);
    const std::size_t length = std::strlen(format), copied = length < size ? length : size;
    std::memcpy(buffer, format, copied);
    fill_with_blanks(buffer, size, copied);
    return static_cast<i32>(length);
}

COMITY_OMP void omp_display_affinity_(const char *format, std::size_t length) noexcept {
    print_affinity(format_text(format, length).or_default(), abi);
}

COMITY_OMP i32 omp_capture_affinity_(char *buffer, const char *format, std::size_t size, std::size_t length) noexcept {
    char line[1024];
    const std::size_t wanted = format_affinity(line, sizeof line, format_text(format, length).or_default(), abi);
    std::size_t copied = wanted < sizeof line ? wanted : sizeof line - 1;
    copied = copied < size ? copied : size;
    std::memcpy(buffer, line, copied);
    fill_with_blanks(buffer, size, copied);
    return static_cast<i32>(wanted);
}
