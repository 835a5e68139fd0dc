#include "sys/own_memory.hpp"

#include "sys/memory.hpp"
#include "sys/sanitized.hpp"
#include "sys/spinlock.hpp"

#include <atomic>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace comity::sys {

namespace {
std::atomic<bool (*)() noexcept> gives{nullptr};

bool is_gone() noexcept {
    const auto ask = gives.load(std::memory_order_relaxed);
    return ask && !ask();
}
} // namespace

void ask_before_own_memory(bool (*ask)() noexcept) noexcept { gives.store(ask, std::memory_order_relaxed); }

#if defined(COMITY_ASAN) // AddressSanitizer looks at what malloc gives, and for leaks in it

void *allocate_own(std::size_t size) noexcept {
    return is_gone() ? nullptr : std::aligned_alloc(64, (size + 63) / 64 * 64);
}
void *allocate_own_pages(std::size_t size) noexcept {
    void *memory = allocate_own(size);
    return memory ? std::memset(memory, 0, size) : nullptr;
}
void free_own(void *memory, std::size_t) noexcept { std::free(memory); }
void own_memory_before_fork() noexcept {}
void own_memory_after_fork() noexcept {}

#else

namespace {

// Sizes are rounded up to a power of two; larger ones are mappings of their own. What is free goes to the next one of
// the same size.
constexpr unsigned log_least = 6, log_most = 15;
constexpr std::size_t chunk = std::size_t{256} << 10; // is carved into pieces; untouched pages of it take no memory

struct piece {
    piece *next;
};

spinlock lock; // of all below
piece *free_pieces[log_most - log_least + 1];
std::byte *uncarved = nullptr;
std::size_t left = 0;

unsigned log_of(std::size_t size) noexcept {
    return size <= std::size_t{1} << log_least ? log_least : static_cast<unsigned>(std::bit_width(size - 1));
}

} // namespace

void *allocate_own(std::size_t size) noexcept {
    if (is_gone()) return nullptr;
    const unsigned log = log_of(size);
    if (log > log_most) return map_pages(size);
    const std::size_t rounded = std::size_t{1} << log;
    piece *&first = free_pieces[log - log_least];
    lock.lock();
    void *memory = first;
    if (first) {
        first = first->next;
    } else {
        if (left < rounded) { // what is left of the last chunk stays unused
            uncarved = static_cast<std::byte *>(map_pages(chunk));
            left = uncarved ? chunk : 0;
        }
        if (left != 0) {
            memory = std::exchange(uncarved, uncarved + rounded);
            left -= rounded;
        }
    }
    lock.unlock();
    return memory;
}

void *allocate_own_pages(std::size_t size) noexcept { return is_gone() ? nullptr : map_pages(size); }

void free_own(void *memory, std::size_t size) noexcept {
    if (!memory) return;
    const unsigned log = log_of(size);
    if (log > log_most) return unmap_pages(memory, size);
    lock.lock();
    piece *&first = free_pieces[log - log_least];
    first = new (memory) piece{first};
    lock.unlock();
}

void own_memory_before_fork() noexcept { lock.lock(); }
void own_memory_after_fork() noexcept { lock.unlock(); }

#endif

} // namespace comity::sys
