// Places and affinity.
#include <cstring>

#include "personality/openmp/affinity_format.hpp"
#include "personality/openmp/binding.hpp"
#include "personality/openmp/omp/functions.hpp"
#include "personality/openmp/places.hpp"
#include "personality/openmp/thread.hpp"

using namespace comity::openmp;

omp_proc_bind_t omp_get_proc_bind() noexcept {
    const auto policy = static_cast<bind_policy>(icv_of(current()).bind);
    return policy == bind_policy::unset ? omp_proc_bind_false : static_cast<omp_proc_bind_t>(policy);
}

namespace {
// The environment is read for good at the first use, and the list of places with it.
const place_list &final_places() noexcept {
    (void)current();
    return places();
}
const comity::sys::cpu_set *final_place(int place) noexcept {
    (void)final_places();
    return cpus_of_place(place);
}
} // namespace

int omp_get_num_places() noexcept { return static_cast<int>(final_places().size()); }
int omp_get_place_num_procs(int place) noexcept {
    const comity::sys::cpu_set *cpus = final_place(place);
    return cpus ? static_cast<int>(cpus->count()) : 0;
}
void omp_get_place_proc_ids(int place, int *ids) noexcept {
    const comity::sys::cpu_set *cpus = final_place(place);
    for (int cpu = cpus ? cpus->next() : -1; cpu >= 0; cpu = cpus->next(cpu + 1)) *ids++ = cpu;
}
int omp_get_place_num() noexcept { return placement_of(current()).place; }
int omp_get_partition_num_places() noexcept { return static_cast<int>(placement_of(current()).count); }
void omp_get_partition_place_nums(int *numbers) noexcept {
    const placement here = placement_of(current());
    for (unsigned i = 0; i < here.count; ++i) numbers[i] = static_cast<int>(here.begin + i);
}

void omp_set_affinity_format(const char *format) noexcept {
    (void)current(); // the environment is read again by who is first
    set_affinity_format(format, std::strlen(format));
}

std::size_t omp_get_affinity_format(char *buffer, std::size_t size) noexcept {
    (void)current();
    const char *format = affinity_format(abi.affinity_format);
    const std::size_t length = std::strlen(format);
    if (size) {
        const std::size_t copied = length < size - 1 ? length : size - 1;
        std::memcpy(buffer, format, copied);
        buffer[copied] = 0;
    }
    return length;
}

std::size_t omp_capture_affinity(char *buffer, std::size_t size, const char *format) noexcept {
    return format_affinity(buffer, size, format && *format ? format : affinity_format(abi.affinity_format), abi);
}

void omp_display_affinity(const char *format) noexcept { print_affinity(format, abi); }
