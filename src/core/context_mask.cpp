#include "core/context_mask.hpp"

#include "core/carrier.hpp"
#include "core/promotion.hpp"
#include "core/runtime.hpp"
#include "core/tls/block.hpp"
#include "sys/interruption.hpp"
#include "sys/signals.hpp"

#include <atomic>

namespace comity::core {

namespace {

std::atomic<bool> some_have_own{false}; // ever

void look_at_masks(carrier *k) noexcept { k->unusual.fetch_or(masks_differ, std::memory_order_relaxed); }

// Its block, if its mask is its own.
COMITY_UNSANITIZED tls_block *block_with_mask(const context *c) noexcept {
    return c->tls && c->tls->has_mask ? c->tls : nullptr;
}

} // namespace

// In a handler the mask is what it was before again once that returns: so what it is, is read when the context is left.
void note_own_mask(std::uint64_t before) noexcept {
    const context *c = current_context();
    tls_block *block = c && c->on ? c->tls : nullptr;
    if (!block || block->has_mask) return;
    carrier *k = c->on;
    k->mask_of_others = k->adopted ? before : sys::mask_of_carriers();
    // A carrier that is entered meanwhile sees the flag, or is visited: both under the lock of the list.
    if (!some_have_own.exchange(true, std::memory_order_relaxed))
        visit_carriers([](carrier *other, void *) { look_at_masks(other); }, nullptr);
    block->mask = sys::blocked_signals();
    block->has_mask = true;
}

// Before the base changes: errno is that of the context that is left.
COMITY_UNSANITIZED void carry_mask(carrier *k, const context *from, const context *to) noexcept {
    if (!(k->unusual.load(std::memory_order_relaxed) & masks_differ)) return;
    tls_block *left = block_with_mask(from);
    const tls_block *entered = block_with_mask(to);
    if (!left && !entered) return;
    const std::uint64_t before = sys::exchange_mask(entered ? entered->mask : k->mask_of_others);
    if (left) {
        left->mask = before;
        left->has_mask = before != k->mask_of_others;
    } else {
        k->mask_of_others = before;
    }
}

void begin_masks(carrier *k) noexcept {
    if (some_have_own.load(std::memory_order_relaxed)) look_at_masks(k);
}

std::uint64_t mask_of_promoted(const tls_block *block) noexcept {
    return block->has_mask ? block->mask : sys::mask_of_carriers();
}

void promoted_stops(tls_block *block) noexcept {
    if (!block->has_mask) return;
    block->mask = sys::blocked_signals();
    block->has_mask = block->mask != sys::mask_of_carriers();
}

} // namespace comity::core
