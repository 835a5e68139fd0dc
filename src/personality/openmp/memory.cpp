#include "personality/openmp/memory.hpp"
#include "personality/openmp/environment.hpp"

#include <cstdlib>
#include <cstring>
#include <new>
#include <strings.h>

#include "personality/openmp/thread.hpp"
#include "sys/message.hpp"
#include "sys/text_file.hpp"

namespace comity::openmp {
namespace {

// The numbers are the standard's headers'.
enum : int {
    atk_sync_hint = 1,
    atk_alignment,
    atk_access,
    atk_pool_size,
    atk_fallback,
    atk_fb_data,
    atk_pinned,
    atk_partition,
    atk_pin_device, // from here on OpenMP 6.0
    atk_part_size = 14
};
enum : std::uintptr_t {
    atv_false = 0,
    atv_true = 1,
    atv_contended = 3,
    atv_uncontended,
    atv_serialized,
    atv_private,
    atv_all,
    atv_thread,
    atv_pteam,
    atv_cgroup,
    atv_default_mem_fb,
    atv_null_fb,
    atv_abort_fb,
    atv_allocator_fb,
    atv_environment,
    atv_nearest,
    atv_blocked,
    atv_interleaved,
    atv_default = UINTPTR_MAX
};
enum : std::uintptr_t {
    default_mem_space,
    large_cap_mem_space,
    const_mem_space,
    high_bw_mem_space,
    low_lat_mem_space,
    default_mem_space_llvm = 99 // in LLVM's headers since 20
};
constexpr allocator_handle null_allocator = 0, largest_predefined = 4095; // others are addresses

struct allocator {
    std::size_t alignment = 1;
    std::size_t pool_size = SIZE_MAX;
    std::uintptr_t fallback = atv_default_mem_fb;
    allocator_handle next = null_allocator;
    std::atomic<std::size_t> used{0}; // any thread
};

// Stands right before each block.
struct header {
    void *base;          // what malloc gave
    std::size_t size;    // as wanted
    std::size_t charged; // with what stands around it: that is what a pool's size limits
    allocator *from;     // whose pool it counts in, or null
};

allocator *own_of(allocator_handle handle) noexcept {
    return handle > largest_predefined ? reinterpret_cast<allocator *>(handle) : nullptr;
}

allocator_handle or_default(allocator_handle handle) noexcept {
    return handle == null_allocator ? icv_of(self).allocator : handle;
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
    const std::size_t around = sizeof(header) + alignment - 1;
    if (size > SIZE_MAX - around || !take_from_pool(a, size + around)) return nullptr;
    void *base = std::malloc(size + around);
    if (!base) {
        give_to_pool(a, size + around);
        return nullptr;
    }
    const auto first = reinterpret_cast<std::uintptr_t>(base) + sizeof(header);
    void *block = reinterpret_cast<void *>((first + alignment - 1) / alignment * alignment);
    *header_of(block) = {base, size, size + around, a};
    return block;
}

bool is_power_of_two(std::size_t n) noexcept { return n && !(n & (n - 1)); }

// False for a trait that is not allowed.
bool set_trait(allocator &a, const allocator_trait &trait) noexcept {
    const bool standard = trait.value == atv_default;
    switch (trait.key) {
    case atk_alignment:
        a.alignment = standard ? 1 : trait.value;
        return is_power_of_two(a.alignment);
    case atk_pool_size:
        a.pool_size = standard ? SIZE_MAX : trait.value;
        return true;
    case atk_fallback:
        a.fallback = standard ? atv_default_mem_fb : trait.value;
        return a.fallback >= atv_default_mem_fb && a.fallback <= atv_allocator_fb;
    case atk_fb_data:
        a.next = trait.value;
        return true;
    case atk_sync_hint:
    case atk_access:
    case atk_partition:
        return true; // hints
    case atk_pinned:
        return trait.value != atv_true; // which we cannot promise
    default:
        return trait.key >= atk_pin_device && trait.key <= atk_part_size; // of devices, and hints
    }
}

} // namespace

void *allocate(std::size_t alignment, std::size_t size, allocator_handle handle) noexcept {
    if (!size) return nullptr;
    for (handle = or_default(handle);;) {
        allocator *a = own_of(handle);
        const std::size_t wanted = a && a->alignment > alignment ? a->alignment : alignment;
        if (void *block = allocate_once(wanted, size, a)) return block;
        if (!a) return nullptr;
        switch (a->fallback) {
        case atv_default_mem_fb:
            handle = default_mem_alloc;
            break;
        case atv_allocator_fb:
            handle = a->next;
            break;
        case atv_abort_fb:
            sys::fatal("omp_alloc", "the allocator has no memory for %zu bytes", size);
        default:
            return nullptr;
        }
    }
}

void *allocate_zeroed(std::size_t alignment, std::size_t count, std::size_t size, allocator_handle handle) noexcept {
    std::size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) return nullptr;
    void *block = allocate(alignment, bytes, handle);
    return block ? std::memset(block, 0, bytes) : nullptr;
}

bool is_memory_space(std::uintptr_t space) noexcept {
    return space <= low_lat_mem_space || space == default_mem_space_llvm;
}

allocator_handle allocator_of_space(std::uintptr_t space) noexcept {
    return space <= low_lat_mem_space ? default_mem_alloc + space : default_mem_alloc;
}

