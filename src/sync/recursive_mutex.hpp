// A mutex that its owner may lock again, and that knows its owner.
#pragma once

#include "core/runtime.hpp"
#include "sync/mutex.hpp"

namespace comity::sync {

class recursive_mutex {
public:
    enum class [[nodiscard]] result : std::uint8_t{done, too_deep, late, not_owner};

    // May switch. sys::no_deadline: never late.
    result lock_until(std::int64_t deadline) noexcept {
        const void *me = self();
        if (owner_.load(std::memory_order_relaxed) == me) return again();
        if (deadline == sys::no_deadline)
            mutex_.lock();
        else if (!mutex_.lock_until(deadline))
            return result::late;
        own(me);
        return result::done;
    }
    // The others never switch.
    result try_lock() noexcept {
        const void *me = self();
        if (owner_.load(std::memory_order_relaxed) == me) return again();
        if (!mutex_.try_lock()) return result::late;
        own(me);
        return result::done;
    }
    result unlock() noexcept {
        if (owner_.load(std::memory_order_relaxed) != self()) return result::not_owner;
        if (--depth_ == 0) {
            owner_.store(nullptr, std::memory_order_relaxed);
            mutex_.unlock();
        }
        return result::done;
    }
    bool is_locked() const noexcept { return mutex_.is_locked(); }
    void wait_until_left() const noexcept { mutex_.wait_until_left(); }

private:
    // The calling thread, or in code that no thread of Comity's runs the context: threads may run on their joiner's.
    static const void *self() noexcept {
        const core::context *c = core::adopt()->current;
        return c->runs ? c->runs : c;
    }
    result again() noexcept {
        if (depth_ == UINT32_MAX) return result::too_deep;
        ++depth_;
        return result::done;
    }
    void own(const void *me) noexcept {
        owner_.store(me, std::memory_order_relaxed);
        depth_ = 1;
    }

    mutex mutex_;
    std::atomic<const void *> owner_{nullptr}; // by the owner; others only learn that they are not it
    std::uint32_t depth_ = 0;                  // the owner's
};

} // namespace comity::sync
