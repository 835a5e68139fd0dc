// A value that is set once, and those who wait for it; and a row of values with a callback when it is full (the
// eventuals and futures of Argobots). The memory for them is the interface's. Protocol "Eventual":
// README.md.
#pragma once

#include "sync/event.hpp"

#include <atomic>
#include <cstddef>
#include <cstring>

namespace comity::sync {

class eventual {
public:
    eventual(void *memory, std::size_t size) noexcept : memory_(memory), size_(size) {}

    enum class [[nodiscard]] result : std::uint8_t{done, set_already, too_large};
    // Copies the value. Runs callbacks (event::set).
    result set(const void *value, std::size_t size) noexcept {
        if (size > size_) return result::too_large;
        if (set_.exchange(true, std::memory_order_relaxed)) return result::set_already;
        if (size != 0) std::memcpy(memory_, value, size);
        ready_.set();
        return result::done;
    }
    // Nobody waits, sets or tests.
    void reset() noexcept {
        ready_.reset();
        set_.store(false, std::memory_order_relaxed);
    }
    event &ready() noexcept { return ready_; }
    void *memory() const noexcept { return memory_; }

private:
    void *memory_;
    std::size_t size_;
    event ready_;
    std::atomic<bool> set_{false}; // taken by the one who sets
};

class compartments {
public:
    using full_fn = void (*)(void **values, unsigned n, void *arg);
    compartments(void **values, unsigned n, full_fn full, void *arg) noexcept
        : values_(values), full_(full), arg_(arg), number_(n) {}

    // False: all are taken. The one that fills the last runs the callback, and then those of the event.
    bool set(void *value) noexcept {
        std::uint32_t at = taken_.load(std::memory_order_relaxed);
        do
            if (at == number_) return false;
        while (!taken_.compare_exchange_weak(at, at + 1, std::memory_order_relaxed));
        values_[at] = value;
        if (filled_.fetch_add(1, std::memory_order_acq_rel) + 1 != number_) return true; // acq_rel[compartments]
        if (full_) full_(values_, number_, arg_);
        ready_.set();
        return true;
    }
    // Nobody waits, sets or tests.
    void reset() noexcept {
        ready_.reset();
        taken_.store(0, std::memory_order_relaxed);
        filled_.store(0, std::memory_order_relaxed);
    }
    event &ready() noexcept { return ready_; }
    void **values() const noexcept { return values_; }

private:
    void **values_;
    full_fn full_;
    void *arg_;
    std::uint32_t number_;
    std::atomic<std::uint32_t> taken_{0}, filled_{0};
    event ready_;
};

} // namespace comity::sync