allocator_handle make_allocator(std::uintptr_t space, int count, const allocator_trait *traits) noexcept {
    if (!is_memory_space(space)) return null_allocator;
    allocator made;
    for (int i = 0; i < count; ++i)
        if (!set_trait(made, traits[i])) return null_allocator;
    void *memory = std::malloc(sizeof(allocator));
    if (!memory) return null_allocator;
    auto *a = new (memory) allocator;
    a->alignment = made.alignment;
    a->pool_size = made.pool_size;
    a->fallback = made.fallback;
    a->next = made.next;
    return reinterpret_cast<allocator_handle>(a);
}

void free_allocator(allocator_handle handle) noexcept { std::free(own_of(handle)); }

void release(void *block) noexcept {
    if (!block) return;
    header h = *header_of(block);
    give_to_pool(h.from, h.charged);
    std::free(h.base);
}

void *reallocate(void *block, std::size_t size, allocator_handle to, allocator_handle from) noexcept {
    if (!block) return allocate(1, size, to);
    if (!size) {
        release(block);
        return nullptr;
    }
    const header h = *header_of(block);
    if (to == null_allocator) to = h.from ? reinterpret_cast<allocator_handle>(h.from) : from;
    give_to_pool(h.from, h.charged); // the block may grow into the room that it has
    void *moved = allocate(1, size, to);
    if (!moved) {
        if (h.from) h.from->used.fetch_add(h.charged, std::memory_order_relaxed);
        return nullptr;
    }
    std::memcpy(moved, block, size < h.size ? size : h.size);
    std::free(h.base);
    return moved;
}

namespace {

struct name_of {
    const char *name;
    std::uintptr_t value;
};
constexpr name_of allocators[] = {
    {"omp_default_mem_alloc", default_mem_alloc}, {"omp_large_cap_mem_alloc", large_cap_mem_alloc},
    {"omp_const_mem_alloc", const_mem_alloc},     {"omp_high_bw_mem_alloc", high_bw_mem_alloc},
    {"omp_low_lat_mem_alloc", low_lat_mem_alloc}, {"omp_cgroup_mem_alloc", cgroup_mem_alloc},
    {"omp_pteam_mem_alloc", pteam_mem_alloc},     {"omp_thread_mem_alloc", thread_mem_alloc}};
constexpr name_of spaces[] = {{"omp_default_mem_space", default_mem_space},
                              {"omp_large_cap_mem_space", large_cap_mem_space},
                              {"omp_const_mem_space", const_mem_space},
                              {"omp_high_bw_mem_space", high_bw_mem_space},
                              {"omp_low_lat_mem_space", low_lat_mem_space}};
constexpr name_of traits_known[] = {
    {"sync_hint", atk_sync_hint}, {"alignment", atk_alignment}, {"access", atk_access}, {"pool_size", atk_pool_size},
    {"fallback", atk_fallback},   {"fb_data", atk_fb_data},     {"pinned", atk_pinned}, {"partition", atk_partition}};
constexpr name_of values[] = {{"default", atv_default},
                              {"false", atv_false},
                              {"true", atv_true},
                              {"contended", atv_contended},
                              {"uncontended", atv_uncontended},
                              {"serialized", atv_serialized},
                              {"private", atv_private},
                              {"all", atv_all},
                              {"thread", atv_thread},
                              {"pteam", atv_pteam},
                              {"cgroup", atv_cgroup},
                              {"default_mem_fb", atv_default_mem_fb},
                              {"null_fb", atv_null_fb},
                              {"abort_fb", atv_abort_fb},
                              {"allocator_fb", atv_allocator_fb},
                              {"environment", atv_environment},
                              {"nearest", atv_nearest},
                              {"blocked", atv_blocked},
                              {"interleaved", atv_interleaved}};

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

// An allocator's name, or a memory space with or without traits: default_mem_space:alignment=64,pool_size=4096
bool parse_allocator(const char *text, std::uintptr_t &handle) noexcept {
    const auto is_end = [](const char *at) { return at[std::strspn(at, " \t")] == '\0'; };
    text += std::strspn(text, " \t");
    if (take_name(allocators, text, handle)) return is_end(text);
    std::uintptr_t space;
    if (!take_name(spaces, text, space)) return false;
    allocator_trait traits[8];
    int count = 0;
    for (char separator = ':'; !is_end(text); separator = ',') {
        std::uintptr_t key, value;
        if (*text++ != separator || count == 8 || !take_name(traits_known, text, key) || *text++ != '=') return false;
        const bool named = key == atk_fb_data ? take_name(allocators, text, value) : take_name(values, text, value);
        if (!named) {
            std::int64_t number;
            if (!sys::read_number(text, number, &text) || number < 0) return false;
            value = static_cast<std::uintptr_t>(number);
        }
        traits[count++] = {static_cast<int>(key), value};
    }
    handle = make_allocator(space, count, traits);
    return handle != null_allocator;
}

} // namespace

void read_allocator() noexcept {
    const char *text = look_up("OMP_ALLOCATOR");
    std::uintptr_t found = 0;
    if (text && parse_allocator(text, found))
        process.initial.allocator = found;
    else if (text)
        sys::warn("OMP_ALLOCATOR=\"%s\": not an allocator, nor a memory space with traits; using default_mem_alloc",
                  text);
}

} // namespace comity::openmp
