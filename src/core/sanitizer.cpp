#include "core/sanitizer.hpp"

#include "sys/memory.hpp"

#if defined(COMITY_ASAN)

namespace comity::core {

void forget_frames(const std::byte *bottom, const std::byte *top) noexcept {
    std::size_t scale = 0, offset = 0;
    __asan_get_shadow_mapping(&scale, &offset);
    const std::size_t unit = sys::page_size() << scale; // has a page of shadow
    const auto from = (reinterpret_cast<std::uintptr_t>(bottom) + unit - 1) / unit * unit;
    const auto to = reinterpret_cast<std::uintptr_t>(top) / unit * unit;
    if (from >= to) return allow_memory(bottom, static_cast<std::size_t>(top - bottom));
    allow_memory(bottom, from - reinterpret_cast<std::uintptr_t>(bottom));
    sys::discard_pages(reinterpret_cast<void *>((from >> scale) + offset), (to - from) >> scale);
    allow_memory(reinterpret_cast<void *>(to), reinterpret_cast<std::uintptr_t>(top) - to);
}

} // namespace comity::core

#endif
