// Memory for tasks and what hangs on them: small blocks that each rank keeps for itself. A block that another rank
// frees goes back to the rank that made it. A block stays one of its kind until its team ends, so whoever still has its
// address may read it: thieves do (README.md, "Tasks").
#pragma once

#include <atomic>
#include <cstddef>

namespace comity::openmp {

class block_pool {
public:
    static constexpr unsigned kinds = 6;
    // What fits into a block of each kind. With its header it is a multiple of a cache line, but for what a line holds.
    static constexpr std::size_t room[kinds] = {48, 112, 240, 368, 624, 1136};
    static constexpr std::size_t most_room = room[kinds - 1];
    // The smallest kind that has this much room, which is at most most_room.
    static constexpr unsigned kind_for(std::size_t size) noexcept {
        unsigned kind = 0;
        while (room[kind] < size) ++kind;
        return kind;
    }

    block_pool() noexcept = default;
    block_pool(const block_pool &) = delete;
    block_pool &operator=(const block_pool &) = delete;
    ~block_pool();

    // The owner. Aligned to 16. Zero when it comes for the first time; afterwards as it was left, but for its first
    // word. Aborts when there is no memory.
    [[gnu::always_inline]] void *allocate(unsigned kind) noexcept {
        void *memory = free_[kind];
        if (!memory) [[unlikely]]
            return refill(kind);
        free_[kind] = link_of(memory).load(std::memory_order_relaxed);
        return memory;
    }
    // The next one of the kind that this block has will be needed soon, and another rank may have had it last.
    void prepare_next_like(void *memory) const noexcept {
        const char *next = static_cast<const char *>(free_[header_of(memory)->kind]);
        for (std::size_t at = 0; next && at < 192; at += 64) __builtin_prefetch(next + at, 1);
    }
    // A block of any pool, by the owner of this one.
    [[gnu::always_inline]] void free(void *memory) noexcept {
        const header *h = header_of(memory);
        if (h->home != this) [[unlikely]]
            return send_home(memory);
        link_of(memory).store(free_[h->kind], std::memory_order_relaxed);
        free_[h->kind] = memory;
    }
    // Anybody.
    static void send_home(void *memory) noexcept;

private:
    struct header {
        block_pool *home;
        unsigned kind;
        std::byte unused[8 - sizeof(unsigned)];
    };
    static_assert(sizeof(header) == 16); // what follows it is aligned as the ABI's data may need
    struct chunk;

    static header *header_of(void *memory) noexcept { return static_cast<header *>(memory) - 1; }
    // While it is free. Atomic, since a thief may take it for a task's first field.
    static std::atomic<void *> &link_of(void *memory) noexcept { return *static_cast<std::atomic<void *> *>(memory); }

    void *refill(unsigned kind) noexcept;
    void *carve(unsigned kind) noexcept;

    void *free_[kinds] = {};
    char *fresh_ = nullptr, *fresh_end_ = nullptr; // what is left of the newest chunk
    chunk *chunks_ = nullptr;
    alignas(64) std::atomic<void *> returned_[kinds] = {}; // pushed by anybody, emptied by the owner
};

} // namespace comity::openmp
