// The omp_* functions on allocators and on memory of devices. Fortran has these functions too, by C binding.
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "personality/openmp/memory.hpp"
#include "personality/openmp/omp/functions.hpp"
#include "personality/openmp/thread.hpp"
#include "sys/c_library.hpp"
#include "sys/loaded_objects.hpp"

using namespace comity::openmp;
namespace sys = comity::sys;

static_assert(sizeof(allocator_trait) == sizeof(omp_alloctrait_t));

namespace {
bool is_power_of_two(std::size_t n) noexcept { return n && !(n & (n - 1)); }
} // namespace

omp_allocator_handle_t omp_init_allocator(omp_memspace_handle_t space, int count,
                                          const omp_alloctrait_t traits[]) noexcept {
    return static_cast<omp_allocator_handle_t>(
        make_allocator(space, count, reinterpret_cast<const allocator_trait *>(traits)));
}
void omp_destroy_allocator(omp_allocator_handle_t handle) noexcept { free_allocator(handle); }

void omp_set_default_allocator(omp_allocator_handle_t handle) noexcept {
    own_icv().allocator = handle == omp_null_allocator ? omp_default_mem_alloc : handle;
}
omp_allocator_handle_t omp_get_default_allocator() noexcept {
    return static_cast<omp_allocator_handle_t>(icv_of(current()).allocator);
}

void *omp_alloc(std::size_t size, omp_allocator_handle_t handle) noexcept { return allocate(1, size, handle); }
void *omp_aligned_alloc(std::size_t alignment, std::size_t size, omp_allocator_handle_t handle) noexcept {
    return is_power_of_two(alignment) ? allocate(alignment, size, handle) : nullptr;
}
void *omp_calloc(std::size_t count, std::size_t size, omp_allocator_handle_t handle) noexcept {
    return allocate_zeroed(1, count, size, handle);
}
void *omp_aligned_calloc(std::size_t alignment, std::size_t count, std::size_t size,
                         omp_allocator_handle_t handle) noexcept {
    return is_power_of_two(alignment) ? allocate_zeroed(alignment, count, size, handle) : nullptr;
}
void omp_free(void *block, omp_allocator_handle_t) noexcept { release(block); }
void *omp_realloc(void *block, std::size_t size, omp_allocator_handle_t to, omp_allocator_handle_t from) noexcept {
    return reallocate(block, size, to, from);
}

// Devices: there are none but the host, whose number is 0, or -1 where the program asks for the initial device by that.
// But a program that clang has compiled for devices has loaded LLVM's library of them (libomptarget), which knows them.

namespace {

// It, or null. Looked for at the first use, and again when it says that it is there: the search takes a lock of the
// dynamic linker's, behind which a rank may wait for one that loads a library.
std::atomic<const void *> devices_map{nullptr};
std::atomic<bool> has_looked{false};

const void *look_for_devices() noexcept {
    if (has_looked.load(std::memory_order_acquire)) // acquire[devices]
        return devices_map.load(std::memory_order_relaxed);
    const void *in_library = sys::find_symbol("__tgt_register_lib");
    const void *map = in_library ? sys::loaded_object_around(in_library).map : nullptr;
    devices_map.store(map, std::memory_order_relaxed);
    has_looked.store(true, std::memory_order_release); // release[devices]
    return map;
}

// Its definition of a function; null: it is not there.
template <class Function> Function *devices_own(const char *name) noexcept {
    const void *map = look_for_devices();
    const ElfW(Sym) *found = map ? sys::definition_in(map, name) : nullptr;
    return found ? reinterpret_cast<Function *>(static_cast<const link_map *>(map)->l_addr + found->st_value) : nullptr;
}

bool is_host(int device) noexcept { return device == 0 || device == -1; }

} // namespace

namespace comity::openmp {
void devices_are_there() noexcept { has_looked.store(false, std::memory_order_relaxed); }
} // namespace comity::openmp

void omp_set_default_device(int device) noexcept { own_icv().default_device = device >= 0 ? device : 0; }
int omp_get_default_device() noexcept { return icv_of(current()).default_device; }
int omp_get_num_devices() noexcept {
    const auto own = devices_own<int()>("omp_get_num_devices");
    return own ? own() : 0;
}
int omp_get_device_num() noexcept { return omp_get_initial_device(); }
int omp_get_initial_device() noexcept {
    const auto own = devices_own<int()>("omp_get_initial_device");
    return own ? own() : 0;
}
int omp_is_initial_device() noexcept { return 1; }

