#include "personality/openmp/lock.hpp"

#include "core/callbacks.hpp"
#include "core/displacement.hpp"
#include "sync/address.hpp"
#include "sync/lock_spin.hpp"
#include "sys/futex.hpp"

namespace comity::openmp {

bool word_lock::try_lock(std::uint32_t holder) noexcept {
    std::uint32_t now = word_.load(std::memory_order_relaxed);
    while (!(now & taken)) // acquire[word-lock]
        if (word_.compare_exchange_weak(now, holder << 2 | taken | (now & waited_for), std::memory_order_acquire,
                                        std::memory_order_relaxed))
            return true;
    return false;
}

bool word_lock::test(std::uint32_t holder) noexcept {
    if (!try_lock(holder)) {
        sync::give_turn_after_look();
        return false;
    }
    core::note_progress_in_loop();
    return true;
}

// For who has come to wait. False: it is taken, and whoever leaves it knows that somebody waits.
bool word_lock::try_lock_or_mark(std::uint32_t holder) noexcept {
    std::uint32_t now = word_.load(std::memory_order_relaxed);
    for (;;) {
        const bool is_free = !(now & taken);
        if (!is_free && (now & waited_for)) return false;
        const std::uint32_t then = (is_free ? holder << 2 | taken : now) | waited_for; // others may wait, too
        if (word_.compare_exchange_weak(now, then, std::memory_order_acquire,
                                        std::memory_order_relaxed)) // acquire[word-lock]
            return is_free;
    }
}

void word_lock::lock_slowly(std::uint32_t holder) noexcept {
    if (core::waits_in_place()) {
        for (core::wait_in_place w; !try_lock(holder);) w.pause();
        return;
    }
    sync::give_turn();
    sync::lock_spin spin(125);
    do
        if (try_lock(holder)) return;
    while (spin.again());
    const sync::stay here(this);
    while (!try_lock_or_mark(holder)) here.list().block_until([this] { return !is_marked(); }, sys::no_deadline);
}

void word_lock::unlock_slowly() noexcept {
    // If several wait, the next unlock wakes one, too: who is woken now may not have a hart for long.
    const std::uint32_t free = sync::waiting_at(this) > 1 ? waited_for : 0;
    const std::uint32_t before = word_.exchange(free, std::memory_order_release); // release[word-lock]
    // The lock's memory may be gone from here on.
    if (before & waited_for) sync::wake_one_at(this);
}

word_lock unnamed_critical, atomic_sections;

word_lock &wide_atomics(std::size_t size) noexcept {
    static word_lock of_16, of_32;
    return size > 16 ? of_32 : of_16;
}

} // namespace comity::openmp
