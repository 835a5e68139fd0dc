// Allocators, and memory of devices: there is one kind of memory, the host's. What an allocator's traits can mean then
// is alignment, a limit to its size, and what happens when there is no more.
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>
#include <strings.h>

#include "personality/openmp/gomp/abi.hpp"
#include "personality/openmp/gomp/omp_functions.hpp"
#include "personality/openmp/thread.hpp"
#include "sys/message.hpp"

using namespace comity::openmp;

namespace {

struct allocator {
    std::size_t alignment = 1;
    std::size_t pool_size = SIZE_MAX;
    omp_alloctrait_value_t fallback = omp_atv_default_mem_fb;
    omp_allocator_handle_t next = omp_null_allocator;
    std::atomic<std::size_t> used{0}; // any thread
};

// Stands right before each block.
struct header {
    void *base;       // what malloc gave
    std::size_t size; // as wanted
    allocator *from;  // whose pool it counts in, or null
};

allocator *own_of(omp_allocator_handle_t handle) noexcept {
    return handle > omp_thread_mem_alloc ? reinterpret_cast<allocator *>(static_cast<std::uintptr_t>(handle)) : nullptr;
}

omp_allocator_handle_t or_default(omp_allocator_handle_t handle) noexcept {
    return handle == omp_null_allocator ? omp_get_default_allocator() : handle;
}

header *header_of(void *block) noexcept { return static_cast<header *>(block) - 1; }

bool take_from_pool(allocator *a, std::size_t size) noexcept {
    if (!a || a->pool_size == SIZE_MAX) return true;
    std::size_t used = a->used.load(std::memory_order_relaxed);
    do {
        if (size > a->pool_size || used > a->pool_size - size) return false;
    } while (!a->used.compare_exchange_weak(used, used + size, std::memory_order_relaxed));
    return true;
}

void give_to_pool(allocator *a, std::size_t size) noexcept {
    if (a && a->pool_size != SIZE_MAX) a->used.fetch_sub(size, std::memory_order_relaxed);
}

void *allocate_once(std::size_t alignment, std::size_t size, allocator *a) noexcept {
    if (alignment < alignof(header)) alignment = alignof(header);
    if (size > SIZE_MAX - sizeof(header) - alignment || !take_from_pool(a, size)) return nullptr;
    void *base = std::malloc(sizeof(header) + alignment - 1 + size);
    if (!base) {
        give_to_pool(a, size);
        return nullptr;
    }
    const auto first = reinterpret_cast<std::uintptr_t>(base) + sizeof(header);
    void *block = reinterpret_cast<void *>((first + alignment - 1) / alignment * alignment);
    *header_of(block) = {base, size, a};
    return block;
}

void *allocate(std::size_t alignment, std::size_t size, omp_allocator_handle_t handle) noexcept {
    if (!size) return nullptr;
    for (handle = or_default(handle);;) {
        allocator *a = own_of(handle);
        const std::size_t wanted = a && a->alignment > alignment ? a->alignment : alignment;
        if (void *block = allocate_once(wanted, size, a)) return block;
        if (!a) return nullptr;
        switch (a->fallback) {
        case omp_atv_default_mem_fb:
            handle = omp_default_mem_alloc;
            break;
        case omp_atv_allocator_fb:
            handle = a->next;
            break;
        case omp_atv_abort_fb:
            comity::sys::fatal("omp_alloc", "the allocator has no memory for %zu bytes", size);
        default:
            return nullptr;
        }
    }
}

void *allocate_zeroed(std::size_t alignment, std::size_t count, std::size_t size,
                      omp_allocator_handle_t handle) noexcept {
    std::size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) return nullptr;
    void *block = allocate(alignment, bytes, handle);
    return block ? std::memset(block, 0, bytes) : nullptr;
}

bool is_power_of_two(std::size_t n) noexcept { return n && !(n & (n - 1)); }

// False for a trait that is not allowed.
bool set_trait(allocator &a, const omp_alloctrait_t &trait) noexcept {
    const bool standard = trait.value == omp_atv_default;
    switch (trait.key) {
    case omp_atk_alignment:
        a.alignment = standard ? 1 : trait.value;
        return is_power_of_two(a.alignment);
    case omp_atk_pool_size:
        a.pool_size = standard ? SIZE_MAX : trait.value;
        return true;
    case omp_atk_fallback:
        a.fallback = standard ? omp_atv_default_mem_fb : static_cast<omp_alloctrait_value_t>(trait.value);
        return a.fallback >= omp_atv_default_mem_fb && a.fallback <= omp_atv_allocator_fb;
    case omp_atk_fb_data:
        a.next = static_cast<omp_allocator_handle_t>(trait.value);
        return true;
    case omp_atk_sync_hint:
    case omp_atk_access:
    case omp_atk_partition:
        return true; // hints
    case omp_atk_pinned:
        return trait.value != omp_atv_true; // which we cannot promise
    default:
        return false;
    }
}

} // namespace