void *omp_target_alloc(std::size_t size, int device) noexcept {
    if (const auto own = devices_own<void *(std::size_t, int)>("omp_target_alloc")) return own(size, device);
    return is_host(device) ? std::malloc(size) : nullptr;
}
void omp_target_free(void *memory, int device) noexcept {
    if (const auto own = devices_own<void(void *, int)>("omp_target_free")) return own(memory, device);
    if (is_host(device)) std::free(memory);
}
int omp_target_is_present(const void *address, int device) noexcept {
    if (const auto own = devices_own<int(const void *, int)>("omp_target_is_present")) return own(address, device);
    return is_host(device);
}

int omp_target_memcpy(void *to, const void *from, std::size_t size, std::size_t to_offset, std::size_t from_offset,
                      int to_device, int from_device) noexcept {
    if (const auto own = devices_own<int(void *, const void *, std::size_t, std::size_t, std::size_t, int, int)>(
            "omp_target_memcpy"))
        return own(to, from, size, to_offset, from_offset, to_device, from_device);
    if (!is_host(to_device) || !is_host(from_device)) return EINVAL;
    std::memcpy(static_cast<char *>(to) + to_offset, static_cast<const char *>(from) + from_offset, size);
    return 0;
}

namespace {

// A box of `dimensions` dimensions between two arrays, the innermost dimension last.
int copy_box(char *to, const char *from, std::size_t element, int dimensions, const std::size_t *volume,
             const std::size_t *to_offset, const std::size_t *from_offset, const std::size_t *to_size,
             const std::size_t *from_size) noexcept {
    if (dimensions == 1) {
        std::memcpy(to + element * to_offset[0], from + element * from_offset[0], element * volume[0]);
        return 0;
    }
    std::size_t to_slice = element, from_slice = element;
    for (int i = 1; i < dimensions; ++i)
        if (__builtin_mul_overflow(to_slice, to_size[i], &to_slice) ||
            __builtin_mul_overflow(from_slice, from_size[i], &from_slice))
            return EINVAL;
    for (std::size_t i = 0; i < volume[0]; ++i)
        if (int error =
                copy_box(to + (to_offset[0] + i) * to_slice, from + (from_offset[0] + i) * from_slice, element,
                         dimensions - 1, volume + 1, to_offset + 1, from_offset + 1, to_size + 1, from_size + 1))
            return error;
    return 0;
}

} // namespace

int omp_target_memcpy_rect(void *to, const void *from, std::size_t element, int dimensions, const std::size_t *volume,
                           const std::size_t *to_offset, const std::size_t *from_offset, const std::size_t *to_size,
                           const std::size_t *from_size, int to_device, int from_device) noexcept {
    using sizes = const std::size_t *;
    if (const auto own =
            devices_own<int(void *, const void *, std::size_t, int, sizes, sizes, sizes, sizes, sizes, int, int)>(
                "omp_target_memcpy_rect"))
        return own(to, from, element, dimensions, volume, to_offset, from_offset, to_size, from_size, to_device,
                   from_device);
    if (!to && !from) return 0x7fffffff; // how many dimensions can be
    if (!is_host(to_device) || !is_host(from_device) || element < 1 || dimensions < 1) return EINVAL;
    return copy_box(static_cast<char *>(to), static_cast<const char *>(from), element, dimensions, volume, to_offset,
                    from_offset, to_size, from_size);
}

int omp_target_associate_ptr(const void *host, const void *devices, std::size_t size, std::size_t offset,
                             int device) noexcept {
    const auto own =
        devices_own<int(const void *, const void *, std::size_t, std::size_t, int)>("omp_target_associate_ptr");
    return own ? own(host, devices, size, offset, device) : EINVAL;
}
int omp_target_disassociate_ptr(const void *host, int device) noexcept {
    const auto own = devices_own<int(const void *, int)>("omp_target_disassociate_ptr");
    return own ? own(host, device) : EINVAL;
}
