// Descriptors of which the kernel reports when there is input (epoll), and a bell for who sleeps until it does. By raw
// system calls, so that a drop-in can never intercept them; errno is kept. All but open and close: any thread.
#pragma once

#include <atomic>
#include <cstddef>

namespace comity::sys {

class input_set {
public:
    // False: there are no more descriptors, or a sandbox refuses what it needs. Once; again after close. Its own ones
    // have high numbers, so that what the program opens gets the numbers that it would get without them.
    bool open() noexcept;
    // Also in the child of a fork, which has the parent's ones.
    void close() noexcept;
    bool is_open() const noexcept { return set_.load(std::memory_order_acquire) >= 0; } // acquire[input-set]
    bool owns(int fd) const noexcept {
        return fd >= 0 && (fd == set_.load(std::memory_order_relaxed) || fd == bell_.load(std::memory_order_relaxed));
    }

    // Input, an end or an error at the descriptor will be reported once, also if it is there already. False: not of
    // this one (a file, a descriptor that is closed), or for want of memory.
    bool watch(int fd) noexcept;
    // It is not in the set any more.
    void forget(int fd) noexcept;
    // Fetches reports, the descriptors' numbers. sleep: if there are none, until there are or somebody rings. A number
    // may mean a descriptor that had it before. -1: the set is broken, since the program has closed its descriptors;
    // refused: since a sandbox that came later refuses the call.
    static constexpr std::size_t most = 64;
    static constexpr int refused = -2;
    int take(int (&reported)[most], bool sleep) noexcept;
    // The next who sleeps, or one who does, wakes.
    void ring() noexcept;

private:
    std::atomic<int> set_{-1}, bell_{-1};
};

} // namespace comity::sys
