// Nodes with small numbers, for algorithms that keep a number and a tag in one word where a pointer alone could come
// back. A node's memory stays a node of its arena until the arena ends, so whoever still knows its number may read it.
// Lock-free. Proof: README.md, "The arena". Nothing switches.
#pragma once

#include "sys/own_memory.hpp"

#include <atomic>
#include <bit>
#include <cstdint>
#include <new>

namespace comity::pool {

// Node is in_own_memory, and has an `std::atomic<std::uint32_t> link`, which is the arena's while the node is free. The
// first block has 2^FirstLog nodes, every further one twice as many; a number has at most IdBits bits.
template <class Node, unsigned FirstLog, unsigned IdBits> class arena {
public:
    using id = std::uint32_t; // 0: none

    arena() noexcept = default;
    arena(const arena &) = delete;
    arena &operator=(const arena &) = delete;
    ~arena() {
        for (unsigned b = 0; b < blocks; ++b) delete[] blocks_[b].load(std::memory_order_relaxed);
    }

    // A node that was allocated at some time. Anybody.
    Node &operator[](id i) noexcept {
        const location p = locate(i);
        return blocks_[p.block].load(std::memory_order_acquire)[p.offset]; // acquire[arena-block]
    }

    // A node that nobody else has, as it was left; 0: no memory. Anybody.
    id allocate() noexcept {
        std::uint64_t f = free_.load(std::memory_order_acquire); // acquire[arena-free]
        while (id_of(f) != 0) {
            const id below = (*this)[id_of(f)].link.load(std::memory_order_relaxed);
            // A node that came and went meanwhile has another tag. acquire[arena-free]
            if (free_.compare_exchange_weak(f, tagged(f, below), std::memory_order_acquire, std::memory_order_acquire))
                return id_of(f);
        }
        id n = used_.load(std::memory_order_relaxed);
        do {
            if (n >= most || !make_block(locate(n + 1).block)) return 0;
        } while (!used_.compare_exchange_weak(n, n + 1, std::memory_order_release,
                                              std::memory_order_relaxed)); // release[arena-used]
        return n + 1;
    }

    // Gives a node back. Whoever has it.
    void release(id i) noexcept {
        std::atomic<std::uint32_t> &link = (*this)[i].link;
        std::uint64_t f = free_.load(std::memory_order_relaxed);
        do {
            link.store(id_of(f), std::memory_order_relaxed);
        } while (!free_.compare_exchange_weak(f, tagged(f, i), std::memory_order_release,
                                              std::memory_order_relaxed)); // release[arena-free]
    }

    // All nodes ever allocated have the numbers from 1 to this.
    id used() const noexcept { return used_.load(std::memory_order_acquire); } // acquire[arena-used]

    // A word of a number and a tag that differs from the one before.
    static constexpr id id_of(std::uint64_t word) noexcept { return static_cast<id>(word); }
    static constexpr std::uint64_t tagged(std::uint64_t before, id i) noexcept {
        return ((before >> 32) + 1) << 32 | i;
    }

private:
    static constexpr unsigned blocks = IdBits - FirstLog;
    static constexpr id most = static_cast<id>((std::uint64_t{1} << IdBits) - (std::uint64_t{1} << FirstLog));

    struct location {
        unsigned block;
        id offset;
    };
    static constexpr location locate(id i) noexcept {
        const id n = i - 1, turn = (n >> FirstLog) + 1; // block b begins where turn becomes 2^b
        const unsigned b = static_cast<unsigned>(std::bit_width(turn)) - 1;
        return {b, n - (((id{1} << b) - 1) << FirstLog)};
    }

    bool make_block(unsigned b) noexcept {
        if (blocks_[b].load(std::memory_order_acquire)) return true; // acquire[arena-block]
        auto *made = new (std::nothrow) Node[std::size_t{1} << (FirstLog + b)];
        Node *none = nullptr;
        // Another may have been faster, with memory or without. acq_rel[arena-block], acquire[arena-block]
        if (made &&
            !blocks_[b].compare_exchange_strong(none, made, std::memory_order_acq_rel, std::memory_order_acquire))
            delete[] made;
        return made || blocks_[b].load(std::memory_order_acquire); // acquire[arena-block]
    }

    std::atomic<Node *> blocks_[blocks]{};           // null → made, by anybody
    alignas(64) std::atomic<std::uint64_t> free_{0}; // tag and number of the first free node; anybody
    std::atomic<id> used_{0};                        // anybody
};

} // namespace comity::pool