omp_allocator_handle_t omp_init_allocator(omp_memspace_handle_t space, int count,
                                          const omp_alloctrait_t traits[]) noexcept {
    if (space > omp_low_lat_mem_space) return omp_null_allocator;
    allocator made;
    for (int i = 0; i < count; ++i)
        if (!set_trait(made, traits[i])) return omp_null_allocator;
    void *memory = std::malloc(sizeof(allocator));
    if (!memory) return omp_null_allocator;
    auto *a = new (memory) allocator;
    a->alignment = made.alignment;
    a->pool_size = made.pool_size;
    a->fallback = made.fallback;
    a->next = made.next;
    return static_cast<omp_allocator_handle_t>(reinterpret_cast<std::uintptr_t>(a));
}

void omp_destroy_allocator(omp_allocator_handle_t handle) noexcept { std::free(own_of(handle)); }

void omp_set_default_allocator(omp_allocator_handle_t handle) noexcept {
    own_icv().allocator = handle == omp_null_allocator ? omp_default_mem_alloc : handle;
}
omp_allocator_handle_t omp_get_default_allocator() noexcept {
    return static_cast<omp_allocator_handle_t>(icv_of(self).allocator);
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

void omp_free(void *block, omp_allocator_handle_t) noexcept {
    if (!block) return;
    header h = *header_of(block);
    give_to_pool(h.from, h.size);
    std::free(h.base);
}

void *omp_realloc(void *block, std::size_t size, omp_allocator_handle_t to, omp_allocator_handle_t from) noexcept {
    if (!block) return omp_alloc(size, to);
    if (!size) {
        omp_free(block, from);
        return nullptr;
    }
    const header h = *header_of(block);
    if (to == omp_null_allocator)
        to = h.from ? static_cast<omp_allocator_handle_t>(reinterpret_cast<std::uintptr_t>(h.from)) : from;
    give_to_pool(h.from, h.size); // the block may grow into the room that it has
    void *moved = allocate(1, size, to);
    if (!moved) {
        if (h.from) h.from->used.fetch_add(h.size, std::memory_order_relaxed);
        return nullptr;
    }
    std::memcpy(moved, block, size < h.size ? size : h.size);
    std::free(h.base);
    return moved;
}

COMITY_GOMP void *GOMP_alloc(std::size_t alignment, std::size_t size, std::uintptr_t handle) noexcept {
    void *block = allocate(alignment ? alignment : 1, size ? size : 1, static_cast<omp_allocator_handle_t>(handle));
    if (!block) comity::sys::fatal("GOMP_alloc", "no memory for %zu bytes", size);
    return block;
}
COMITY_GOMP void GOMP_free(void *block, std::uintptr_t handle) noexcept {
    omp_free(block, static_cast<omp_allocator_handle_t>(handle));
}

namespace {

struct name_of {
    const char *name;
    std::uintptr_t value;
};
constexpr name_of allocators[] = {
    {"omp_default_mem_alloc", omp_default_mem_alloc}, {"omp_large_cap_mem_alloc", omp_large_cap_mem_alloc},
    {"omp_const_mem_alloc", omp_const_mem_alloc},     {"omp_high_bw_mem_alloc", omp_high_bw_mem_alloc},
    {"omp_low_lat_mem_alloc", omp_low_lat_mem_alloc}, {"omp_cgroup_mem_alloc", omp_cgroup_mem_alloc},
    {"omp_pteam_mem_alloc", omp_pteam_mem_alloc},     {"omp_thread_mem_alloc", omp_thread_mem_alloc}};
constexpr name_of spaces[] = {{"omp_default_mem_space", omp_default_mem_space},
                              {"omp_large_cap_mem_space", omp_large_cap_mem_space},
                              {"omp_const_mem_space", omp_const_mem_space},
                              {"omp_high_bw_mem_space", omp_high_bw_mem_space},
                              {"omp_low_lat_mem_space", omp_low_lat_mem_space}};
constexpr name_of traits_known[] = {{"sync_hint", omp_atk_sync_hint}, {"alignment", omp_atk_alignment},
                                    {"access", omp_atk_access},       {"pool_size", omp_atk_pool_size},
                                    {"fallback", omp_atk_fallback},   {"fb_data", omp_atk_fb_data},
                                    {"pinned", omp_atk_pinned},       {"partition", omp_atk_partition}};
constexpr name_of values[] = {{"default", omp_atv_default},
                              {"false", omp_atv_false},
                              {"true", omp_atv_true},
                              {"contended", omp_atv_contended},
                              {"uncontended", omp_atv_uncontended},
                              {"serialized", omp_atv_serialized},
                              {"private", omp_atv_private},
                              {"all", omp_atv_all},
                              {"thread", omp_atv_thread},
                              {"pteam", omp_atv_pteam},
                              {"cgroup", omp_atv_cgroup},
                              {"default_mem_fb", omp_atv_default_mem_fb},
                              {"null_fb", omp_atv_null_fb},
                              {"abort_fb", omp_atv_abort_fb},
                              {"allocator_fb", omp_atv_allocator_fb},
                              {"environment", omp_atv_environment},
                              {"nearest", omp_atv_nearest},
                              {"blocked", omp_atv_blocked},
                              {"interleaved", omp_atv_interleaved}};

// Takes a name from the table off the front of the text.
template <std::size_t N> bool take_name(const name_of (&table)[N], const char *&text, std::uintptr_t &value) noexcept {
    const std::size_t length = std::strcspn(text, ":=, ");
    for (const name_of &entry : table)
        if (std::strlen(entry.name) == length && !::strncasecmp(entry.name, text, length)) {
            value = entry.value;
            text += length;
            return true;
        }
    return false;
}

// An allocator's name, or a memory space with or without traits: omp_default_mem_space:alignment=64,pool_size=4096
bool parse_allocator(const char *text, std::uintptr_t &handle) noexcept {
    if (take_name(allocators, text, handle)) return !*text;
    std::uintptr_t space;
    if (!take_name(spaces, text, space)) return false;
    omp_alloctrait_t traits[8];
    int count = 0;
    for (char separator = ':'; *text; separator = ',') {
        std::uintptr_t key, value;
        if (*text++ != separator || count == 8 || !take_name(traits_known, text, key) || *text++ != '=') return false;
        const bool named = key == omp_atk_fb_data ? take_name(allocators, text, value) : take_name(values, text, value);
        if (!named) {
            char *end;
            value = std::strtoull(text, &end, 10);
            if (end == text) return false;
            text = end;
        }
        traits[count++] = {static_cast<omp_alloctrait_key_t>(key), value};
    }
    handle = omp_init_allocator(static_cast<omp_memspace_handle_t>(space), count, traits);
    return handle != omp_null_allocator;
}

__attribute__((constructor)) void read_allocator() noexcept {
    const char *text = ::secure_getenv("OMP_ALLOCATOR");
    if (text && !parse_allocator(text, process.initial.allocator))
        comity::sys::warn(
            "OMP_ALLOCATOR=\"%s\": not an allocator, nor a memory space with traits; using omp_default_mem_alloc",
            text);
}

} // namespace

// Devices: there are none but the host, whose number is 0, or -1 where the program asks for the initial device by that.

void omp_set_default_device(int device) noexcept { own_icv().default_device = device >= 0 ? device : 0; }
int omp_get_default_device() noexcept { return icv_of(self).default_device; }
int omp_get_num_devices() noexcept { return 0; }
int omp_get_device_num() noexcept { return omp_get_initial_device(); }
int omp_get_initial_device() noexcept { return 0; }
int omp_is_initial_device() noexcept { return 1; }

namespace {
bool is_host(int device) noexcept { return device == 0 || device == -1; }
} // namespace

void *omp_target_alloc(std::size_t size, int device) noexcept { return is_host(device) ? std::malloc(size) : nullptr; }
void omp_target_free(void *memory, int device) noexcept {
    if (is_host(device)) std::free(memory);
}
int omp_target_is_present(const void *, int device) noexcept { return is_host(device); }

int omp_target_memcpy(void *to, const void *from, std::size_t size, std::size_t to_offset, std::size_t from_offset,
                      int to_device, int from_device) noexcept {
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
    if (!to && !from) return 0x7fffffff; // how many dimensions can be
    if (!is_host(to_device) || !is_host(from_device) || element < 1 || dimensions < 1) return EINVAL;
    return copy_box(static_cast<char *>(to), static_cast<const char *>(from), element, dimensions, volume, to_offset,
                    from_offset, to_size, from_size);
}

int omp_target_associate_ptr(const void *, const void *, std::size_t, std::size_t, int) noexcept { return EINVAL; }
int omp_target_disassociate_ptr(const void *, int) noexcept { return EINVAL; }
