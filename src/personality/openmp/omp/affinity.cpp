// Places and affinity. Comity's harts are where the kernel puts them, and ranks move between harts: no rank is bound to
// a place, so there are no places (as libgomp has none when OMP_PLACES and OMP_PROC_BIND are not set), and binding
// reads as asked for.
#include <cstring>

#include "personality/openmp/affinity_format.hpp"
#include "personality/openmp/omp/functions.hpp"
#include "personality/openmp/thread.hpp"

using namespace comity::openmp;

omp_proc_bind_t omp_get_proc_bind() noexcept { return static_cast<omp_proc_bind_t>(icv_of(self).bind); }
int omp_get_num_places() noexcept { return 0; }
int omp_get_place_num_procs(int) noexcept { return 0; }
void omp_get_place_proc_ids(int, int *) noexcept {}
int omp_get_place_num() noexcept { return -1; }
int omp_get_partition_num_places() noexcept { return 0; }
void omp_get_partition_place_nums(int *) noexcept {}

void omp_set_affinity_format(const char *format) noexcept { set_affinity_format(format, std::strlen(format)); }

std::size_t omp_get_affinity_format(char *buffer, std::size_t size) noexcept {
    const char *format = affinity_format();
    const std::size_t length = std::strlen(format);
    if (size) {
        const std::size_t copied = length < size - 1 ? length : size - 1;
        std::memcpy(buffer, format, copied);
        buffer[copied] = 0;
    }
    return length;
}

std::size_t omp_capture_affinity(char *buffer, std::size_t size, const char *format) noexcept {
    return format_affinity(buffer, size, format && *format ? format : affinity_format());
}

void omp_display_affinity(const char *format) noexcept {
    print_affinity(format && *format ? format : affinity_format());
}
