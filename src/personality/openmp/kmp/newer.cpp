// What the headers of LLVM 20 to 22 and Intel's runtime have beyond gcc 12's: OpenMP 5.2 and 6.0 on a host without
// devices. In C, and where Fortran does not bind to that, by reference. Any thread, in any region.
#include <cstring>

#include "personality/openmp/kmp/abi.hpp"
#include "personality/openmp/memory.hpp"
#include "personality/openmp/omp/functions.hpp"
#include "personality/openmp/thread.hpp"

using namespace comity::openmp;
using namespace comity::openmp::kmp;

COMITY_OMP int omp_in_explicit_task() noexcept { return self->task->parent.load(std::memory_order_relaxed) != nullptr; }
COMITY_OMP int omp_in_explicit_task_() noexcept { return omp_in_explicit_task(); }

// ---- Devices ---------------------------------------------------------------------------------------------------

namespace {
constexpr const char *host_uid = "HOST";
constexpr int invalid_device = -2;
bool is_host(int device) noexcept { return device == omp_get_initial_device() || device == -1; }
} // namespace

COMITY_OMP const char *omp_get_uid_from_device(int device) noexcept { return is_host(device) ? host_uid : nullptr; }
COMITY_OMP int omp_get_device_from_uid(const char *uid) noexcept {
    return uid && !std::strcmp(uid, host_uid) ? omp_get_initial_device() : invalid_device;
}

// ---- Memory spaces: the host has all there is ---------------------------------------------------------------------

namespace {

using memory_space = std::uintptr_t; // as omp_memspace_handle_t
constexpr memory_space null_space = 0;
constexpr allocator_handle null_allocator = 0;

// Is there memory of that kind for all these devices, and for the host if it is to be among them?
bool has_memory(int count, const int *devices, bool with_host, memory_space space) noexcept {
    if (count < 0 || (count && !devices) || !(count || with_host)) return false;
    for (int i = 0; i < count; ++i)
        if (!is_host(devices[i])) return false;
    return is_memory_space(space);
}
memory_space space_of(int count, const int *devices, bool with_host, memory_space space) noexcept {
    return has_memory(count, devices, with_host, space) ? space : null_space;
}
allocator_handle allocator_of(int count, const int *devices, bool with_host, memory_space space) noexcept {
    return has_memory(count, devices, with_host, space) ? allocator_of_space(space) : null_allocator;
}

} // namespace

// What there is of spaces and of allocators.
#define OF_DEVICES(RESULT, WHAT, FIND)                                                                                 \
    COMITY_OMP RESULT omp_get_devices_##WHAT(int count, const int *devices, memory_space space) noexcept {             \
        return FIND(count, devices, false, space);                                                                     \
    }                                                                                                                  \
    COMITY_OMP RESULT omp_get_device_##WHAT(int device, memory_space space) noexcept {                                 \
        return FIND(1, &device, false, space);                                                                         \
    }                                                                                                                  \
    COMITY_OMP RESULT omp_get_devices_and_host_##WHAT(int count, const int *devices, memory_space space) noexcept {    \
        return FIND(count, devices, true, space);                                                                      \
    }                                                                                                                  \
    COMITY_OMP RESULT omp_get_device_and_host_##WHAT(int device, memory_space space) noexcept {                        \
        return FIND(1, &device, true, space);                                                                          \
    }                                                                                                                  \
    COMITY_OMP RESULT omp_get_devices_all_##WHAT(memory_space space) noexcept {                                        \
        return FIND(0, nullptr, true, space);                                                                          \
    }                                                                                                                  \
    COMITY_OMP RESULT omp_get_devices_##WHAT##_(const int *count, const int *devices,                                  \
                                                const memory_space *space) noexcept {                                  \
        return FIND(*count, devices, false, *space);                                                                   \
    }                                                                                                                  \
    COMITY_OMP RESULT omp_get_device_##WHAT##_(const int *device, const memory_space *space) noexcept {                \
        return FIND(1, device, false, *space);                                                                         \
    }                                                                                                                  \
    COMITY_OMP RESULT omp_get_devices_and_host_##WHAT##_(const int *count, const int *devices,                         \
                                                         const memory_space *space) noexcept {                         \
        return FIND(*count, devices, true, *space);                                                                    \
    }                                                                                                                  \
    COMITY_OMP RESULT omp_get_device_and_host_##WHAT##_(const int *device, const memory_space *space) noexcept {       \
        return FIND(1, device, true, *space);                                                                          \
    }                                                                                                                  \
    COMITY_OMP RESULT omp_get_devices_all_##WHAT##_(const memory_space *space) noexcept {                              \
        return FIND(0, nullptr, true, *space);                                                                         \
    }
OF_DEVICES(memory_space, memspace, space_of)
OF_DEVICES(allocator_handle, allocator, allocator_of)

// A space is one resource, number 0.
COMITY_OMP int omp_get_memspace_num_resources(memory_space space) noexcept { return is_memory_space(space); }
COMITY_OMP int omp_get_memspace_num_resources_(const memory_space *space) noexcept {
    return omp_get_memspace_num_resources(*space);
}
COMITY_OMP memory_space omp_get_submemspace(memory_space space, int count, const int *resources) noexcept {
    return count == 1 && resources && *resources == 0 && is_memory_space(space) ? space : null_space;
}
COMITY_OMP memory_space omp_get_submemspace_(const memory_space *space, const int *count,
                                             const int *resources) noexcept {
    return omp_get_submemspace(*space, *count, resources);
}
