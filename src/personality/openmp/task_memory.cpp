#include "personality/openmp/task_memory.hpp"

#include <cstdlib>
#include <cstring>
#include <new>

#include "sys/message.hpp"

namespace comity::openmp {

struct block_pool::chunk {
    static constexpr std::size_t size = std::size_t{32} << 10;
    chunk *older;
};

block_pool::~block_pool() {
    for (chunk *c = chunks_; c;) {
        chunk *older = c->older;
        std::free(c);
        c = older;
    }
}

void block_pool::send_home(void *memory) noexcept {
    const header *h = header_of(memory);
    std::atomic<void *> &list = h->home->returned_[h->kind];
    void *top = list.load(std::memory_order_relaxed);
    do {
        link_of(memory).store(top, std::memory_order_relaxed);
    } while (!list.compare_exchange_weak(top, memory, std::memory_order_release,
                                         std::memory_order_relaxed)); // release[task-block]
}

// No free block of this kind: first what others have sent back, then fresh memory.
[[gnu::noinline]] void *block_pool::refill(unsigned kind) noexcept {
    if (!returned_[kind].load(std::memory_order_relaxed)) return carve(kind);
    free_[kind] = returned_[kind].exchange(nullptr, std::memory_order_acquire); // acquire[task-block]
    return allocate(kind);
}

void *block_pool::carve(unsigned kind) noexcept {
    const std::size_t size = sizeof(header) + room[kind];
    if (static_cast<std::size_t>(fresh_end_ - fresh_) < size) {
        void *memory = nullptr;
        if (::posix_memalign(&memory, 64, chunk::size))
            sys::fatal("OpenMP", "no memory for %zu bytes of tasks", chunk::size);
        std::memset(memory, 0, chunk::size);
        chunks_ = new (memory) chunk{chunks_};
        fresh_ = static_cast<char *>(memory) + 64;
        fresh_end_ = static_cast<char *>(memory) + chunk::size;
    }
    auto *h = new (fresh_) header{this, kind, {}};
    fresh_ += size;
    return h + 1;
}

} // namespace comity::openmp
